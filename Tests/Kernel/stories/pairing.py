"""`ble pair` and `ble bonds` against Bumble: a bond in files serves the next process, and is removed."""

import json
import os

from harness import FOLDER, Radio, check, run, tell, the_end, until

RECEIVING = '27ADC9CC-35EB-465A-9154-B8FF9076F3E8'
BONDS, OTHER = os.path.join(FOLDER, 'bonds'), os.path.join(FOLDER, 'other-bonds')


def device(radio):
    return ['-i', 'hci0', '-a', radio.address['shown'], '--address-type', 'random']


def write(radio, bonds, exits=0):
    """Writes what takes an authenticated link, and nobody is there to enter a number; tells whether it arrived."""
    before = int(radio.ask('count shown'))
    program = run('ble', 'write', *device(radio), '--bonds', bonds, '--security', 'authenticated', RECEIVING, '010203',
                  exits=exits)
    until(lambda: radio.stat()['links'] == 0, 10, 'no link is left')
    return program, int(radio.ask('count shown')) - before


def bonds(folder):
    return [json.loads(line) for line in run('ble', 'bonds', 'list', '--json', '--bonds', folder).out.splitlines()]


def a_bond_serves_the_next_process(radio):
    address = radio.address['shown']
    program = run('ble', 'pair', *device(radio), '--bonds', BONDS, '--security', 'authenticated', '--passkey', '042042',
                  '--json')
    paired = json.loads(program.out.splitlines()[-1])
    program.check(paired['event'] == 'paired' and paired['bonded'], 'bonded')
    until(lambda: radio.stat()['links'] == 0, 10, 'no link is left')
    kept = bonds(BONDS)
    check([each['addr'] for each in kept] == [address] and kept[0]['authenticated'], f'the bond: {kept}')
    check(kept[0]['name'] == 'shown', f'its name: {kept}')
    files = [os.path.join(folder, name) for folder, _, names in os.walk(BONDS) for name in names]
    check(files and all(os.stat(file).st_mode & 0o777 == 0o600 for file in files), 'the files are their user\'s alone')
    program, count = write(radio, BONDS)
    program.check(count == 3, f'{count} bytes arrived')
    # Elsewhere there is no such bond, and the kernel is given what is there.
    program, count = write(radio, OTHER, exits=76)
    program.says('protected').check(count == 0, 'nothing arrived')


def a_bond_is_removed(radio):
    address = radio.address['shown']
    program = run('ble', 'bonds', 'remove', '--bonds', BONDS, address)
    program.check(program.out == f'removed {address}\n', 'what it says')
    check(bonds(BONDS) == [], 'it is gone')
    run('ble', 'bonds', 'remove', '--bonds', BONDS, address, exits=68).says('ble bonds list')
    program, count = write(radio, BONDS, exits=76)
    program.check(count == 0, 'nothing arrives any more')


with Radio('secure:name=shown,pair=passkey,passkey=042042') as radio:
    tell('a bond serves the next process', a_bond_serves_the_next_process, radio)
    tell('a bond is removed', a_bond_is_removed, radio)
the_end()
