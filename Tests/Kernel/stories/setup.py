"""Power, rfkill, BlueZ's daemon, and passive scanning."""

import os
import shutil
import subprocess

import kernel
from harness import FOLDER, NOBODY, Radio, block, check, executable, open_to_all, run, run_story, the_end, until


def exchange(*options, exits=0):
    return run('linble', *options, '-i', 'hci0', '-n', 'LINBLE-Z1', '--find-time', 8, '-t', 8, 'exchange', '0100', exits=exits)


def power_is_left_alone():
    exchange('--no-power-on', exits=69).says('hci0 is off')
    check(not kernel.adapters()[0], 'the adapter was powered on')


def a_radio_switch_blocks():
    block(True)
    exchange(exits=69).says('rfkill unblock bluetooth')
    run('ble', 'doctor', exits=69)
    block(False)
    exchange()


def power_is_switched():
    def power(word, state, exits=0):
        program = run('ble', 'power', word, '-i', 'hci0', exits=exits)
        program.check(program.out.endswith(f'is {state}\n'), f'not {state}')
        check(kernel.adapters()[0] == (state == 'on'), f'the kernel does not report it as {state}')

    for word in ('on', 'on', 'off', 'off'):
        power(word, word)
    exchange('--no-power-on', exits=69).says('sudo ble power on')
    block(True)
    run('ble', 'power', 'on', '-i', 'hci0', exits=69).says('rfkill unblock bluetooth')
    run('ble', 'power', 'off', '-i', 'hci0')
    block(False)


def powering_on_brings_le():
    kernel.up(0)
    check('le' not in kernel.read_info(0)[1], 'LE is on already')
    check('LE off' in run('ble', 'adapters').out, 'LE off is not printed')
    check('sudo ble power on' in run('ble', 'doctor').out, 'the doctor names no remedy')
    run('ble', 'power', 'on')
    check({'powered', 'le'} <= kernel.read_info(0)[1], f'settings: {kernel.read_info(0)[1]}')


def a_passive_scan_hears_no_names_from_scan_responses():
    program = run('ble', 'scan', '--passive', '-i', 'hci0', '--for', '2', '--json')
    check('"address"' in program.out, 'no device was reported')
    check('6C696E626C65' not in program.out, 'data of a scan response was reported')


def capabilities_replace_root():
    """The two ways of Docs/Guide/Permissions.md: of the file, which keep the monitor from its caller, and ambient ones."""
    def scan(exits, wrapper, path, records_all=False):
        ended = subprocess.run([*wrapper, path, 'scan', '-i', 'hci0', '--for', '2', '-v', '--trace', '/dev/null'],
                               capture_output=True, text=True)
        check(ended.returncode == exits, f'exit {ended.returncode} instead of {exits}: {ended.stderr}')
        check(('LINBLE-Z1' in ended.stdout) == (exits == 0), ended.stdout)
        check(('recording the packets of all adapters' in ended.stderr) == records_all, ended.stderr)

    own = executable('ble')
    open_to_all(own)
    os.chmod(FOLDER, 0o755)
    copy = shutil.copy(own, FOLDER)
    scan(77, NOBODY, copy)
    subprocess.run(['setcap', 'cap_net_raw,cap_net_admin+eip', copy], check=True)
    scan(0, NOBODY, copy)
    # A copy does not have them.
    scan(77, NOBODY, shutil.copy(copy, os.path.join(FOLDER, 'copy')))
    scan(0, (*NOBODY[:4], '--inh-caps', '+net_raw,+net_admin', '--ambient-caps', '+net_raw,+net_admin'), own, True)


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
    run_story('--no-power-on leaves the adapter off', power_is_left_alone)
    run_story('a command switches the power', power_is_switched)
    run_story('rfkill blocks, and the error names it', a_radio_switch_blocks)
    run_story('a passive scan', a_passive_scan_hears_no_names_from_scan_responses)
    run_story('capabilities replace root', capabilities_replace_root)
    run_story('beside BlueZ\'s daemon', beside_the_daemon)
with Radio(dual_mode=True):
    run_story('powering on enables LE', powering_on_brings_le)
the_end()
