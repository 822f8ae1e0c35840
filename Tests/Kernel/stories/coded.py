"""Connecting on LE Coded: a controller of RootCanal's, and a device that can be heard there only.

Not among the files that run by default, since it installs RootCanal: Tests/Kernel/run coded"""

import os
import struct

import kernel
from harness import FOLDER, RADIO, Band, Program, check, run_story, the_end, until

FAR = 'F0:F1:F2:F3:F4:F5'
LE_1M, LE_CODED = 0x0600, 0x6000


class RootCanal(Band):
    """A controller of RootCanal's, on and with LE, and the device FAR."""

    def __init__(self, secondary='coded'):
        ready, self.packets = os.path.join(FOLDER, 'ready'), os.path.join(FOLDER, 'packets')
        if os.path.exists(ready):
            os.unlink(ready)
        super().__init__(
            [RADIO, os.path.join(os.path.dirname(RADIO), 'rootcanal.py'), '--ready', ready, '--log', self.packets,
             '--secondary', secondary], 1)
        until(lambda: self.alive() and os.path.exists(ready), 60, 'the device on the air')
        self.settle()
        for opcode in (0x000D, 0x0005):  # Set LE, Set Powered
            check(kernel.mgmt(opcode, 0, b'\x01', seconds=30)[0] == 0, f'command {opcode:04x}')

    def initiating_phys(self):
        """The PHYs of each LE Extended Create Connection so far, as bits: 1 LE 1M, 2 LE 2M, 4 LE Coded."""
        commands = (bytes.fromhex(line[2:]) for line in open(self.packets) if line.startswith('> 014320'))
        return [command[4 + 9] for command in commands]


def selected():
    status, answer = kernel.mgmt(0x0044, 0)  # Get PHY Configuration
    check(status == 0, f'Get PHY Configuration: {status}')
    return struct.unpack('<III', answer)[2]


def select(phys):
    """Selects PHYs of LE, and all packet types of BR/EDR."""
    status, _ = kernel.mgmt(0x0045, 0, struct.pack('<I', 0x01FF | phys))
    check(status == 0, f'Set PHY Configuration: {status}')


def hears():
    with RootCanal():
        plain = Program('ble', 'scan', '--once', '--for', 5).finish(0)
        check('FAR' not in plain.out, 'heard on LE 1M')
        coded = Program('ble', 'scan', '--once', '--coded', '--for', 5).finish(0)
        check('FAR' in coded.out, f'not heard on LE Coded: {coded.out}')


def connects(secondary, phys):
    with RootCanal(secondary) as band:
        # As Linux before 6.6 does: a device that advertises on LE Coded only is not found.
        select(LE_1M)
        Program('ble', 'read', '2A19', '-a', FAR, '--address-type', 'random', '-t', 5).finish(75)
        read = Program('ble', 'read', '2A19', '-n', 'FAR', '--coded').finish(0, within=60)
        check('77' in read.out, read.out)
        until(lambda: selected() == 0x01FF | LE_1M, 5, 'the selection as before')
        check(band.initiating_phys() == [phys], f'connected on {band.initiating_phys()}')
        # As Linux does from then on, which needs no option but for the scan.
        select(LE_1M | LE_CODED)
        read = Program('ble', 'read', '2A19', '-a', FAR, '--address-type', 'random').finish(0, within=60)
        check('77' in read.out, read.out)
        check(selected() == 0x01FF | LE_1M | LE_CODED, 'the selection as before')


run_story('a device on LE Coded is heard only there', hears)
run_story('a device on LE Coded is connected to', connects, 'coded', 4)
run_story('a device on LE Coded with its second packets on LE 1M is connected to', connects, '1m', 5)
the_end()
