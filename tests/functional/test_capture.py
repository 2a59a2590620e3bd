# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that Wireshark reads: the pcap property of both kinds of port, and
a netdev's filter-dump through scripts/wireshark/ib-link.lua.

What is expected comes from the guests' tools, what is found from tshark's
InfiniBand dissector.
"""

import os
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

from ibtest import paths
from ibtest.case import FabricCase
from ibtest.steps import bring_up

# Wireshark 4.4 runs no script for root.
NOBODY = {} if os.geteuid() else {
    'user': 65534, 'group': 65534, 'extra_groups': [],
    'env': {**os.environ, 'HOME': '/nonexistent'}}
LUA = paths.TOP / 'scripts/wireshark/ib-link.lua'
GUID = 0x506b4b03005c2800

SUBN_DIRECTED, SUBN_LID, SA, PERF = 0x81, 0x01, 0x03, 0x04
GET, SET, GET_RESPONSE = 0x01, 0x02, 0x81
NODE_INFO, SWITCH_INFO, PORT_INFO = 0x0011, 0x0012, 0x0015


class Capture(FabricCase):
    @classmethod
    def build(cls, fabric):
        if not shutil.which('tshark'):
            raise unittest.SkipTest('no tshark: apt-get install tshark')
        cls.files = {name: os.path.join(fabric.folder, name)
                     for name in ('switch.pcap', 'hca.pcap', 'netdev.pcap')}
        switch = fabric.add_switch('sw0', 4, f',node-guid={GUID:#x}')
        cls.guests = {
            'a': fabric.add_guest(
                'a', cls.kernel, switch, 1,
                hca=f',pcap={cls.files["hca.pcap"]}',
                port_options=f',pcap={cls.files["switch.pcap"]}',
                extra=['-object', 'filter-dump,id=dump,netdev=cable,'
                       f'maxlen=65600,file={cls.files["netdev.pcap"]}']),
            'b': fabric.add_guest('b', cls.kernel, switch, 2)}
        cls.facts = {'ports': 4}

    @classmethod
    def prepare(cls):
        super().prepare()
        bring_up(cls.guests, cls.facts)
        guest = cls.guests['a']
        guest.sh('ping -c 4 -i 0.2 -s 1900 10.0.0.2')
        guest.sh('smpquery -D nodeinfo 0,1')
        guest.sh(f'perfquery {cls.facts["lid_b"]} 1')
        time.sleep(1)           # the devices flush their files meanwhile
        cls.copies = {name: f'{path}.copy'
                      for name, path in cls.files.items()}
        for name, path in cls.files.items():
            shutil.copy(path, cls.copies[name])

    def tshark(self, name, fields, display):
        """One tuple of strings an InfiniBand packet, of the frames that
        pass the display filter.  A frame of a netdev can have several; all
        fields must then be ones that each of them has."""
        args = ['tshark', '-n', '-r', '-', '-Y', display,
                '-T', 'fields', '-E', 'occurrence=a', '-E', 'aggregator=,']
        for field in fields:
            args += ['-e', field]
        with open(self.copies[name], 'rb') as capture, \
                tempfile.NamedTemporaryFile(suffix='.lua') as script:
            if name == 'netdev.pcap':
                script.write(LUA.read_bytes())
                script.flush()
                os.chmod(script.name, 0o644)
                args += ['-X', f'lua_script:{script.name}']
            done = subprocess.run(args, stdin=capture, text=True, timeout=120,
                                  stdout=subprocess.PIPE, check=False,
                                  stderr=subprocess.PIPE, **NOBODY)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [packet for line in done.stdout.splitlines() for packet in
                zip(*(field.split(',') for field in line.split('\t')))]

    def mads(self, name, display='infiniband.mad'):
        """(class, method, attribute, status) of each MAD."""
        rows = self.tshark(name, [f'infiniband.mad.{field}' for field in
                                  ('mgmtclass', 'method', 'attributeid',
                                   'status')], display)
        return [tuple(int(x, 0) for x in row) for row in rows if all(row)]

    def test_link_type(self):
        """pcap of link type 197, without any option for a reader."""
        for name in ('switch.pcap', 'hca.pcap'):
            with open(self.copies[name], 'rb') as file:
                head = file.read(24)
            order = '<' if head[:4] in (b'\xd4\xc3\xb2\xa1',
                                        b'\x4d\x3c\xb2\xa1') else '>'
            self.assertEqual(struct.unpack(order + 'I', head[20:])[0], 197)

    def check_discovery(self, name):
        """OpenSM's discovery is there, request and response."""
        mads = self.mads(name)
        for attribute in (NODE_INFO, SWITCH_INFO, PORT_INFO):
            for method in (GET, GET_RESPONSE):
                self.assertTrue(
                    [mad for mad in mads if mad[0] in (SUBN_DIRECTED, SUBN_LID)
                     and mad[1:3] == (method, attribute)],
                    f'{name}: no method {method:#x} of {attribute:#x}')
        self.assertTrue([mad for mad in mads if mad[:3] ==
                         (SUBN_DIRECTED, SET, PORT_INFO)])
        self.assertTrue([mad for mad in mads if mad[0] == SA])
        self.assertTrue([mad for mad in mads if mad[0] == PERF])
        guids = self.tshark(
            name, ['infiniband.nodeinfo.nodeguid',
                   'infiniband.nodeinfo.nodetype',
                   'infiniband.nodeinfo.numports'],
            'infiniband.nodeinfo.nodeguid && infiniband.mad.method == 0x81')
        found = {int(guid, 0): (int(kind, 0), int(ports, 0))
                 for guid, kind, ports in guids}
        self.assertEqual(found.get(GUID), (2, 4), f'{name}: {found}')
        self.assertEqual(
            found.get(int(self.facts['node_guid_b'], 16)), (1, 1))

    def check_data(self, name):
        """The pings: 1900 + 8 + 20 + 4 bytes behind LRH, BTH, DETH, with
        an ICRC: 489 words."""
        rows = self.tshark(name, ['infiniband.lrh.slid', 'infiniband.lrh.dlid',
                                  'infiniband.lrh.pktlen'],
                           'infiniband.bth.opcode == 100 && '
                           'infiniband.lrh.pktlen > 400')
        words = (8 + 12 + 8 + 4 + 20 + 8 + 1900 + 4) // 4
        a, b = str(self.facts['lid_a']), str(self.facts['lid_b'])
        for way in ((a, b), (b, a)):
            self.assertEqual(rows.count(way + (str(words),)), 4, rows)

    def test_switch_port(self):
        self.check_discovery('switch.pcap')
        self.check_data('switch.pcap')

    def test_hca(self):
        self.check_discovery('hca.pcap')
        self.check_data('hca.pcap')

    @unittest.skipUnless(LUA.exists(), f'no {LUA.name}')
    def test_netdev(self):
        self.check_discovery('netdev.pcap')
        self.check_data('netdev.pcap')

    @unittest.skipUnless(LUA.exists(), f'no {LUA.name}')
    def test_all_have_seen_the_same(self):
        """Both ends of the cable and the netdev carry the same MADs."""
        ids = {}
        for name in self.copies:
            rows = self.tshark(
                name, ['infiniband.mad.transactionid', 'infiniband.mad.method',
                       'infiniband.mad.attributeid'],
                'infiniband.mad.mgmtclass == 0x81')
            ids[name] = sorted(rows)
        self.assertGreater(len(ids['hca.pcap']), 20)
        # The copies were made one after the other: OpenSM may have spoken.
        common = min(len(rows) for rows in ids.values())
        self.assertLess(max(len(rows) for rows in ids.values()) - common, 8)
        self.assertTrue(set(ids['switch.pcap']) & set(ids['hca.pcap'])
                        & set(ids['netdev.pcap']))


if __name__ == '__main__':
    unittest.main()
