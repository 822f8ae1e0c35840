"""What stands around Bluetooth: power left alone, radio switches, BlueZ's daemon. And scanning without asking."""

import os
import subprocess

import kernel
from harness import Radio, block, check, run, tell, the_end, until


def exchange(*options, exits=0):
    return run('linble', *options, '-i', 'hci0', '-n', 'LINBLE-Z1', '-t', 8, 'exchange', '0100', exits=exits)


def power_is_left_alone():
    exchange('--no-power-on', exits=69).says('hci0 is off')
    check(not kernel.adapters()[0], 'the adapter was powered on all the same')


def a_radio_switch_blocks():
    block(True)
    exchange(exits=69).says('rfkill unblock bluetooth')
    run('ble', 'doctor', exits=69)
    block(False)
    exchange()


def a_passive_scan_hears_no_names_from_scan_responses():
    program = run('ble', 'scan', '--passive', '-i', 'hci0', '-t', '2', '--json')
    check('"addr"' in program.out, 'nothing was heard')
    check('6C696E626C65' not in program.out, 'something was heard that is only in a scan response')


def beside_the_daemon():
    os.makedirs('/run/dbus', exist_ok=True)
    subprocess.run(['dbus-daemon', '--system', '--fork'], check=True)
    daemon = subprocess.Popen(['/usr/libexec/bluetooth/bluetoothd', '-n'], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        until(lambda: kernel.adapters()[0], 20, 'the daemon powers the adapter on')
        check('bluetoothd' in run('ble', 'doctor').out, 'the doctor does not name the daemon')
        exchange()
    finally:
        daemon.terminate()
        daemon.wait()


with Radio('linble'):
    tell('power is left alone when it has to be', power_is_left_alone)
    tell('a radio switch blocks, and is named', a_radio_switch_blocks)
    tell('a passive scan', a_passive_scan_hears_no_names_from_scan_responses)
    tell('beside BlueZ\'s daemon', beside_the_daemon)
the_end()
