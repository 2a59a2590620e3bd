# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of verbs in user land: a row a test, of Debian 13's versions.

docs/verbs.rst has the table of them.
"""

import unittest

from ibtest.case import each_kernel, long_test
from ibtest.pair import PairCase

# 2 bytes to 8 MB, as perftest's -a goes.
ALL_SIZES = [1 << n for n in range(1, 24)]

# name, perftest's command, the sizes that it must report, only with --long
PERFTEST = (
    ('write_bw', 'ib_write_bw -a -n 20', ALL_SIZES, False),
    ('send_bw_uc', 'ib_send_bw -c UC -s 100000 -n 50', [100000], False),
    ('send_bw_ud', 'ib_send_bw -c UD -s 2048 -n 500', [2048], False),
    ('send_bw_multicast', 'ib_send_bw -c UD -g -s 2048 -n 500', [2048],
     False),
    ('send_bw_srq', 'ib_send_bw --use-srq -r 64 -q 16 -s 4096 -n 50',
     [4096], False),
    ('read_bw_64_qps', 'ib_read_bw -q 64 -s 4096 -n 50', [4096], False),
    ('write_bw_cm', 'ib_write_bw -R -s 65536 -n 50', [65536], False),
    ('atomic_bw_cas', 'ib_atomic_bw -A CMP_AND_SWAP -q 8 -n 50', [8], False),

    ('send_bw', 'ib_send_bw -a -n 20', ALL_SIZES, True),
    ('send_bw_events', 'ib_send_bw -e -a -n 20', ALL_SIZES, True),
    ('send_bw_uc_sizes', 'ib_send_bw -c UC -a -n 20', ALL_SIZES, True),
    ('read_lat', 'ib_read_lat -a -n 10', ALL_SIZES, True),
    ('send_bw_both', 'ib_send_bw -b -s 65536 -n 100', [65536], True),
    ('send_bw_inline', 'ib_send_bw -I 256 -s 256 -n 500', [256], True),
    ('send_bw_mtu_256', 'ib_send_bw -m 256 -a -n 10', ALL_SIZES, True),
    ('read_bw', 'ib_read_bw -a -n 20', ALL_SIZES, True),
    ('write_bw_uc', 'ib_write_bw -c UC -a -n 20', ALL_SIZES, True),
    ('atomic_bw_fa', 'ib_atomic_bw -A FETCH_AND_ADD -n 500', [8], True),
    ('send_lat', 'ib_send_lat -a -n 20', ALL_SIZES, True),
    ('send_lat_uc', 'ib_send_lat -c UC -a -n 20', ALL_SIZES, True),
    ('send_lat_ud', 'ib_send_lat -c UD -s 2048 -n 100', [2048], True),
    ('write_lat', 'ib_write_lat -a -n 20', ALL_SIZES, True),
    ('write_lat_uc', 'ib_write_lat -c UC -a -n 20', ALL_SIZES, True),
    ('atomic_lat', 'ib_atomic_lat -n 200', [8], True),
    ('write_bw_128_qps', 'ib_write_bw -q 128 -s 65536 -n 20', [65536], True),
    ('send_bw_cm', 'ib_send_bw -R -s 4096 -n 200', [4096], True),
    ('read_bw_cm', 'ib_read_bw -R -q 16 -s 65536 -n 20', [65536], True),
    ('send_bw_ud_cm', 'ib_send_bw -c UD -R -s 1024 -n 200', [1024], True),
)

TTY = '</dev/ttyS0'     # without a terminal it wants to be started by MPI
# For fio the end that reads is the server, whatever the verb.  There is none
# with --verb=send: its sender gives up at the first RNR NAK.
FIO = 'fio --name=x --ioengine=rdma --bs=64k --iodepth=16 --size=16m'
# It ends with 0 even where it found no server.
FIO_END = ('--hostname=10.0.0.2 >/tmp/fio; cat /tmp/fio;'
           ' grep -q "issued rwts: total=0,256" /tmp/fio')

# name, server, client, what the client must print (or nothing: its status
# says it all), only with --long
PROGRAMS = (
    ('rping', 'rping -s -C 50 -S 10000 -V',
     'rping -c -a 10.0.0.2 -C 50 -S 10000 -V -v', 'rdma-ping-49: ', False),
    ('ucmatose', 'ucmatose -C 20 -c 8 -S 4096',
     'ucmatose -s 10.0.0.2 -C 20 -c 8 -S 4096', 'test complete', False),
    ('udaddy', 'udaddy -C 20 -c 4', 'udaddy -s 10.0.0.2 -C 20 -c 4',
     'test complete', False),
    ('mckey', 'mckey -m 239.1.2.3 -b 10.0.0.2 -C 50',
     'mckey -m 239.1.2.3 -b 10.0.0.1 -s -C 50', 'data transfers complete',
     True),
    ('rstream', 'rstream -S 65536 -C 100',
     'rstream -s 10.0.0.2 -S 65536 -C 100', r'64k +100 ', False),
    ('riostream', 'riostream -S 4096 -C 100',
     'riostream -s 10.0.0.2 -S 4096 -C 100', r'4k +100 ', True),
    ('qperf', 'qperf -lp 4000 & sleep 1; while busybox nc -z 127.0.0.1 4000; '
     'do sleep 2; done; wait',
     'qperf -lp 4000 -t 1 10.0.0.2 rc_bi_bw rc_rdma_read_bw '
     'rc_rdma_write_poll_lat rc_compare_swap_mr uc_bw uc_rdma_write_bw '
     'ud_bw ud_lat ver_rc_compare_swap ver_rc_fetch_add && '
     'qperf -lp 4000 10.0.0.2 quit', 'ver_rc_fetch_add', True),
    ('fi_pingpong', 'fi_pingpong -p verbs -e msg -I 20 -c',
     'fi_pingpong -p verbs -e msg -I 20 -c 10.0.0.2', r'1m +20 +=20 ', False),
    ('fi_pingpong_rdm', 'fi_pingpong -p "verbs;ofi_rxm" -e rdm -I 20 -c',
     'fi_pingpong -p "verbs;ofi_rxm" -e rdm -I 20 -c 10.0.0.2',
     r'1m +20 +=20 ', True),
    ('ucx_rc', f'UCX_TLS=rc ucx_perftest {TTY}', 'UCX_TLS=rc '
     f'ucx_perftest 10.0.0.2 -t tag_bw -s 65536 -n 200 {TTY}',
     r'Final: +200 ', False),
    ('ucx_ud', f'UCX_TLS=ud ucx_perftest {TTY}', 'UCX_TLS=ud '
     f'ucx_perftest 10.0.0.2 -t tag_lat -s 8192 -n 100 {TTY}',
     r'Final: +100 ', True),
    ('fio_write', f'{FIO} --port=4444 --rw=read',
     f'{FIO} --port=4444 --rw=write --verb=write {FIO_END}', '', False),
    ('fio_read', f'{FIO} --port=4445 --rw=read',
     f'{FIO} --port=4445 --rw=write --verb=read {FIO_END}', '', True),
)

# Message passing, two-sided and one-sided, whose data both ranks check.
MPI = b'''
import hashlib
from mpi4py import MPI

comm = MPI.COMM_WORLD
me, other = comm.rank, 1 - comm.rank
assert comm.size == 2
for size in (1, 100, 4096, 100000, 4 << 20):
    data = hashlib.shake_128(bytes([me])).digest(size)
    got = bytearray(size)
    comm.Sendrecv(data, other, recvbuf=got, source=other)
    assert got == hashlib.shake_128(bytes([other])).digest(size), size
assert comm.allreduce(me + 1) == 3
memory = bytearray(65536)
window = MPI.Win.Create(memory, comm=comm)
window.Fence()
window.Put(bytes([me + 1]) * 65536, other)
window.Fence()
assert memory == bytes([other + 1]) * 65536
window.Free()
print('rank', me, 'on', MPI.Get_processor_name(), flush=True)
'''
# What starts a process on the other guest: its port 7000 runs a shell.
REMOTE = b'#!/bin/sh\nshift\necho "$*" | exec busybox nc 10.0.0.2 7000\n'
MPIRUN = ('export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1'
          ' OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;'
          ' mpirun.openmpi --prtemca plm_ssh_agent /root/remote'
          ' --prtemca prte_if_include ib0 -H a:1,b:1 -np 2'
          ' -x UCX_TLS=rc,self --mca pml ucx --mca osc ucx'
          ' python3 /root/mpi.py')


class Clients(PairCase):
    clients = True

    def test_rcopy(self):
        """A file over rsockets: streams on a reliable connection."""
        a, b = self.guests['a'], self.guests['b']
        a.sh('head -c 32M /dev/urandom >/tmp/file')
        b.start_rcopy()
        try:
            a.sh('rcopy /tmp/file 10.0.0.2:/tmp/file', 120)
        finally:
            b.sh('kill $(cat /tmp/pid)')
        self.assertEqual(a.sh('sha1sum /tmp/file'), b.sh('sha1sum /tmp/file'))

    def test_mpi(self):
        """A program of two ranks over Open MPI and UCX, nothing but RC."""
        for guest in self.guests.values():
            guest.agent.put('/root/mpi.py', MPI)
            guest.agent.put('/root/remote', REMOTE, 0o755)
            guest.sh('printf "10.0.0.1 a\\n10.0.0.2 b\\n" >>/etc/hosts')
        self.guests['b'].sh('(busybox nc -ll -p 7000 -e /bin/sh '
                            '>/dev/null 2>&1 &)')
        out = self.guests['a'].sh(MPIRUN, 120)
        self.assertIn('rank 0 on a\n', out)
        self.assertIn('rank 1 on b\n', out)

    def test_zz_no_complaint_from_the_kernel(self):
        self.no_complaints()


def add_rows(case):
    """A method of the class for each row of the tables."""
    def perftest(name, command, sizes):
        def method(self):
            self.perftest(command, sizes)
        return name, method

    def program(name, server, client, pattern):
        def method(self):
            out = self.pair(server, client, 180)
            if pattern:
                self.assertRegex(out, pattern)
        return name, method

    for rows, make, prefix in ((PERFTEST, perftest, 'test_perftest_'),
                               (PROGRAMS, program, 'test_')):
        for row in rows:
            name, method = make(*row[:-1])
            setattr(case, prefix + name,
                    long_test(method) if row[-1] else method)


add_rows(Clients)
each_kernel(Clients)
long_test(globals()['Clients_6_1'])
del Clients

if __name__ == '__main__':
    unittest.main()
