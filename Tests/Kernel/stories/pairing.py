"""`ble pair` and `ble bonds` against Bumble: the next process uses a stored bond, and the bond is removed."""

import json
import os
import time

import kernel
from harness import FOLDER, Program, Radio, check, run, run_story, the_end, until

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
    # The pairing settings are as before.
    check(not kernel.read_info(0)[1] & {'bondable', 'sc'}, f'the settings: {kernel.read_info(0)[1]}')


def programs_with_other_bonds_leave_the_keys(radio):
    before = kernel.long_term_keys(0)
    check(len(before) == 1, f'the keys in the kernel: {before}')
    for arguments in (('scan', '--for', '1', '--bonds', OTHER), ('power', 'on'), ('bonds', 'list', '--bonds', OTHER)):
        run('ble', *arguments, '-i', 'hci0')
    with Program('ble', 'advertise', '-i', 'hci0', '--bonds', OTHER) as advertising:
        advertising.until(lambda: 'advertises' in advertising.out, 30, 'it advertises')
        advertising.interrupt()
        advertising.finish(130)
    check(kernel.long_term_keys(0) == before, f'the keys in the kernel: {kernel.long_term_keys(0)}')


def a_store_has_the_bonds_of_its_program(radio):
    """A pairing of another program while this one serves, and the removal of that bond."""
    with Program('ble', 'serve', '--json', '-i', 'hci0', '--bonds', OTHER, 'battery') as server:
        server.until(lambda: '"serving"' in server.out, 30, 'the device advertises')
        pair(radio, '--security', 'authenticated', '--passkey', '042042')
        check(bonds(OTHER) == [], f'the bonds of the server: {bonds(OTHER)}')
        server.interrupt()
        server.finish(130)


def pairing_again_after_a_kill(radio):
    """The kernel keeps the link, and the pairing, of a killed program for two seconds."""
    for moment in (0.2, 1.0):
        command = ['ble', 'pair', *device(radio), '--bonds', BONDS, '--security', 'authenticated', '--passkey', '042042']
        with Program(*command) as killed:
            killed.until(lambda: radio.stat()['links'] == 1, 30, 'a link')
            time.sleep(moment)
            killed.process.kill()
            killed.join()
        program = run(*command, '--json', within=60)
        # With the bond of the killed program, if that had just stored it, or of a pairing of its own.
        check(paired(program) in ('authenticated', 'secure-connections'), f'{moment} s: {program.out}')
        check(len(bonds(BONDS)) == 1, f'{moment} s: {bonds(BONDS)}')
        until(lambda: radio.stat()['links'] == 0, 10, 'no link is left')
        run('ble', 'bonds', 'remove', '--bonds', BONDS, radio.address['shown'])
        radio.ask('pairing shown forget')


def a_bond_is_removed(radio):
    address = radio.address['shown']
    program = run('ble', 'bonds', 'remove', '--bonds', BONDS, address)
    program.check(program.out == f'removed {address}\n', 'the output')
    check(bonds(BONDS) == [], 'no bond was stored')
    run('ble', 'bonds', 'remove', '--bonds', BONDS, address, exits=68).says('ble bonds list')
    program, count = write(radio, BONDS, exits=76)
    program.check(count == 0, 'nothing arrives')


def pair(radio, *options, exits=0):
    """Pairs, and forgets the bond again on both sides."""
    program = run('ble', 'pair', *device(radio), '--bonds', BONDS, '--json', *options, exits=exits)
    until(lambda: radio.stat()['links'] == 0, 10, 'no link is left')
    run('ble', 'bonds', 'remove', '--bonds', BONDS, radio.address['shown'], exits=(0, 68))
    radio.ask('pairing shown forget')
    return program


def paired(program):
    event = json.loads(program.out.splitlines()[-1])
    program.check(event['event'] == 'paired' and event['bonded'], 'bonded')
    return event['security']


def with_data_of_the_device(radio):
    data = radio.ask('pairing shown oob')
    program = pair(radio, '--oob', data)
    program.check(paired(program) == 'secure-connections', f'the level: {program.out}')
    # A device may accept its data again, as this one does; the kernel no longer has them, though.
    program = pair(radio, '--oob', data)
    program.check(paired(program) == 'secure-connections', f'the level again: {program.out}')
    # The kernel has no data of the device any more, which would fail now.
    radio.ask('pairing shown no-oob')
    program = pair(radio)
    program.check(paired(program) == 'encrypted', f'the level without data: {program.out}')


def with_wrong_data_of_the_device(radio):
    data = radio.ask('pairing shown oob')
    radio.ask('pairing shown oob')
    program = pair(radio, '--oob', data, exits=76)
    program.says('Transfer new data')
    wrong = data[:-2] + f'{int(data[-2:], 16) ^ 1:02x}'
    pair(radio, '--oob', wrong, exits=76).says('Transfer new data')
    radio.ask('pairing shown no-oob')


def with_data_of_this_machine(radio):
    made = json.loads(run('ble', 'oob', '-i', 'hci0', '--bonds', BONDS, '--json').out)
    check(made['address'] == '00:AA:01:00:00:01' and made['addressType'] == 'public', f'the address: {made}')
    data = made['text'].removeprefix('BLE-OOB:')
    radio.ask(f'pairing shown oob {data}')
    program = pair(radio)
    program.check(paired(program) == 'secure-connections', f'the level: {program.out}')
    # In both directions.
    program = pair(radio, '--oob', radio.ask('pairing shown oob'))
    program.check(paired(program) == 'secure-connections', f'the level in both directions: {program.out}')
    # The device compares: another confirmation value is refused.
    confirmation = made['confirmation']
    radio.ask('pairing shown oob ' + data.replace(confirmation, f'{int(confirmation[:2], 16) ^ 1:02X}{confirmation[2:]}'))
    pair(radio, exits=76)
    radio.ask('pairing shown no-oob')


def without_data_of_this_machine(radio):
    """The kernel makes none for a controller without BR/EDR."""
    run('ble', 'oob', '-i', 'hci0', '--bonds', BONDS, exits=76).says('Secure Simple Pairing').says('ble pair --oob')


def what_the_kernel_refuses(radio):
    """The values of legacy pairing, and its own while it uses private addresses."""
    def add(*values):
        payload = bytes.fromhex(radio.address['shown'].replace(':', ''))[::-1] + b'\x02' + b''.join(values)
        return kernel.mgmt(0x0021, 0, payload)[0]
    value, zero = b'\x01' * 16, bytes(16)
    statuses = {'legacy': add(value, value), 'both': add(value, value, value, value), 'zero': add(zero, zero),
                'secure': add(zero, zero, value, value)}
    check(statuses == {'legacy': 0x0D, 'both': 0x0D, 'zero': 0x0D, 'secure': 0}, f'mgmt Add Remote OOB Data: {statuses}')
    run('ble', 'oob', '-i', 'hci0', '--bonds', BONDS, '--privacy', 'on', exits=64).says('--privacy off')
    run('ble', 'power', 'on', '-i', 'hci0', '--privacy', 'on').says('private addresses from now on')
    run('ble', 'oob', '-i', 'hci0', '--bonds', BONDS, exits=76).says('creates no out-of-band data while')
    run('ble', 'oob', '-i', 'hci0', '--bonds', BONDS, '--privacy', 'off').says('identity address from now on')


with Radio('secure:name=shown,pair=passkey,passkey=042042') as radio:
    run_story('the next process uses the bond', the_next_process_uses_the_bond, radio)
    run_story('programs with other bonds leave the keys', programs_with_other_bonds_leave_the_keys, radio)
    run_story('a bond is removed', a_bond_is_removed, radio)
    radio.ask('pairing shown forget')
    run_story('a store has the bonds of its program', a_store_has_the_bonds_of_its_program, radio)
    run_story('pairing again after a kill', pairing_again_after_a_kill, radio)
    run_story('out-of-band data that an LE-only adapter lacks', without_data_of_this_machine, radio)
with Radio('secure:name=shown', dual_mode=True) as radio:
    run_story('out-of-band data of the device', with_data_of_the_device, radio)
    run_story('wrong out-of-band data', with_wrong_data_of_the_device, radio)
    run_story('out-of-band data of this machine', with_data_of_this_machine, radio)
    run_story('out-of-band data that the kernel refuses', what_the_kernel_refuses, radio)
the_end()
