# SPDX-License-Identifier: GPL-2.0-or-later
"""A subnet under OpenSM's other services, and the tools that look at it.

    guest a   port 1 of sw0     OpenSM
    guest b   port 1 of sw1     and a second HCA at port 2 of sw0
    sw0 port 5 to sw1 port 5

sw0 sends 2 MB/s at most, so that two flows get in each other's way.
"""

import os
import re
import time
import unittest

from ibtest.case import FabricCase
from ibtest.machines import stream
from ibtest.pcap import packets
from ibtest.topology import HOST_GUID, SWITCH_GUID

LOG = '/var/log/opensm.log'
ETC = '/etc/opensm'
STATE = 'cat /sys/class/infiniband/*/ports/1/state'
LID = 'cat /sys/class/infiniband/{}/ports/1/lid'
RATE = 2000000
GUIDS = {'a': HOST_GUID, 'b': HOST_GUID + 16, 'b1': HOST_GUID + 32,
         'sw0': SWITCH_GUID, 'sw1': SWITCH_GUID + 0x100}


class Subnet(FabricCase):
    @classmethod
    def build(cls, fabric):
        def hca(name):
            return f',node-guid={GUIDS[name]:#x}'

        def cable(name):
            return os.path.join(fabric.folder, f'host-{name}')
        cls.chassis = chassis = fabric.add_chassis('chassis')
        chassis.add('sw0', 6, hca('sw0') + ',description=sw0,rate=2MB/s')
        chassis.add('sw1', 6, hca('sw1') + ',description=sw1')
        chassis.join('sw0', 5, 'sw1', 5)
        for switch, port, name in (('sw0', 1, 'a'), ('sw1', 1, 'b'),
                                   ('sw0', 2, 'b1')):
            chassis.cable(switch, port, cable(name))
        cls.guests = {}
        for name in ('a', 'b'):
            cls.guests[name] = guest = fabric.add_guest(name, cls.kernel)
            guest.netdev, guest.hca = stream(cable(name)), hca(name)
        cls.guests['b'].add_hca(stream(cable('b1')), hca('b1'))

    @classmethod
    def prepare(cls):
        super().prepare()
        cls.a, cls.b = cls.guests['a'], cls.guests['b']
        cls.plain()
        for guest, address in ((cls.a, '10.0.0.1'), (cls.b, '10.0.0.2')):
            guest.sh(f'ip address replace {address}/24 dev ib0;'
                     ' ip link set ib0 up')
        cls.ping()
        cls.lid = {'a': cls.lid_of(cls.a, 'mlx4_0'),
                   'b': cls.lid_of(cls.b, 'mlx4_0'),
                   'b1': cls.lid_of(cls.b, 'mlx4_1')}
        for switch in ('sw0', 'sw1'):
            cls.lid[switch] = cls.chassis.qom_get(
                f'/machine/peripheral/{switch}', 'lid')

    @staticmethod
    def lid_of(guest, hca):
        return int(guest.sh(LID.format(hca)), 16)

    @classmethod
    def opensm(cls, config='', guest=None, options=''):
        """Start OpenSM anew, and wait until everything is Active."""
        guest = guest or cls.a
        cls.stop(guest)
        guest.put(f'{ETC}/opensm.conf', 'force_log_flush TRUE\n' + config)
        guest.sh(f'rm -f {LOG} /var/cache/opensm/*; opensm -B -f {LOG} '
                 f'-F {ETC}/opensm.conf {options}')
        guest.wait_for(f'cat {LOG}', 'SUBNET UP|STANDBY', 30)
        cls.a.wait_for(STATE, r'\A.*ACTIVE\n\Z', 30)
        cls.b.wait_for(STATE, r'\A(.*ACTIVE\n){2}\Z', 30)

    @staticmethod
    def stop(guest, signal='TERM'):
        guest.sh(f'pkill -{signal} opensm;'
                 ' while pgrep opensm >/dev/null; do sleep 0.1; done')

    @classmethod
    def plain(cls):
        cls.a.sh(f'mkdir -p {ETC}; rm -f {ETC}/partitions.conf')
        cls.opensm()

    @classmethod
    def ping(cls):
        cls.b.wait_for('ping -c 3 -i 0.2 -W 2 10.0.0.1', ' 0% packet loss',
                       60)

    def port(self, switch, number):
        return f'/machine/peripheral/{switch}-p{number}'

    def set_link(self, switch, port, value):
        self.chassis.qmp('qom-set', path=self.port(switch, port),
                         property='link', value=value)

    def counter(self, name, switch, port):
        out = self.a.sh(f'perfquery {self.lid[switch]} {port}')
        return int(re.search(rf'^{name}:\.*(\d+)', out, re.M).group(1))

    def flows(self, sls):
        """Bytes that leave sw0 for sw1 in a second on each VL, while a flow
        for each SL wants more than the port can send."""
        run = ('ib_write_bw -F -d mlx4_0 -u 20 -S {0} -p 700{0} -s 65536 '
               '-D 60 {1}')
        keys = []
        for guest, far in ((self.b, ''), (self.a, '10.0.0.2')):
            keys += [(guest, guest.agent.start(run.format(sl, far), 90))
                     for sl in sls]
            for sl in sls:
                if guest is self.b:
                    guest.wait_listening(7000 + sl)
        path = os.path.join(self.fabric.folder, 'flows.pcap')
        found, deadline = {}, time.monotonic() + 50
        while (len(found) < len(sls) or sum(found.values()) < 0.8 * RATE) \
                and time.monotonic() < deadline:
            self.chassis.qmp('qom-set', path=self.port('sw1', 5),
                             property='pcap', value=path)
            time.sleep(1)
            self.chassis.qmp('qom-set', path=self.port('sw1', 5),
                             property='pcap', value='')
            found = {}
            for packet in packets(path):
                if packet.dlid == self.lid['b'] and packet.size > 1024:
                    found[packet.vl] = found.get(packet.vl, 0) + packet.size
        for guest in (self.a, self.b):
            guest.sh('pkill ib_write_bw || true')
        for guest, key in keys:
            guest.agent.wait(key, 60)
        return found

    # ---- tools -----------------------------------------------------------

    def test_10_tools(self):
        """infiniband-diags on a switch: each command has what it must."""
        lid = dict(self.lid)
        for command, pattern in TOOLS:
            command = command.format(**lid)
            with self.subTest(command):
                result = self.a.try_sh(command, 120)
                self.assertEqual(result.status, 0, result)
                self.assertRegex(result.out, pattern.format(**lid))
                self.assertNotIn('iberror', result.err)

    def test_11_query_errors(self):
        out = self.a.sh('perfquery -R -a {}; perfquery -R -a {};'
                        ' ibqueryerrors --clear-errors >/dev/null;'
                        ' ibqueryerrors'.format(self.lid['sw0'],
                                                self.lid['sw1']))
        self.assertRegex(out, r'5 nodes checked, 0 bad nodes found')

    def test_12_ibdiagnet(self):
        out = self.a.sh('ibdiagnet', 180)
        self.assertNotIn('-E-', out)
        self.assertIn('5 nodes (2 Switches & 3 CA-s) discovered', out)

    def test_13_port_state(self):
        """ibportstate: a port of a switch off and on, slower and narrower."""
        port = f'{self.lid["sw0"]} 2'
        state = 'cat /sys/class/infiniband/mlx4_1/ports/1/state'
        self.a.sh(f'ibportstate {port} disable')
        self.b.wait_for(state, 'DOWN', 20)
        self.assertIn('Disabled', self.a.sh(f'ibportstate {port} query'))
        self.a.sh(f'ibportstate {port} enable')
        self.b.wait_for(state, 'ACTIVE', 30)
        self.a.sh(f'ibportstate {port} speed 1; ibportstate {port} width 1;'
                  f' ibportstate {port} reset')
        self.b.wait_for(state, 'DOWN|INIT', 20, 0.05)
        self.b.wait_for(state, 'ACTIVE', 30)
        out = self.a.sh(f'smpquery portinfo {port}')
        self.assertRegex(out, r'LinkWidthActive:\.*1X')
        self.assertRegex(out, r'LinkSpeedActive:\.*2\.5 Gbps')
        self.a.sh(f'ibportstate {port} speed 7; ibportstate {port} width 3;'
                  f' ibportstate {port} reset')
        self.b.wait_for('ibstat mlx4_1', r'Active(?s:.*)Rate: 40', 30)

    def test_14_osmtest(self):
        """All flows but those of --long."""
        self.a.sh('osmtest -f c')
        for flow in 'vemq':
            with self.subTest(flow):
                result = self.a.try_sh(f'osmtest -f {flow}', 120)
                self.assertEqual(result.status, 0, result)
                self.assertRegex(result.out, r'OSMTEST: TEST ".*" PASS')

    def test_15_osmtest_traps(self):
        """osmtest hears of a port that goes and comes back: traps 64, 65."""
        key = self.a.agent.start('osmtest -f t -w 8', 60)
        time.sleep(3)
        self.set_link('sw0', 2, False)
        time.sleep(1.5)
        self.set_link('sw0', 2, True)
        result = self.a.agent.wait(key, 120)
        self.assertEqual(result.status, 0, result)
        self.assertRegex(result.out, r'OSMTEST: TEST ".*" PASS')
        self.b.wait_for(STATE, r'\A(.*ACTIVE\n){2}\Z', 30)

    @unittest.skipUnless(os.environ.get('IB_LONG'),
                         'takes a minute: scripts/check --long')
    def test_16_osmtest_long(self):
        for options in ('a', 's', 'f -s 2'):
            with self.subTest(options):
                result = self.a.try_sh(f'osmtest -f {options}', 300)
                self.assertEqual(result.status, 0, result)
                self.assertRegex(result.out, r'OSMTEST: TEST ".*" PASS')

    # ---- OpenSM's services -----------------------------------------------

    def test_20_quality_of_service(self):
        """SL2VL and VLArb as OpenSM was told; traffic in their shares."""
        self.addCleanup(self.plain)
        self.opensm('qos TRUE\nqos_high_limit 0\nqos_vlarb_high 3:1\n'
                    'qos_vlarb_low 0:32,1:96\n'
                    'qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,15\n')
        out = self.a.sh(f'smpquery sl2vl {self.lid["sw0"]} 5')
        row = '| 0| 1| 2| 3| 0| 1| 2| 3| 0| 1| 2| 3| 0| 1| 2|15|'
        for port in range(7):
            self.assertIn(f'in {port:2}, out  5: {row}', out)
        out = self.a.sh(f'smpquery vlarb {self.lid["sw0"]} 5')
        self.assertRegex(out, r'(?s)Low.*VL +: \|0x0 \|0x1 \|0x0 .*?'
                         r'WEIGHT: \|0x20\|0x60\|0x0 .*'
                         r'High.*VL +: \|0x3 \|0x0 .*?'
                         r'WEIGHT: \|0x1 \|0x0 ')
        self.ping()
        found = self.flows((0, 1))
        self.assertEqual(set(found), {0, 1})
        share = found[1] / (found[0] + found[1])
        self.assertAlmostEqual(share, 0.75, delta=0.03, msg=found)

    def test_21_partitions(self):
        """A packet of a partition that guest b is no member of ends at the
        switch before it, is counted there and told to OpenSM; the other HCA
        of guest b is a member and gets it."""
        self.addCleanup(self.ping)
        self.addCleanup(self.plain)
        self.a.put(f'{ETC}/partitions.conf',
                   'Default=0x7fff, ipoib : ALL=limited, SELF=full;\n'
                   f'Red=0x8001 : {GUIDS["a"] + 1:#x}=full,'
                   f' {GUIDS["b1"] + 1:#x}=full;\n')
        self.opensm('part_enforce both\n')
        keys = 'smpquery pkeys {} {} | head -n 1'
        for where, table in (((self.lid['sw1'], 1), '0x7fff 0x0000'),
                             ((self.lid['b'], 1), '0x7fff 0x0000'),
                             ((self.lid['sw0'], 2), '0x(7fff|ffff) 0x8001')):
            self.assertRegex(self.a.sh(keys.format(*where)), table)
        self.ping()                     # a limited member and a full one
        before = self.counter('PortXmitConstraintErrors', 'sw1', 1)
        send = ('timeout {} ib_send_bw -c UD -n 50 -s 1024 --pkey_index=1 '
                '-d {} -p {} {}')
        for hca, port in (('mlx4_0', 7100), ('mlx4_1', 7101)):
            key = self.b.agent.start(send.format(5, hca, port, ''), 20)
            self.b.wait_listening(port)
            self.a.try_sh(send.format(5, 'mlx4_0', port, '10.0.0.2'), 20)
            result = self.b.agent.wait(key, 60)
            received = re.search(r'1024 +50 ', result.out)
            self.assertEqual(bool(received), hca == 'mlx4_1', result)
        self.assertEqual(
            self.counter('PortXmitConstraintErrors', 'sw1', 1) - before, 50)
        self.a.wait_for(f'cat {LOG}', r'Generic Notice type:2 num:259 .*'
                        rf'LID:{self.lid["sw1"]} ', 10)

    def test_22_management_key(self):
        """With an M_Key and protect bits 2 nobody reads without the key, at
        a switch and at an adapter; OpenSM goes on."""
        key = 0x1234567812345678
        self.opensm(f'm_key {key:#x}\nm_key_lease_period 60\n'
                    'm_key_protection_level 2\n')
        for name in ('sw0', 'b'):
            port = 0 if name == 'sw0' else 1
            query = f'portinfo {self.lid[name]} {port}'
            result = self.a.try_sh(f'smpquery -t 300 {query}')
            self.assertNotEqual(result.status, 0, result)
            out = self.a.sh(f'smpquery -y {key:#x} -K {query}')
            self.assertRegex(out, rf'Mkey:\.*{key:#x}')
            self.assertRegex(out, r'ProtectBits:\.*2')
            self.assertRegex(out, r'MkeyLeasePeriod:\.*60')
            self.assertRegex(out, r'MkeyViolations:\.*[1-9]')
        self.ping()
        # Without protection a Get shows the key, and OpenSM finds it there.
        self.opensm(f'm_key {key:#x}\nm_key_protection_level 0\n')
        out = self.a.sh(f'smpquery -K portinfo {self.lid["sw0"]} 0')
        self.assertRegex(out, rf'Mkey:\.*{key:#x}')
        self.plain()
        out = self.a.sh(f'smpquery -K portinfo {self.lid["sw0"]} 0')
        self.assertRegex(out, r'Mkey:\.*0x0000000000000000')

    def test_23_performance_manager(self):
        """OpenSM's PerfMgr collects the counters of all ports."""
        self.addCleanup(self.plain)
        self.stop(self.a)
        self.a.put(f'{ETC}/opensm.conf', 'perfmgr TRUE\n'
                   'perfmgr_sweep_time_s 1\nforce_log_flush TRUE\n')
        self.a.sh(f'rm -f {LOG} /tmp/in; mkfifo /tmp/in;'
                  f' opensm -console local -f {LOG} -F {ETC}/opensm.conf'
                  ' </tmp/in >/tmp/out 2>&1 & sleep 1000 >/tmp/in &')
        self.a.wait_for(f'cat {LOG}', 'SUBNET UP', 30)
        time.sleep(3)
        self.b.sh('ping -c 20 -i 0.05 -s 1500 10.0.0.1')
        time.sleep(2.5)
        self.a.sh('echo perfmgr print_counters >/tmp/in; sleep 1')
        out = self.a.sh('cat /tmp/out; pkill sleep')
        # Twenty echo requests of 1500 and 8 bytes behind IP's 20.
        for name, way in (('a mlx4_0', 'rcv'), ('b mlx4_0', 'xmit')):
            text = out[out.index(f'"{name} "'):]
            packets_, words = [int(re.search(
                rf'{way}_{what} +: (\d+)', text).group(1))
                for what in ('pkts', 'data')]
            self.assertGreaterEqual(packets_, 20, text)
            self.assertGreaterEqual(words, 20 * 1528 // 4, text)
        self.assertRegex(out, r'"sw0" 0x2c90000000100 active TRUE port 5')

    def test_24_congestion_manager(self):
        """What congestion_control sets is read back; the switch marks, and
        logs it, when two flows meet at its slow port."""
        self.addCleanup(self.plain)
        self.opensm('congestion_control TRUE\ncc_key 0x77\n'
                    'cc_sw_cong_setting_control_map 0x1f\n'
                    'cc_sw_cong_setting_victim_mask 0xffffffff\n'
                    'cc_sw_cong_setting_threshold 0x0f\n'
                    'cc_sw_cong_setting_packet_size 2\n'
                    'cc_sw_cong_setting_marking_rate 3\n')
        query = f'ibccquery {{}} {self.lid["sw0"]}'
        out = self.a.wait_for(query.format('SwitchCongestionSetting'),
                              'Threshold:.*0x0f', 20)
        for field, value in (('Control_Map', '0x0000001f'),
                             ('Victim_Mask', '0+f{8}'),
                             ('Packet_Size', '2'), ('Marking_Rate', '3')):
            self.assertRegex(out, rf'{field}:\.*{value}\n')
        self.a.sh(query.format('CongestionLog'))
        self.ping()
        self.flows((0, 1))
        out = self.a.sh(query.format('CongestionLog'))
        events = re.search(r'LogEventsCounter:\.*(\d+)', out).group(1)
        self.assertGreater(int(events), 0, out)
        ports = int(re.search(r'PortMap:\.*([0-9a-f]+)', out).group(1), 16)
        self.assertTrue(ports & 1 << 5, out)

    def test_25_handover(self):
        """Two OpenSMs: the one of less priority stands by, and takes over
        when the master is killed; traffic goes on meanwhile."""
        self.addCleanup(self.plain)
        self.addCleanup(self.stop, self.b)
        poll = 'sminfo_polling_timeout 500\npolling_retry_number 2\n'
        self.opensm(poll, options='-p 10')
        self.opensm(poll, self.b, options='-p 3')
        self.b.wait_for(f'cat {LOG}', 'Entering STANDBY', 30)
        master = r'sm lid {} .* state 3 SMINFO_MASTER'
        self.assertRegex(self.b.sh('sminfo'), master.format(self.lid['a']))
        run = 'ib_write_bw -F -d mlx4_0 -s 4096 -n 2000'
        keys = [(self.b, self.b.agent.start(run, 90))]
        self.b.wait_listening(18515)
        keys += [(self.a, self.a.agent.start(f'{run} 10.0.0.2', 90))]
        time.sleep(1)
        self.stop(self.a, 'KILL')
        self.b.wait_for('sminfo', master.format(self.lid['b']), 30)
        for guest, key in keys:
            result = guest.agent.wait(key, 120)
            self.assertEqual(result.status, 0, result)
        self.a.wait_for(STATE, 'ACTIVE')
        # The old master comes back, and takes the subnet back.
        self.opensm(poll, options='-p 10')
        self.b.wait_for('sminfo', master.format(self.lid['a']), 30)

    def test_26_flaps(self):
        """The cable between the switches comes and goes while OpenSM sweeps
        every second."""
        self.addCleanup(self.plain)
        self.opensm('sweep_interval 1\n')
        before = [self.counter('LinkDownedCounter', switch, 5)
                  for switch in ('sw0', 'sw1')]
        for i in range(6):
            self.set_link('sw0', 5, False)
            time.sleep(0.1 + 0.3 * i)
            self.set_link('sw0', 5, True)
            time.sleep(1.5 - 0.25 * i)
        self.b.wait_for(STATE, r'\A(.*ACTIVE\n){2}\Z', 30)
        self.ping()
        self.a.wait_for(f'iblinkinfo -l -S {GUIDS["sw0"]:#x}',
                        r' 5\[ *\] ==\(.*Active/ *LinkUp', 30)
        after = [self.counter('LinkDownedCounter', switch, 5)
                 for switch in ('sw0', 'sw1')]
        for old, new in zip(before, after):
            self.assertIn(new - old, range(1, 13))

    def test_90_kernels(self):
        """What they say is what other OpenSMs, partitions and keys cause:
        failed joins, and MAD_IFC without the M_Key."""
        known = re.compile(r'multicast join failed|ib_sa_path_rec_get failed|'
                           r'command 0x24 failed: fw status = 0x30')
        for guest in self.guests.values():
            problems = [line for line in guest.kernel_problems()
                        if not known.search(line)]
            self.assertEqual(problems, [], guest.name)


# command, what its output has
TOOLS = (
    ('ibswitches', r'ports 6 "sw0" .*lid {sw0} '),
    ('ibhosts', r'"b mlx4_0 *"'),
    ('ibnodes', r'(?s)Ca.*Switch'),
    ('iblinkinfo', r'{sw0} +5\[ *\] ==\( *4X +10.0 Gbps +Active/ *LinkUp\)'
     r'==> +{sw1} +5\['),
    ('ibnetdiscover -p', r'SW +{sw1} +5 0x\w+ 4x QDR .* SW +{sw0} +5 '),
    ('ibtracert {a} {b}', r'(?s)\[5\] -> switch port \S+\[5\].*'
     r'\[1\] -> ca port \S+\[1\] lid {b}-{b} '),
    ('ibroute {sw0}', r'0x{b:04x} 005 '),
    ('ibroute -M {sw0}', r'0xc000 '),
    ('dump_lfts', r'Unicast lids \[0x0-0x\w+\] of switch .*\(sw1\)'),
    ('dump_mfts', r'Multicast mlids \[0xc000-0x\w+\] of switch'),
    ('smpquery nodeinfo {sw0}', r'NumPorts:\.*6\n'),
    ('smpquery -D nodeinfo 0,1', r'NodeType:\.*Switch'),
    ('smpquery nodedesc {sw0}', r'Node Description:\.*sw0\n'),
    ('smpquery portinfo {sw0} 0', r'Lid:\.*{sw0}\n'),
    ('smpquery portinfo {sw0} 5', r'PhysLinkState:\.*LinkUp'),
    ('smpquery -x portinfo {sw0} 5', r'LinkSpeedExt|LinkSpeedActive'),
    ('smpquery switchinfo {sw0}', r'LinearFdbCap:\.*49152'),
    ('smpquery pkeys {sw0} 1', r'0: 0xffff '),
    ('smpquery pkeys {sw0} 0', r'0: 0xffff '),
    ('smpquery sl2vl {sw0} 1', r'in  6, out  1: \|'),
    ('smpquery vlarb {sw0} 1', r'LowCap 64 HighCap 64'),
    ('smpquery guidinfo {sw0}', r'0x0002c90000000100'),
    ('smpquery mlnxextportinfo {b} 1', r'LinkSpeedSupported'),
    ('sminfo', r'sm lid {a} .* SMINFO_MASTER'),
    ('smpdump {sw0} 0x11', r'0101'),
    ('ibaddr {sw0}', r'LID start 0x{sw0:x} '),
    ('perfquery {sw0} 1', r'PortXmitData:\.*\d'),
    ('perfquery -x {sw0} 1', r'PortUnicastXmitPkts:\.*\d'),
    ('perfquery -a {sw0}', r'PortSelect:\.*255'),
    ('perfquery -l {sw0} 1,2', r'(?s)PortSelect:\.*1\n.*PortSelect:\.*2\n'),
    ('perfquery -D {sw0} 1', r'PortInactiveDiscards:\.*\d'),
    ('perfquery -E {sw0} 1', r'PortLocalPhysicalErrors:\.*\d'),
    ('perfquery -c {sw0} 1', r'CounterWidth:\.*4'),
    ('perfquery --vlxmitflowctlerrors {sw0} 1', r'FlowCtl\w*0:\.*0'),
    ('perfquery --vlxmitcounters {sw0} 1', r'PortVLXmitWait0:\.*\d'),
    ('perfquery -r {sw0} 1; perfquery {sw0} 1', r'PortXmitPkts:\.*\d\n'),
    ('ibccquery CongestionInfo {sw0}', r'CongestionInfo:\.*0x0000'),
    ('ibccquery CongestionLog {sw0}', r'LogType:\.*1'),
    ('ibccquery SwitchCongestionSetting {sw0}', r'Threshold:'),
    ('ibccquery SwitchPortCongestionSetting {sw0} 1', r'Threshold:'),
    ('ibccquery CACongestionSetting {b}', r'Port_Control:'),
    ('ibccquery CongestionControlTable {b}', r'CCTI_Limit:'),
    ('saquery', r'NodeDescription\.*sw0'),
    ('saquery -p --src-to-dst {a}:{b}', r'dlid\.*{b}\n'),
    ('saquery PIR', r'PortInfoRecord dump'),
    ('saquery -x', r'(?s)FromLID\.*{sw0}.*ToPort\.*5|LinkRecord'),
    ('saquery -g', r'MGID\.*ff12:401b:ffff::ffff:ffff'),
    ('saquery -m', r'Mlid\.*0xC000\n'),
    ('saquery -c', r'ClassPortInfo'),
    ('saquery LFTR', r'LFT'),
    ('saquery MFTR', r'MFT'),
    ('saquery SL2VL', r'SL2VL'),
    ('saquery VLAR', r'VL'),
    ('saquery --smkey 1 PKTR {b}', r'(?i)pkey'),
    ('saquery GIR', r'(?i)guid'),
)


if __name__ == '__main__':
    unittest.main()
