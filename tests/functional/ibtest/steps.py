# SPDX-License-Identifier: GPL-2.0-or-later
"""The demo as a list of steps: what a person types in which guest, and what
it must show.  scripts/demo reports them, test_demo.py asserts them.

The fabric is one switch, guest a on its port 1 and guest b on its port 2;
OpenSM runs in guest a.  A check gets the guests' output and the facts that
earlier steps found (LIDs, GUIDs), and returns a line for the report, or
raises Wrong.
"""

import re
import time
from dataclasses import dataclass
from typing import Callable

from .agent import CommandError


class Wrong(Exception):
    """A step's output is not what it must be."""


def need(condition, text):
    if not condition:
        raise Wrong(text)


@dataclass
class Step:
    """command is formatted with the facts before it runs in guest.

    A step with patience is repeated for that many seconds until it passes:
    it waits for something that takes its time, as a sweep of OpenSM's.
    """
    name: str
    title: str
    guest: str
    command: str
    check: Callable
    patience: float = 0
    timeout: float = 60


def find(pattern, text, what):
    """The groups of the first match; raises Wrong without one."""
    match = re.search(pattern, text, re.MULTILINE)
    need(match, f'{what}: nothing like {pattern!r}')
    return match.groups()


def fields(text):
    """infiniband-diags' "Name:......value" lines as a dict."""
    return dict(re.findall(r'^(?:#.*\n)*(\w+):\.*(.*)$', text, re.MULTILINE))


def number(text):
    return int(text.split()[0], 0)


# ---- the checks, in the order of the steps --------------------------------

def opensm_runs(facts, out):
    version, = find(r'^(OpenSM \S+)', out, 'opensm')
    return version


def port_active(facts, out, name):
    state, physical = find(r'State: (\w+)\s+Physical state: (\w+)', out,
                           'ibstat')
    need(state == 'Active', f'the port is {state}')
    need(physical == 'LinkUp', f'the link is {physical}')
    lid, = find(r'Base lid: (\d+)', out, 'ibstat')
    need(0 < int(lid) < 0xc000, f'LID {lid} is not a unicast LID')
    facts[f'lid_{name}'] = int(lid)
    sm_lid, = find(r'SM lid: (\d+)', out, 'ibstat')
    need(int(sm_lid) == facts['lid_a'], f'SM LID {sm_lid} is not guest a')
    facts[f'port_guid_{name}'], = find(r'Port GUID: 0x([0-9a-f]+)', out,
                                       'ibstat')
    facts[f'node_guid_{name}'], = find(r'Node GUID: 0x([0-9a-f]+)', out,
                                       'ibstat')
    rate, = find(r'Rate: (\S+)', out, 'ibstat')
    return f'LID {lid}, Active, LinkUp, rate {rate}'


def netdiscover(facts, out):
    switches = re.findall(r'^Switch\s+(\d+) "S-([0-9a-f]{16})"', out, re.M)
    hosts = re.findall(r'^Ca\s+(\d+) "H-([0-9a-f]{16})"', out, re.M)
    need(len(switches) == 1, f'{len(switches)} switches, not 1')
    need(len(hosts) == 2, f'{len(hosts)} channel adapters, not 2')
    ports, guid = switches[0]
    facts['switch_guid'] = guid
    need(int(ports) == facts['ports'], f'a switch with {ports} ports')
    need({guid for _, guid in hosts} ==
         {facts['node_guid_a'], facts['node_guid_b']}, 'other node GUIDs')
    for port, name in ((1, 'a'), (2, 'b')):
        far, lid = find(rf'^\[{port}\]\s+"H-([0-9a-f]+)"\[1\].*'
                        r'# ".*" lid (\d+)', out, f'switch port {port}')
        need(far == facts[f'node_guid_{name}'],
             f'switch port {port} does not lead to guest {name}')
        need(int(lid) == facts[f'lid_{name}'], f'guest {name} has LID {lid}')
    return f'switch S-{guid}: port 1 to a, port 2 to b'


def switches(facts, out):
    lines = out.strip().splitlines()
    need(len(lines) == 1, f'{len(lines)} lines')
    guid, ports, description, lid = find(
        r'^Switch\s*: 0x([0-9a-f]+) ports (\d+) "(.*)" .*lid (\d+)', out,
        'ibswitches')
    need(guid == facts['switch_guid'], 'another GUID than ibnetdiscover')
    need(int(ports) == facts['ports'], f'{ports} ports')
    facts['lid_switch'] = int(lid)
    need(len({facts[f'lid_{n}'] for n in ('a', 'b', 'switch')}) == 3,
         'two nodes have the same LID')
    return f'"{description}", {ports} ports, LID {lid}'


def linkinfo(facts, out):
    links = re.findall(r'(\d+)\[ *\] ==\( *(\S+) +(\S+ \S+) +Active/ *LinkUp'
                       r'\)==> +(\d+) +(\d+)\[', out)
    from_switch = {int(port): int(lid) for port, _, _, lid, _ in links
                   if int(lid) != facts['lid_switch']}
    need(from_switch == {1: facts['lid_a'], 2: facts['lid_b']},
         'ports 1 and 2 of the switch are not Active/LinkUp to a and b')
    return f'2 links, {links[0][1]} {links[0][2]}, Active/LinkUp'


def sm_is_master(facts, out):
    lid, guid, state = find(r'sm lid (\d+) sm guid 0x([0-9a-f]+),.* '
                            r'state (\d+)', out, 'sminfo')
    need(int(lid) == facts['lid_a'], f'the SM has LID {lid}')
    need(guid.zfill(16) == facts['port_guid_a'].zfill(16),
         f'the SM has port GUID {guid}')
    need(state == '3', f'SM state {state} is not 3, master')
    return f'master SM at LID {lid}'


def traced(facts, out):
    hops = re.findall(r'^\[(\d+)\] -> (\w+) port \{0x([0-9a-f]+)\}\[(\d+)\]'
                      r' lid (\d+)', out, re.M)
    got = [(kind, int(far), int(lid)) for _, kind, _, far, lid in hops]
    need(got == [('switch', 1, facts['lid_switch']),
                 ('ca', 1, facts['lid_b'])], f'the hops are {got}')
    need(hops[1][0] == '2', f'it leaves the switch at port {hops[1][0]}')
    return 'a, switch port 1, switch port 2, b'


def pongs(facts, out):
    sent, received, loss = find(
        r'(\d+) packets transmitted, (\d+) received, (\d+)% packet loss', out,
        'ibping')
    need(sent == received and loss == '0', f'{received} of {sent} came back')
    return f'{received} of {sent}'


def nodeinfo(facts, out):
    info = fields(out)
    need(info['NodeType'] == 'Switch', f'node type {info["NodeType"]}')
    need(number(info['NumPorts']) == facts['ports'], 'another NumPorts')
    need(number(info['Guid']) == int(facts['switch_guid'], 16),
         'another GUID than ibnetdiscover')
    need(number(info['BaseVers']) == 1 and number(info['ClassVers']) == 1,
         'base or class version is not 1')
    return f'switch, {info["NumPorts"]} ports, device {info["DevId"]}'


def hca_nodeinfo(facts, out):
    info = fields(out)
    need(info['NodeType'] == 'Channel Adapter',
         f'node type {info["NodeType"]}')
    need(number(info['PortGuid']) == int(facts['port_guid_b'], 16),
         'another port GUID than ibstat')
    need(number(info['LocalPort']) == 1, 'another LocalPort')
    return f'channel adapter, device {info["DevId"]}'


def switchinfo(facts, out):
    info = fields(out)
    capacity, top = number(info['LinearFdbCap']), number(info['LinearFdbTop'])
    highest = max(facts[f'lid_{n}'] for n in ('a', 'b', 'switch'))
    need(capacity > 0, 'no linear FDB')
    need(highest <= top < capacity,
         f'LinearFdbTop {top}, highest LID {highest}, capacity {capacity}')
    need(info['StateChange'] == '0', 'StateChange was not cleared by the SM')
    return f'LinearFdbTop {top} of {capacity}'


def portinfo(facts, out):
    info = fields(out)
    need(info['LinkState'] == 'Active', f'LinkState {info["LinkState"]}')
    need(info['PhysLinkState'] == 'LinkUp',
         f'PhysLinkState {info["PhysLinkState"]}')
    need(number(info['NeighborMTU']) >= 2048,
         f'NeighborMTU {info["NeighborMTU"]}')
    return (f'Active, {info["LinkWidthActive"]}, MTU {info["NeighborMTU"]}, '
            f'{info["OperVLs"]}')


def forwarding(facts, out):
    routes = {int(lid, 16): int(port) for lid, port in
              re.findall(r'^0x([0-9a-f]+) (\d+) ', out, re.M)}
    want = {facts['lid_switch']: 0, facts['lid_a']: 1, facts['lid_b']: 2}
    need(routes == want, f'LID to port is {routes}, not {want}')
    return ', '.join(f'LID {lid} by port {port}'
                     for lid, port in sorted(routes.items()))


def counted(facts, out):
    before, after = out.split('--\n')
    before, after = fields(before), fields(after)
    moved = {name: number(after[name]) - number(before[name])
             for name in ('PortXmitPkts', 'PortRcvPkts', 'PortXmitData',
                          'PortRcvData')}
    # A hundred MADs of 256 bytes each way: LRH, BTH, DETH, MAD and ICRC are 288
    # bytes, 72 units of four.
    for name in ('PortXmitPkts', 'PortRcvPkts'):
        need(moved[name] >= 100, f'{name} moved by {moved[name]}')
    for name in ('PortXmitData', 'PortRcvData'):
        need(moved[name] >= 100 * 72, f'{name} moved by {moved[name]}')
    for name in ('SymbolErrorCounter', 'LinkDownedCounter', 'PortRcvErrors',
                 'LocalLinkIntegrityErrors', 'VL15Dropped'):
        need(number(after[name]) == 0, f'{name} is {after[name]}')
    return ', '.join(f'{name} +{value}' for name, value in moved.items())


def interface_up(facts, out):
    need(re.search(r'<[^>]*\bLOWER_UP\b', out), 'ib0 has no carrier')
    mtu, = find(r'mtu (\d+)', out, 'ip link')
    need(int(mtu) == 2044, f'mtu {mtu}, not 2044')
    address, = find(r'inet (\S+)', out, 'ip addr')
    return f'ib0 is up, mtu {mtu}, {address}'


def pinged(facts, out):
    sent, received, loss = find(
        r'(\d+) packets transmitted, (\d+) received,.* (\d+)% packet loss',
        out, 'ping')
    need(loss == '0' and sent == received, f'{received} of {sent} came back')
    times = re.search(r'= ([\d.]+)/([\d.]+)/([\d.]+)', out)
    return f'{received} of {sent}, {times.group(2)} ms' if times else '0% loss'


def diagnosed(facts, out):
    errors = re.findall(r'^-E-.*', out, re.M)
    need(not errors, '; '.join(errors))
    need(re.search(r'^-I- Done', out, re.M), 'ibdiagnet did not finish')
    found = re.findall(r'(\d+) nodes \((\d+) Switches & (\d+) CA-s\) '
                       r'discovered', out)
    need(found and found[-1] == ('3', '1', '2'), f'it found {found[-1:]}')
    warnings = len(re.findall(r'^-W-', out, re.M))
    return f'3 nodes, no error, {warnings} warnings'


# ---- the steps ------------------------------------------------------------

def _ibstat(name):
    return lambda facts, out: port_active(facts, out, name)


def _quiet(text):
    return lambda facts, out: text


STEPS = (
    Step('opensm', 'OpenSM starts in guest a', 'a',
         'opensm --daemon --log_file /var/log/opensm.log', opensm_runs),
    Step('ibstat-a', 'port of guest a Active', 'a', 'ibstat mlx4_0',
         _ibstat('a'), patience=60),
    Step('ibstat-b', 'port of guest b Active', 'b', 'ibstat mlx4_0',
         _ibstat('b'), patience=60),
    Step('ibnetdiscover', 'the fabric as found', 'a', 'ibnetdiscover',
         netdiscover),
    Step('ibswitches', 'the switch', 'a', 'ibswitches', switches),
    Step('iblinkinfo', 'the links', 'a', 'iblinkinfo', linkinfo),
    Step('sminfo', 'the subnet manager', 'b', 'sminfo', sm_is_master),
    Step('ibtracert', 'the path from a to b', 'a',
         'ibtracert {lid_a} {lid_b}', traced),
    Step('ibping-server-b', 'ibping server in b', 'b',
         'setsid ibping -S >/dev/null 2>&1 & sleep 0.5', _quiet('started')),
    Step('ibping-a-b', 'ibping from a to b', 'a', 'ibping -c 5 {lid_b}',
         pongs),
    Step('ibping-server-a', 'ibping server in a', 'a',
         'setsid ibping -S >/dev/null 2>&1 & sleep 0.5', _quiet('started')),
    Step('ibping-b-a', 'ibping from b to a', 'b', 'ibping -c 5 {lid_a}',
         pongs),
    Step('nodeinfo-switch', 'NodeInfo of the switch', 'a',
         'smpquery nodeinfo {lid_switch}', nodeinfo),
    Step('nodeinfo-hca', 'NodeInfo of guest b\'s HCA', 'a',
         'smpquery nodeinfo {lid_b}', hca_nodeinfo),
    Step('switchinfo', 'SwitchInfo', 'b',
         'smpquery switchinfo {lid_switch}', switchinfo),
    Step('portinfo-switch', 'PortInfo of switch port 2', 'a',
         'smpquery portinfo {lid_switch} 2', portinfo),
    Step('portinfo-hca', 'PortInfo of guest b\'s port', 'a',
         'smpquery portinfo {lid_b} 1', portinfo),
    Step('lft', 'LinearForwardingTable', 'b', 'ibroute {lid_switch}',
         forwarding),
    Step('perfquery', 'counters of switch port 2 move', 'a',
         'perfquery {lid_switch} 2; ibping -f -c 100 {lid_b} >/dev/null; '
         'echo --; perfquery {lid_switch} 2', counted),
    Step('ipoib-a', 'IPoIB in guest a', 'a',
         'ip address replace 10.0.0.1/24 dev ib0; ip link set ib0 up; '
         'ip address show ib0', interface_up, patience=30),
    Step('ipoib-b', 'IPoIB in guest b', 'b',
         'ip address replace 10.0.0.2/24 dev ib0; ip link set ib0 up; '
         'ip address show ib0', interface_up, patience=30),
    Step('ping-56', 'IPoIB ping, 56 bytes', 'a',
         'ping -c 10 -i 0.2 -s 56 10.0.0.2', pinged),
    Step('ping-1900', 'IPoIB ping, 1900 bytes', 'a',
         'ping -c 10 -i 0.2 -s 1900 -M do 10.0.0.2', pinged),
    Step('ibdiagnet', 'ibdiagnet finds no error', 'a', 'ibdiagnet',
         diagnosed, timeout=180),
)


@dataclass
class Report:
    """What running a step gave: wrong is None if it passed."""
    step: Step
    command: str
    out: str
    line: str
    wrong: str
    seconds: float


def run_step(step, guests, facts):
    """Run a step; guests is a dict of Guest by name."""
    begun = time.monotonic()
    command = step.command
    try:
        command = command.format(**facts)
    except KeyError as error:
        return Report(step, command, '', '', f'needs {error}, which an '
                      'earlier step did not find', 0.0)
    while True:
        result = guests[step.guest].try_sh(command, step.timeout)
        line = wrong = None
        try:
            if result.status != 0:
                raise CommandError(f'guest {step.guest}', result)
            line = step.check(facts, result.out)
        except Wrong as error:
            wrong = str(error)
        except (KeyError, ValueError) as error:
            wrong = f'output not understood ({error!r})'
        except CommandError:
            wrong = ('timed out' if result.status is None
                     else f'exit status {result.status}')
        seconds = time.monotonic() - begun
        if wrong is None or seconds > step.patience:
            return Report(step, command, result.out + result.err, line, wrong,
                          seconds)
        time.sleep(0.3)


def bring_up(guests, facts, names=('opensm', 'ibstat-a', 'ibstat-b',
                                   'ipoib-a', 'ipoib-b')):
    """Run some of the steps, which must pass: by default until both ports
    are Active and IPoIB has addresses 10.0.0.1 and 10.0.0.2."""
    for step in STEPS:
        if step.name in names:
            report = run_step(step, guests, facts)
            if report.wrong is not None:
                raise Wrong(f'{report.command}: {report.wrong}\n{report.out}')
