"""`ble explore`, `read`, `write`, `notify`, `rssi` and `params` against Bumble."""

import json

from harness import Program, Radio, random_file, run, run_story, the_end, until

NOTE, COMMANDS, BOTH, REFUSES = (f'CA0100{n}-1234-5678-9ABC-DEF012345678' for n in ('01', '02', '07', '0A'))


def device(radio, name='gatt'):
    return ['-i', 'hci0', '-a', radio.address[name], '--address-type', 'random']


def truth(radio, name='gatt'):
    """The device's actual database: handle -> (type, value)."""
    words = (line.split(' ') for line in radio.ask(f'database {name}').split(';'))
    return {int(handle, 16): (kind, rest[0] if rest else '') for handle, kind, *rest in words}


def quiet(radio):
    until(lambda: radio.stat()['links'] == 0, 5, 'no link remains')


def explored(radio):
    program = run('ble', 'explore', *device(radio), '--json', within=120)
    entries = [json.loads(line) for line in program.out.splitlines()]
    database = truth(radio)
    declarations = {'2800': 'service', '2801': 'service', '2802': 'include'}
    for handle, (kind, _) in database.items():
        if kind == '2803':
            continue
        found = [e for e in entries if e.get('handle') == handle and e['event'] != 'include']
        if kind == '2802':
            continue
        program.check(len(found) == 1, f'{handle:04X} {kind} is listed {len(found)} times')
        event = declarations.get(kind)
        program.check(event is None or found[0]['event'] == event, f'{handle:04X} is a {found[0]["event"]}')
        program.check(event or found[0]['uuid'] == kind, f'{handle:04X} is {found[0].get("uuid")}, not {kind}')
    includes = sum(kind == '2802' for kind, _ in database.values())
    program.check(sum(e['event'] == 'include' for e in entries) == includes, f'not {includes} includes')
    for entry in entries:
        value = database.get(entry.get('handle'), (None, '-'))[1]
        if 'hex' in entry and value != '-':
            program.check(entry['hex'].lower() == value, f'{entry} but {value}')
    program.check(any('0x80' in e.get('error', '') for e in entries), 'no refusal')
    program.check(any('0x0F' in e.get('error', '') for e in entries), 'no value that requires encryption')
    quiet(radio)


def contradicted(radio):
    """One declaration of each device is invalid; everything else is listed, and the problem."""
    for name, (reason, event) in {'zero': ('invalidValueHandle', 'characteristic'), 'own': ('invalidValueHandle', 'characteristic'),
                                  'next': ('valueOutside', 'characteristic'), 'end': ('valueOutside', 'characteristic')}.items():
        program = run('ble', 'explore', *device(radio, name), '--json', '--no-values', within=120)
        entries = [json.loads(line) for line in program.out.splitlines()]
        problems = [e for e in entries if e['event'] == 'problem']
        program.check([e['reason'] for e in problems] == [reason], f'{name}: {problems}')
        declared = sum(kind == '2803' for kind, _ in truth(radio, name).values())
        found = sum(e['event'] == event for e in entries)
        program.check(found == declared - 1, f'{name}: {found} of {declared} characteristics')
        quiet(radio)
    program = run('ble', 'explore', *device(radio, 'zero'), '--no-values', within=120)
    program.check('problem: characteristic' in program.out and 'does not follow the declaration' in program.out, 'the problem is not shown')


def found_by_name(radio):
    program = run('ble', 'explore', '-i', 'hci0', '-n', 'gatt', '--no-values')
    program.check('secondary service 180A' in program.out, 'no secondary service')
    program.check(program.out.startswith(radio.address['gatt']), 'not the address')
    quiet(radio)


def read(radio):
    longest = max(handle for handle, (kind, value) in truth(radio).items() if kind == 'FF10' and len(value) == 1024)
    program = run('ble', 'read', *device(radio), '2A19', f'0x{longest:04X}', '--format', 'hex')
    program.check(program.out.splitlines() == ['63', truth(radio)[longest][1].upper()], 'not the values')
    run('ble', 'read', *device(radio), REFUSES, exits=76).says('0x80')
    run('ble', 'read', *device(radio), 'FF10', exits=64).says('by its handle')
    run('ble', 'read', *device(radio), '0xFFF0', exits=76).says('handle')
    quiet(radio)


def written(radio):
    note = next(handle for handle, (kind, _) in truth(radio).items() if kind == NOTE)
    command = next(handle for handle, (kind, _) in truth(radio).items() if kind == COMMANDS)
    data = random_file(512)
    run('ble', 'write', *device(radio), NOTE, f'file:{data}')
    with open(data, 'rb') as file:
        whole = file.read().hex()
    until(lambda: truth(radio)[note][1] == whole, 5, 'the file is in the device')
    run('ble', 'write', *device(radio), f'0x{note:04X}', 'text:short')
    until(lambda: truth(radio)[note][1] == b'short'.hex(), 5, 'the text is in the device')
    run('ble', 'write', *device(radio), COMMANDS, '0A0B')
    until(lambda: truth(radio)[command][1] == '0a0b', 5, 'the command has arrived')
    run('ble', 'write', *device(radio), REFUSES, '00', exits=76).says('0x80')
    run('ble', 'write', *device(radio), NOTE, f'file:{random_file(513)}', exits=64).says('512')
    quiet(radio)


def notified(radio):
    with Program('ble', 'notify', *device(radio), BOTH, '2A19', '--count', '3', '--json', '-v') as program:
        program.until(lambda: program.err.count('subscribed') == 2, 30, 'the subscriptions')
        for line in (f'notify gatt 0102 {BOTH}', 'notify gatt 32 2A19', f'notify gatt 03 {BOTH}'):
            radio.ask(line)
        program.finish(0)
        values = [(e['uuid'], e['hex']) for e in map(json.loads, program.out.splitlines())]
        # The two characteristics may be interleaved; each keeps its order.
        program.check([value for uuid, value in values if uuid == BOTH] == ['0102', '03'], f'{values}')
        program.check(('2A19', '32') in values, f'{values}')
    quiet(radio)


def indicated(radio):
    with Program('ble', 'notify', *device(radio), BOTH, '--indicate', '--count', '2', '-v') as program:
        program.until(lambda: 'subscribed' in program.err, 30, 'the subscription')
        radio.ask(f'indicate gatt 0A {BOTH}')
        radio.ask(f'indicate gatt 0B {BOTH}')
        program.finish(0)
    quiet(radio)


def interrupted(radio):
    with Program('ble', 'notify', *device(radio), BOTH, '-v') as program:
        program.until(lambda: 'subscribed' in program.err, 30, 'the subscription')
        program.interrupt()
        program.finish(130, within=5)
    quiet(radio)


def lost(radio):
    with Program('ble', 'notify', *device(radio), BOTH, '-v') as program:
        program.until(lambda: 'subscribed' in program.err, 30, 'the subscription')
        radio.ask('drop gatt 0x13')
        program.finish(74, within=5)
        program.says('ended')
    quiet(radio)


def measured(radio):
    program = run('ble', 'rssi', *device(radio))
    program.check(-128 <= int(program.out.split()[0]) <= 20, 'no RSSI')
    quiet(radio)


def changed(radio):
    program = run('ble', 'params', *device(radio), '--json')
    before = json.loads(program.out)
    program.check(before['mtu'] == 517 and before['interval'], f'{before}')
    program = run('ble', 'params', *device(radio), '--json', '--interval', '50', '--latency', '3',
                  '--supervision-timeout', '2000')
    after = json.loads(program.out)
    program.check((after['interval'], after['latency'], after['supervisionTimeout']) == (50, 3, 2000), f'{after}')
    quiet(radio)


for profile in ('extended', 'legacy'):
    with Radio('gatt', profile=profile) as radio:
        run_story(f'{profile}: explored, compared with the device\'s database', explored, radio)
        run_story(f'{profile}: found by its name', found_by_name, radio)
        run_story(f'{profile}: read', read, radio)
        if profile == 'extended':  # above the link nothing depends on the kind of band
            run_story(f'{profile}: written', written, radio)
            run_story(f'{profile}: notified', notified, radio)
            run_story(f'{profile}: indicated', indicated, radio)
            run_story(f'{profile}: interrupted', interrupted, radio)
        run_story(f'{profile}: the peer ends the link', lost, radio)
        run_story(f'{profile}: signal strength', measured, radio)
        run_story(f'{profile}: connection parameters', changed, radio)
with Radio(*(f'big:name={wrong},wrong={wrong},services=2,chars=2' for wrong in ('zero', 'own', 'next', 'end'))) as radio:
    run_story('explored despite an invalid declaration', contradicted, radio)
the_end()
