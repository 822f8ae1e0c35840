"""Our programs on two controllers of RootCanal's, with what Bumble's lack: LE Coded, 16 advertising sets, address resolution."""

import json
import os
import subprocess

import kernel
from harness import FOLDER, Program, RootCanal, check, run, run_story, the_end

NOTE, SERVER, CLIENT = (os.path.join(FOLDER, name) for name in ('note.json', 'server', 'client'))
# Longer than one of RootCanal's packets, which have 27 bytes.
VALUE = bytes(range(256)).hex().upper()
# The experimental feature of Linux 6.12 that lets controllers resolve addresses: 15c0a148-c273-11ea-b3de-0242ac130004.
CONTROLLER_RESOLVES = bytes.fromhex('040013ac4202deb3ea1173c248a1c015') + b'\x01'


def served(*options):
    """Starts a server on hci0, and waits until it advertises."""
    program = Program('ble', 'serve', '--json', '-i', 'hci0', '-n', 'note', *options, stdin=subprocess.PIPE)
    program.until(lambda: '"serving"' in program.out, 30, 'the device advertises')
    return program


def ends(program):
    program.interrupt()
    program.finish(130, within=10)


def a_served_device_is_used(band):
    with open(NOTE, 'w') as file:
        json.dump({'name': 'note', 'services': [{'uuid': 'FFF0', 'characteristics': [
            {'uuid': 'FFF1', 'properties': ['read', 'notify'], 'value': VALUE, 'every': 0.2}]}]}, file)
    with served(NOTE) as server:
        client = run('ble', 'exec', '-i', 'hci1', '--json', 'connect -n note', 'read FFF1', 'notify FFF1 --count 3')
        values = [json.loads(line)['hex'] for line in client.out.splitlines() if '"hex"' in line]
        client.check(len(values) == 4 and all(value[:-2] == VALUE[:-2] for value in values), 'the values')
        ends(server)


def a_device_on_coded_is_heard_only_there(band):
    with Program('ble', 'advertise', '-i', 'hci0', '-n', 'far', '--extended', 'coded') as advertising:
        advertising.until(lambda: 'advertises' in advertising.out, 30, 'it advertises')
        plain = run('ble', 'scan', '-i', 'hci1', '--for', '2')
        plain.check('far' not in plain.out, 'heard on LE 1M')
        link = run('ble', 'params', '-i', 'hci1', '-n', 'far', '--coded', '--phy', 'coded', '--json')
        link.check('"txPHY":"LE Coded","rxPHY":"LE Coded"' in link.out, 'the link is not on LE Coded')
        check(band.packets('1> 014320')[-1][4 + 9] == 4, 'LE Extended Create Connection names other PHYs than LE Coded')
        ends(advertising)


def sixteen_sets_are_heard(band):
    before = len(band.packets('1> 0142200601'))  # LE Set Extended Scan Enable
    with Program('ble', 'scan', '-i', 'hci1', '--json', '-n', 'Test-', '--count', '16', '--once', '--for', '120') as scan:
        scan.until(lambda: len(band.packets('1> 0142200601')) > before, 30, 'it scans')
        test = run('ble', 'selftest', '-i', 'hci0', '--only', 'advertise.sets', '--json', within=60)
        test.check('"sets":16' in test.out, 'the number of sets')
        scan.finish(0)


def a_bond_is_used_from_addresses_that_the_controllers_resolve(band):
    server = ('keyboard', '--bonds', SERVER, '--privacy', 'on')
    with served(*server) as program:
        run('ble', 'pair', '-i', 'hci1', '-n', 'note', '--bonds', CLIENT)
        ends(program)
    for index in (0, 1):
        kernel.mgmt(0x0005, index, b'\x00')  # Set Powered
        status, _ = kernel.mgmt(0x004A, index, CONTROLLER_RESOLVES)
        check(status == 0, f'Set Experimental Feature: {status}')
    with served(*server) as program:
        # A value that requires an encrypted link.
        run('ble', 'read', '-i', 'hci1', '-n', 'note', '--bonds', CLIENT, '--security', 'encrypted', '2A4B')
        ends(program)
    # LE Set Extended Advertising Parameters: the controller generates the address. LE Enhanced Connection Complete: an identity.
    check(band.packets('0> 013620')[-1][14] == 0x03, 'the peripheral advertises with an address of the kernel')
    check(band.packets('1< 043e1f0a00')[-1][8] == 0x02, 'the central has connected to an address that was not resolved')


with RootCanal(n=2) as band:
    for story in (a_served_device_is_used, a_device_on_coded_is_heard_only_there, sixteen_sets_are_heard,
                  a_bond_is_used_from_addresses_that_the_controllers_resolve):
        run_story(story.__name__.replace('_', ' '), story, band)
the_end()
