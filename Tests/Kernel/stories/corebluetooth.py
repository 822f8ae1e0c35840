"""The two Core Bluetooth examples, whose Bluetooth code is that of an app, talk to each other over two controllers."""

import signal

import kernel
from harness import Program, Radio, check, tell, the_end, until


def power(index):
    kernel.mgmt(0x000D, index, b'\x01')  # Set LE
    kernel.mgmt(0x0005, index, b'\x01')  # Set Powered


def start(name, adapter):
    return Program(name, wrapper=('env', f'BLUETOOTH_ADAPTER={adapter}'))


def sees(program, *lines):
    """These lines in this order, others between them."""
    def seen():
        rest = iter(program.out.splitlines())
        return all(line in rest for line in lines)
    program.until(seen, 60, f'the lines {lines}')


def beats(program):
    return program.out.count('beats per minute')


WAY = ('looking for a heart rate sensor', 'found Pulse', 'connected')


def they_talk():
    for index in (0, 1):
        power(index)
    with start('CoreBluetoothPeripheral', 'hci0') as sensor:
        sees(sensor, 'advertising')
        for round in (1, 2):
            with start('CoreBluetoothCentral', 'hci1') as monitor:
                sees(monitor, *WAY, 'worn on the wrist')
                monitor.until(lambda: beats(monitor) >= 3, 30, 'three beats')
                sees(sensor, *('a central listens', 'a central listens no more') * (round - 1), 'a central listens')
                monitor.process.send_signal(signal.SIGTERM)
                monitor.finish(-signal.SIGTERM)
            sees(sensor, *('a central listens', 'a central listens no more') * round)
        check(sensor.out.count('advertising') == 1, 'it advertises all the time')


def they_outlive_powering_off():
    for index in (0, 1):
        power(index)
    with start('CoreBluetoothPeripheral', 'hci0') as sensor:
        sees(sensor, 'advertising')
        with start('CoreBluetoothCentral', 'hci1') as monitor:
            monitor.until(lambda: beats(monitor) >= 2, 60, 'two beats')
            kernel.mgmt(0x0005, 1, b'\x00')
            sees(monitor, *WAY, 'Bluetooth is off')
            sees(sensor, 'a central listens', 'a central listens no more')
            before = beats(monitor)
            power(1)
            sees(monitor, *WAY, 'Bluetooth is off', *WAY)
            monitor.until(lambda: beats(monitor) >= before + 2, 30, 'two beats more')


for profile in ('extended', 'legacy'):
    with Radio('central', n=2, profile=profile):
        tell(f'{profile}: the examples talk to each other', they_talk)
        tell(f'{profile}: they outlive powering off', they_outlive_powering_off)
the_end()
