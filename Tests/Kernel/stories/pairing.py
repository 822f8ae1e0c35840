"""`ble pair` and `ble bonds` against Bumble: the next process uses a stored bond, and the bond is removed."""

import json
import os

from harness import FOLDER, Radio, check, run, run_story, the_end, until

RECEIVING = '27ADC9CC-35EB-465A-9154-B8FF9076F3E8'
BONDS, OTHER = os.path.join(FOLDER, 'bonds'), os.path.join(FOLDER, 'other-bonds')


def device(radio):
    return ['-i', 'hci0', '-a', radio.address['shown'], '--address-type', 'random']


def write(radio, bonds, exits=0):
    """Writes a value that requires an authenticated link, without a user to enter a passkey; returns the bytes received."""
    before = int(radio.ask('count shown'))
    program = run('ble', 'write', *device(radio), '--bonds', bonds, '--security', 'authenticated', RECEIVING, '010203',
                  exits=exits)
    until(lambda: radio.stat()['links'] == 0, 10, 'no link is left')
    return program, int(radio.ask('count shown')) - before


def bonds(folder):
    return [json.loads(line) for line in run('ble', 'bonds', 'list', '--json', '--bonds', folder).out.splitlines()]


def the_next_process_uses_the_bond(radio):
    address = radio.address['shown']
    program = run('ble', 'pair', *device(radio), '--bonds', BONDS, '--security', 'authenticated', '--passkey', '042042',
                  '--json')
    paired = json.loads(program.out.splitlines()[-1])
    program.check(paired['event'] == 'paired' and paired['bonded'], 'bonded')
    until(lambda: radio.stat()['links'] == 0, 10, 'no link is left')
    stored = bonds(BONDS)
    check([each['address'] for each in stored] == [address] and stored[0]['authenticated'], f'the bond: {stored}')
    check(stored[0]['name'] == 'shown', f'its name: {stored}')
    files = [os.path.join(folder, name) for folder, _, names in os.walk(BONDS) for name in names]
    check(files and all(os.stat(file).st_mode & 0o777 == 0o600 for file in files), 'only the owner can read the files')
    program, count = write(radio, BONDS)
    program.check(count == 3, f'{count} bytes arrived')
    # Another store has no such bond, and the kernel receives that store's keys.
    program, count = write(radio, OTHER, exits=76)
    program.says('requested security level').check(count == 0, 'nothing arrived')


def a_bond_is_removed(radio):
    address = radio.address['shown']
    program = run('ble', 'bonds', 'remove', '--bonds', BONDS, address)
    program.check(program.out == f'removed {address}\n', 'the output')
    check(bonds(BONDS) == [], 'no bond is stored')
    run('ble', 'bonds', 'remove', '--bonds', BONDS, address, exits=68).says('ble bonds list')
    program, count = write(radio, BONDS, exits=76)
    program.check(count == 0, 'nothing arrives')


with Radio('secure:name=shown,pair=passkey,passkey=042042') as radio:
    run_story('the next process uses the bond', the_next_process_uses_the_bond, radio)
    run_story('a bond is removed', a_bond_is_removed, radio)
the_end()
