"""Connecting on LE Coded: a controller of RootCanal's, and a device that can be heard there only.

Not among the files that run by default, since rootcanal.py has the most of it: Tests/Kernel/run coded"""

import struct

import kernel
from harness import Program, RootCanal, check, run_story, the_end, until

FAR = 'F0:F1:F2:F3:F4:F5'
LE_1M, LE_CODED = 0x0600, 0x6000


def selected():
    status, answer = kernel.mgmt(0x0044, 0)  # Get PHY Configuration
    check(status == 0, f'Get PHY Configuration: {status}')
    return struct.unpack('<III', answer)[2]


def select(phys):
    """Selects PHYs of LE, and all packet types of BR/EDR."""
    status, _ = kernel.mgmt(0x0045, 0, struct.pack('<I', 0x01FF | phys))
    check(status == 0, f'Set PHY Configuration: {status}')


def hears():
    with RootCanal(far='coded'):
        plain = Program('ble', 'scan', '--once', '--for', 5).finish(0)
        check('FAR' not in plain.out, 'heard on LE 1M')
        coded = Program('ble', 'scan', '--once', '--coded', '--for', 5).finish(0)
        check('FAR' in coded.out, f'not heard on LE Coded: {coded.out}')


def connects(secondary, phys):
    with RootCanal(far=secondary) as band:
        # As Linux before 6.6 does: a device that advertises on LE Coded only is not found.
        select(LE_1M)
        Program('ble', 'read', '2A19', '-a', FAR, '--address-type', 'random', '-t', 5).finish(75)
        read = Program('ble', 'read', '2A19', '-n', 'FAR', '--coded').finish(0, within=60)
        check('77' in read.out, read.out)
        until(lambda: selected() == 0x01FF | LE_1M, 5, 'the selection as before')
        # LE Extended Create Connection names the PHYs as bits: 1 LE 1M, 2 LE 2M, 4 LE Coded.
        initiating = [command[4 + 9] for command in band.packets('0> 014320')]
        check(initiating == [phys], f'connected on {initiating}')
        # As Linux does from then on, which needs no option but for the scan.
        select(LE_1M | LE_CODED)
        read = Program('ble', 'read', '2A19', '-a', FAR, '--address-type', 'random').finish(0, within=60)
        check('77' in read.out, read.out)
        check(selected() == 0x01FF | LE_1M | LE_CODED, 'the selection as before')


run_story('a device on LE Coded is heard only there', hears)
run_story('a device on LE Coded is connected to', connects, 'coded', 4)
run_story('a device on LE Coded with its second packets on LE 1M is connected to', connects, '1m', 5)
the_end()
