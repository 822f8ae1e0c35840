"""A scan sees everything on the air, once it is over the chip is quiet again."""

import json

from harness import Program, Radio, run, tell, the_end, until


def values(thing):
    """Every string anywhere in a JSON value."""
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, list):
        return {text for part in thing for text in values(part)}
    return {thing} if isinstance(thing, str) else set()


def quiet(radio):
    until(lambda: radio.stat()['scan'] == 0, 2, 'the chip no longer scans')


def sees_everything(radio):
    program = run('ble', 'scan', '-i', 'hci0', '-t', '3', '--json')
    seen = set()
    for line in program.out.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        program.check(isinstance(entry, dict), f'not a line of JSON: {line}')
        seen |= values(entry)
    unseen = [f'{name} {address}' for name, address in radio.address.items() if address not in seen]
    program.check(not unseen, f'not seen: {", ".join(unseen)}')
    program.check('LINBLE-Z1' in seen, 'no name LINBLE-Z1')
    quiet(radio)


def interrupted(radio):
    with Program('ble', 'scan', '-i', 'hci0', '-t', '60', '--json') as program:
        program.until(lambda: radio.stat()['scan'] == 1 and 'LINBLE-Z1' in program.out, 20, 'the scan has seen LINBLE-Z1')
        program.interrupt()
        program.finish(0, 130, within=5)
    quiet(radio)


for profile in ('extended', 'legacy'):
    with Radio('beacons:count=14', 'linble', profile=profile) as radio:
        tell(f'sees everything with a chip of the {profile} kind', sees_everything, radio)
        tell(f'interrupted, with a chip of the {profile} kind', interrupted, radio)
the_end()
