"""Errors name their cause and have their exit status."""

import os

from harness import NOBODY, Radio, executable, open_to_all, run, run_story, the_end


def exchange(name, code, seconds=3):
    return run('linble', '-i', 'hci0', '-n', name, '--find-time', seconds, '-t', seconds, 'exchange', '0100', exits=code, within=60)


def no_adapter(*arguments):
    run(*arguments, exits=69).says('No Bluetooth adapter found')


def without_permission():
    path = os.path.realpath(executable('ble'))
    open_to_all(path)
    program = run('ble', 'scan', '-i', 'hci0', '--for', '3', '--json', exits=77, wrapper=NOBODY)
    fix = [line for line in program.err.splitlines() if 'setcap' in line]
    program.check(any(path in line or executable('ble') in line for line in fix), f'no setcap line naming {path}')


def the_first_program_without_permission():
    path = os.path.realpath(executable('FirstProgram'))
    open_to_all(path)
    program = run('FirstProgram', exits=77, wrapper=NOBODY)
    program.check('setcap' in program.out, 'no command that grants the permission')


run_story('no adapter, scan', no_adapter, 'ble', 'scan', '--for', '3', '--json')
run_story('no adapter, exchange', no_adapter, 'linble', '-n', 'LINBLE-Z1', '--find-time', '3', 'exchange', '0100')
with Radio('linble', 'mute:name=MUTE', 'big:name=BIG,services=3'):
    run_story('a device that is not in range', exchange, 'NOBODY', 68)
    run_story('a device that never responds', exchange, 'MUTE', 75)
    run_story('a device without the service', exchange, 'BIG', (76, 68), 20)
    run_story('a user without permission', without_permission)
    run_story('a user without permission, with the program of the README', the_first_program_without_permission)
the_end()
