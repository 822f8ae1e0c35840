"""`linble serve` on one controller, with our own central and Bumble's on others."""

import json
import os
import select

import kernel
from harness import FOLDER, Btvirt, Program, Radio, check, random_file, run, run_story, the_end, until

SERVICE = '27ADC9CA-35EB-465A-9154-B8FF9076F3E8'
FROM_DEVICE = SERVICE.replace('C9CA', 'C9CB')
TO_DEVICE = SERVICE.replace('C9CA', 'C9CC')
LINK = f'{FOLDER}/linble'


def served(*options):
    program = Program('linble', 'serve', '--json', '-i', 'hci0', *options)
    program.until(lambda: '"serving"' in program.out, 30, 'it advertises')
    return program


def events(program, name):
    return [each for each in map(json.loads, program.out.splitlines()) if each['event'] == name]


def ends(program):
    program.interrupt()
    program.finish(130, within=10)


def the_sample_protocol_is_spoken():
    with served('--sample') as program:
        ended = run('linble', '-i', 'hci1', '-n', 'LINBLE-Z1', 'exchange', '0100', '020102')
        for line in ('Rx | 0140', 'Rx | 034102FF'):
            ended.check(line in ended.out, f'no line "{line}"')
        program.until(lambda: events(program, 'offline'), 10, 'the end is printed')
        check(events(program, 'offline')[0]['received'] == 5, 'the number of received bytes')
        ends(program)


def there_and_back(size, *options):
    sent, received = random_file(size), os.path.join(FOLDER, 'received')
    with served() as program:
        run('linble', '-i', 'hci1', '-n', 'LINBLE-Z1', *options, 'send', sent, '--echo', received, '--force', within=180)
        sent, received = open(sent, 'rb').read(), open(received, 'rb').read()
        same = len(os.path.commonprefix([sent, received]))
        check(sent == received, f'{len(received)} of {len(sent)} bytes were echoed, and they differ at {same}')
        program.until(lambda: events(program, 'offline'), 10, 'the end is printed')
        check(events(program, 'offline')[0]['received'] == size, 'the number of received bytes')
        ends(program)


def read(descriptor, count):
    data = b''
    while len(data) < count and select.select([descriptor], [], [], 30)[0]:
        data += os.read(descriptor, 4096)
    return data


def a_pseudo_terminal_persists():
    with served('--pty', LINK) as program:
        # Two programs in turn, and two links.
        for number in (1, 2):
            # Bytes written without a link wait for the next one.
            terminal = os.open(LINK, os.O_RDWR | os.O_NOCTTY)
            os.write(terminal, b'\x0a\x0d\x00' + bytes([number]))
            with Program('linble', '-i', 'hci1', '-n', 'LINBLE-Z1', 'exchange', '616263') as central:
                check(read(terminal, 3) == b'abc', 'the bytes from the central')
                central.finish(0)
                central.check(f'Rx | 0A0D000{number}' in central.out, 'the bytes from the program')
            os.close(terminal)
            program.until(lambda: len(events(program, 'offline')) == number, 10, 'the end is printed')
        ends(program)
    check(not os.path.lexists(LINK), 'the link remains')


def a_killed_programs_link_is_replaced():
    with served('--pty', LINK) as program:
        run('linble', 'serve', '-i', 'hci1', '--pty', LINK, exits=74).says(f'in use by PID {program.process.pid}')
        program.process.kill()
        program.join()
    check(os.path.lexists(LINK), 'the link of the killed program remains')
    with served('--pty', LINK) as program:
        terminal = os.open(LINK, os.O_RDWR | os.O_NOCTTY)
        with Program('linble', '-i', 'hci1', '-n', 'LINBLE-Z1', 'exchange', '616263') as central:
            check(read(terminal, 3) == b'abc', 'the bytes from the central')
            os.write(terminal, b'def')
            central.finish(0)
        os.close(terminal)
        # A central that connects before that gets the same link, which is online already.
        program.until(lambda: events(program, 'offline'), 10, 'the end is printed')
        # When a service manager stops the program, an open link ends.
        with Program('linble', '-i', 'hci1', '-n', 'LINBLE-Z1', 'terminal', '--linger', '600') as central:
            program.until(lambda: len(events(program, 'online')) == 2, 60, 'the link is online')
            program.terminate()
            program.finish(0, within=10)
            check(events(program, 'offline')[-1]['reason'] == 'stopped', f'the reason: {events(program, "offline")}')
            central.finish(74)
    check(not os.path.lexists(LINK) and not os.path.lexists(LINK + '.lock'), 'a file remains')


def a_central_is_killed_in_mid_transfer():
    sent, received = random_file(1 << 20), os.path.join(FOLDER, 'killed')
    if os.path.exists(received):
        os.unlink(received)
    with served() as program:
        with Program('linble', '-i', 'hci1', '-n', 'LINBLE-Z1', 'send', sent, '--echo', received) as central:
            central.until(lambda: os.path.exists(received) and os.path.getsize(received) > 2000, 60, 'the first bytes are echoed')
            central.process.kill()
            central.join()
        program.until(lambda: events(program, 'offline'), 30, 'the end is printed')
        check(events(program, 'offline')[0]['reason'] == 'remote', f'the reason: {events(program, "offline")}')
        run('linble', '-i', 'hci1', '-n', 'LINBLE-Z1', 'exchange', '0102')
        ends(program)


def it_survives_powering_off():
    with served() as program:
        with Program('linble', '-i', 'hci1', '-n', 'LINBLE-Z1', 'terminal', '--linger', '600',
                     wrapper=('bash', '-c', 'exec "$0" "$@" <<< abc')) as central:
            # It is online before its terminal is open, which the echo shows.
            central.until(lambda: 'abc' in central.out, 60, 'the terminal is open')
            kernel.mgmt(0x0005, 0, b'\x00')  # Set Powered
            program.until(lambda: events(program, 'offline'), 30, 'the end is printed')
            central.finish(74)
        kernel.mgmt(0x0005, 0, b'\x01')
        run('linble', '-i', 'hci1', '-n', 'LINBLE-Z1', 'exchange', '0102', within=60)
        ends(program)


def bumbles_central_uses_it(radio):
    with served('--sample') as program:
        address = events(program, 'serving')[0]['address']
        for _ in range(2):
            radio.ask(f'call central connect {address} public')
            found = radio.ask('call central find')
            check(FROM_DEVICE in found and TO_DEVICE in found, f'found: {found}')
            # Bytes written before the subscription are discarded.
            radio.ask(f'call central command {TO_DEVICE} 0100')
            radio.ask(f'call central subscribe {FROM_DEVICE}')
            radio.ask(f'call central command {TO_DEVICE} 020102')
            radio.ask(f'call central write {TO_DEVICE} 0103')
            got = ''
            wanted = '034102ff' + '0d43312e322e332e393837363534'

            def complete():
                nonlocal got
                got += radio.ask('call central got').replace(',', '')
                return len(got) >= len(wanted)
            until(complete, 20, 'the responses')
            check(got == wanted, f'got: {got}')
            radio.ask('call central close')
        program.until(lambda: len(events(program, 'offline')) == 2, 10, 'the ends are printed')
        check([each['received'] for each in events(program, 'offline')] == [5, 5], 'the numbers of received bytes')
        ends(program)
    until(lambda: radio.stat()['adv'] == 0, 10, 'nothing advertises')


def a_paired_central_is_served_encrypted():
    # Not the bonds of the other stories, whose adapters have the same addresses.
    bonds = ('--bonds', os.path.join(FOLDER, 'bonds'))
    with served('--encrypted', *bonds) as program:
        # The first pairs, the second has the keys.
        for number in (1, 2):
            ended = run('linble', '-i', 'hci1', '-n', 'LINBLE-Z1', '--security', 'encrypted', *bonds, 'exchange', '0A0B')
            ended.check('Rx | 0A0B' in ended.out, 'the echo')
            program.until(lambda: len(events(program, 'offline')) == number, 10, 'the end is printed')
        check([each['received'] for each in events(program, 'offline')] == [2, 2], 'the numbers of received bytes')
        ends(program)


for profile in ('extended', 'legacy'):
    with Radio('central', n=2, profile=profile) as radio:
        run_story(f'{profile}: the sample protocol is spoken', the_sample_protocol_is_spoken)
        if profile == 'extended':  # above the link nothing depends on the kind of band
            run_story(f'{profile}: 100 KiB there and back', there_and_back, 100 * 1024)
            run_story(f'{profile}: a pseudo terminal persists', a_pseudo_terminal_persists)
        run_story(f'{profile}: the link of a killed program is replaced', a_killed_programs_link_is_replaced)
        run_story(f'{profile}: a central is killed in mid-transfer', a_central_is_killed_in_mid_transfer)
        run_story(f'{profile}: it survives powering off', it_survives_powering_off)
        if profile == 'extended':
            run_story(f'{profile}: a paired central is served encrypted', a_paired_central_is_served_encrypted)
        run_story(f"{profile}: bumble's central uses it", bumbles_central_uses_it, radio)
with Btvirt(2):
    run_story('btvirt: the sample protocol is spoken', the_sample_protocol_is_spoken)
    run_story('btvirt: 100 KiB there and back', there_and_back, 100 * 1024)
    run_story('btvirt: 20 KiB there and back in chunks of 20', there_and_back, 20 * 1024, '--mtu', '23')
    run_story('btvirt: a pseudo terminal persists', a_pseudo_terminal_persists)
the_end()
