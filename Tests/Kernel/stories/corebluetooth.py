"""The two Core Bluetooth examples, with the Bluetooth code of an app, exchange data over two controllers."""

import signal

import kernel
from harness import Program, Radio, check, run_story, the_end, until


def power(index):
    kernel.mgmt(0x000D, index, b'\x01')  # Set LE
    kernel.mgmt(0x0005, index, b'\x01')  # Set Powered


def start(name, adapter):
    return Program(name, wrapper=('env', f'BLUETOOTH_ADAPTER={adapter}'))


def sees(program, *lines):
    """Waits for these lines in this order, with others in between."""
    def seen():
        rest = iter(program.out.splitlines())
        return all(line in rest for line in lines)
    program.until(seen, 60, f'the lines {lines}')


def beats(program):
    return program.out.count('beats per minute')


STEPS = ('scanning for a heart rate sensor', 'found Pulse', 'connected')


def they_talk():
    for index in (0, 1):
        power(index)
    with start('CoreBluetoothPeripheral', 'hci0') as sensor:
        sees(sensor, 'advertising')
        for round in (1, 2):
            with start('CoreBluetoothCentral', 'hci1') as monitor:
                sees(monitor, *STEPS, 'worn on the wrist')
                monitor.until(lambda: beats(monitor) >= 3, 30, 'three beats')
                sees(sensor, *('a central subscribed', 'a central unsubscribed') * (round - 1), 'a central subscribed')
                monitor.process.send_signal(signal.SIGTERM)
                monitor.finish(-signal.SIGTERM)
            sees(sensor, *('a central subscribed', 'a central unsubscribed') * round)
        check(sensor.out.count('advertising') == 1, 'it advertises continuously')


def they_survive_powering_off():
    for index in (0, 1):
        power(index)
    with start('CoreBluetoothPeripheral', 'hci0') as sensor:
        sees(sensor, 'advertising')
        with start('CoreBluetoothCentral', 'hci1') as monitor:
            monitor.until(lambda: beats(monitor) >= 2, 60, 'two beats')
            kernel.mgmt(0x0005, 1, b'\x00')
            sees(monitor, *STEPS, 'Bluetooth is off')
            sees(sensor, 'a central subscribed', 'a central unsubscribed')
            before = beats(monitor)
            power(1)
            sees(monitor, *STEPS, 'Bluetooth is off', *STEPS)
            monitor.until(lambda: beats(monitor) >= before + 2, 30, 'two beats more')


for profile in ('extended', 'legacy'):
    with Radio('central', n=2, profile=profile):
        run_story(f'{profile}: the examples exchange data', they_talk)
        run_story(f'{profile}: they survive powering off', they_survive_powering_off)
the_end()
