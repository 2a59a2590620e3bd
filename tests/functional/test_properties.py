# SPDX-License-Identifier: GPL-2.0-or-later
"""A wrong property stops QEMU with one line that names it and its range."""

import subprocess
import unittest

from ibtest import paths

CHASSIS = ['-M', 'ib-chassis']
PC = ['-M', 'q35', '-S']
PORT = ['-device', 'ib-switch,id=sw0,ports=4',
        '-netdev', 'hubport,id=n1,hubid=1', '-netdev', 'hubport,id=n2,hubid=2']
HCA = ['-netdev', 'hubport,id=n1,hubid=1']

# machine, options, what the line must have
WRONG = {
    'ports_0': (CHASSIS, ['-device', 'ib-switch,id=sw0,ports=0'],
                r'ports must be 1\.\.254, not 0'),
    'ports_255': (CHASSIS, ['-device', 'ib-switch,id=sw0,ports=255'],
                  r'ports must be 1\.\.254, not 255'),
    'switch_guid_0': (CHASSIS,
                      ['-device', 'ib-switch,id=sw0,ports=4,node-guid=0'],
                      r'node-guid must be 1\.\.0xf{16}'),
    'fdb_unknown': (CHASSIS, ['-device', 'ib-switch,id=sw0,ports=4,fdb=hash'],
                    r"fdb must be .*linear.*'hash'"),
    'enhanced_port0_unknown': (
        CHASSIS, ['-device', 'ib-switch,id=sw0,enhanced-port0=maybe'],
        r"enhanced-port0.*'on' or 'off'"),
    'description_long': (
        CHASSIS, ['-device', 'ib-switch,id=sw0,description=' + 65 * 'x'],
        r'description must be 0\.\.64 bytes, not 65'),
    'speed_unknown': (CHASSIS, ['-device', 'ib-switch,id=sw0,speed=warp'],
                      r"speed must be sdr, .*'warp'"),
    'width_unknown': (CHASSIS, ['-device', 'ib-switch,id=sw0,width=5x'],
                      r"width must be 1x, 4x.*'5x'"),
    'mtu_unknown': (CHASSIS, ['-device', 'ib-switch,id=sw0,mtu=1500'],
                    r'mtu must be 256, 512, 1024, 2048 or 4096, not 1500'),
    'rate_unknown': (CHASSIS, ['-device', 'ib-switch,id=sw0,rate=fast'],
                     r"rate must be off, link, .*'fast'"),
    'rate_without_unit': (CHASSIS, ['-device', 'ib-switch,id=sw0,rate=100'],
                          r"rate must be off, link, .*'100'"),
    'port_0': (CHASSIS, PORT + ['-device', 'ib-port,bus=sw0.0,port=0,netdev=n1'],
               r'port must be 1\.\.4, not 0'),
    'port_5': (CHASSIS, PORT + ['-device', 'ib-port,bus=sw0.0,port=5,netdev=n1'],
               r'port must be 1\.\.4, not 5'),
    'port_taken': (CHASSIS, PORT + [
        '-device', 'ib-port,bus=sw0.0,port=2,netdev=n1',
        '-device', 'ib-port,bus=sw0.0,port=2,netdev=n2'],
        r'port 2 is taken.* 1\.\.4'),
    'port_without_netdev': (CHASSIS, PORT + [
        '-device', 'ib-port,bus=sw0.0,port=2'], r'netdev must name'),
    'port_pcap': (CHASSIS, PORT + [
        '-device',
        'ib-port,bus=sw0.0,port=2,netdev=n1,pcap=/nonexistent/dir/x.pcap'],
        r"pcap: cannot write '/nonexistent/dir/x\.pcap'"),
    'port_inject': (CHASSIS, PORT + [
        '-device',
        'ib-port,bus=sw0.0,port=2,netdev=n1,inject-drop=1000001'],
        r'inject-drop must be 0\.\.1000000'),
    'port_inject_duplicate': (CHASSIS, PORT + [
        '-device',
        'ib-port,bus=sw0.0,port=2,netdev=n1,inject-duplicate=1000001'],
        r'inject-duplicate must be 0\.\.1000000'),
    'port_inject_class': (CHASSIS, PORT + [
        '-device', 'ib-port,bus=sw0.0,port=2,netdev=n1,inject-class=vl16'],
        r"inject-class must be all, data or vl0\.\.vl15, not 'vl16'"),
    'hca_guid_0': (PC, HCA + ['-device', 'connectx3,netdev=n1,node-guid=0'],
                   r'node-guid must be 1\.\.0xf{16}'),
    'hca_mtu': (PC, HCA + ['-device', 'connectx3,netdev=n1,mtu=9000'],
                r'mtu must be 256, 512, 1024, 2048 or 4096, not 9000'),
    'hca_ports': (PC, HCA + ['-device', 'connectx3,netdev=n1,ports=3'],
                  r'ports must be 1\.\.2, not 3'),
    'hca_port_taken': (PC, HCA + [
        '-netdev', 'hubport,id=n2,hubid=2',
        '-device', 'connectx3,id=hca,netdev=n1,ports=2',
        '-device', 'ib-port,bus=hca.0,port=1,netdev=n2'],
        r'port 1 is taken.* 1\.\.2'),
    'hca_port_3': (PC, HCA + [
        '-device', 'connectx3,id=hca,ports=2',
        '-device', 'ib-port,bus=hca.0,port=3,netdev=n1'],
        r'port must be 1\.\.2, not 3'),
    'hca_on_the_chassis': (CHASSIS, HCA + ['-device', 'connectx3,netdev=n1'],
                           r"No 'PCI' bus found"),
    'switch_on_a_pc': (PC, ['-device', 'ib-switch,id=sw0'],
                       r"No '[\w-]+' bus found"),
}

DEVICES = ('ib-switch', 'ib-port', 'connectx3')


def qemu(*args):
    return subprocess.run([paths.qemu(), '-nodefaults', '-display', 'none',
                           *args], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, timeout=30, check=False)


class Properties(unittest.TestCase):
    def wrong(self, machine, options, pattern):
        done = qemu(*machine, *options)
        self.assertEqual(done.returncode, 1, done.stdout)
        lines = done.stdout.strip().splitlines()
        self.assertEqual(len(lines), 1, done.stdout)
        self.assertRegex(lines[0], pattern)

    def test_help_explains_each_property(self):
        for device in DEVICES:
            with self.subTest(device=device):
                done = qemu('-device', f'{device},help')
                self.assertEqual(done.returncode, 0, done.stdout)
                own = [line for line in done.stdout.splitlines()
                       if line.startswith('  ')]
                self.assertGreater(len(own), 2)
                # QEMU's own come without a text.
                theirs = ('acpi-index', 'addr', 'busnr', 'failover_pair_id',
                          'multifunction', 'rombar', 'romfile', 'romsize',
                          'sriov-pf', 'x-max-bounce-buffer-size')
                for line in own:
                    name = line.strip().split('=')[0]
                    if name not in theirs and not name.startswith('x-'):
                        self.assertRegex(line, r' - \S', name)


for _name, _case in WRONG.items():
    def _method(self, case=_case):
        self.wrong(*case)
    setattr(Properties, f'test_{_name}', _method)

if __name__ == '__main__':
    unittest.main()
