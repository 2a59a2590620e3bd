# SPDX-License-Identifier: GPL-2.0-or-later
"""Certificates for cables over TLS, named as QEMU's tls-creds-x509 wants
them, through openssl."""

import ipaddress
import os
import shutil
import subprocess

from . import Failure

DAYS = '3650'
EXTENSIONS = {
    'server': 'keyUsage=digitalSignature,keyEncipherment\n'
              'extendedKeyUsage=serverAuth\nsubjectAltName={names}\n',
    'client': 'keyUsage=digitalSignature,keyEncipherment\n'
              'extendedKeyUsage=clientAuth\n',
}


def _openssl(*args, **more):
    done = subprocess.run(['openssl', *args], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **more)
    if done.returncode != 0:
        raise Failure('openssl: ' + done.stderr.strip().split('\n')[-1])


def _name(host):
    try:
        return f'IP:{ipaddress.ip_address(host)}'
    except ValueError:
        return f'DNS:{host}'


def make(folder, hosts):
    """An authority of its own in folder, a server that all hosts' names
    stand for, and a client.  ca-key.pem makes more and goes nowhere."""
    if not shutil.which('openssl'):
        raise Failure('no openssl: install the package openssl')
    os.makedirs(folder, mode=0o700, exist_ok=True)

    def path(name):
        return os.path.join(folder, name)

    if os.path.exists(path('ca-cert.pem')):
        raise Failure(f'{folder} has certificates already')
    old = os.umask(0o077)
    try:
        _openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days',
                 DAYS, '-subj', '/CN=ibfabric cables', '-addext',
                 'keyUsage=critical,keyCertSign', '-keyout',
                 path('ca-key.pem'), '-out', path('ca-cert.pem'))
        names = ','.join(_name(host) for host in sorted(set(hosts)))
        for role, extensions in EXTENSIONS.items():
            with open(path('ext'), 'w', encoding='ascii') as file:
                file.write('basicConstraints=critical,CA:false\n' +
                           extensions.format(names=names))
            _openssl('req', '-newkey', 'rsa:2048', '-nodes', '-subj',
                     f'/CN=ibfabric {role}', '-keyout',
                     path(f'{role}-key.pem'), '-out', path('csr'))
            _openssl('x509', '-req', '-in', path('csr'), '-CA',
                     path('ca-cert.pem'), '-CAkey', path('ca-key.pem'),
                     '-set_serial', {'server': '1', 'client': '2'}[role],
                     '-days', DAYS, '-extfile', path('ext'), '-out',
                     path(f'{role}-cert.pem'))
        for name in ('ext', 'csr'):
            os.remove(path(name))
    finally:
        os.umask(old)
