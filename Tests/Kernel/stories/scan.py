"""A scan reports every device on the air, and stops the controller at its end."""

import fcntl
import json
import os
import pty
import signal
import struct
import termios

from harness import Program, Radio, check, executable, run, run_story, the_end, until


def values(thing):
    """All strings in a JSON value."""
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, list):
        return {text for part in thing for text in values(part)}
    return {thing} if isinstance(thing, str) else set()


def quiet(radio):
    until(lambda: radio.stat()['scan'] == 0, 2, 'the controller no longer scans')


def sees_everything(radio):
    program = run('ble', 'scan', '-i', 'hci0', '--for', '3', '--json')
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
    with Program('ble', 'scan', '-i', 'hci0', '--for', '60', '--json') as program:
        program.until(lambda: radio.stat()['scan'] == 1 and 'LINBLE-Z1' in program.out, 20, 'the scan has seen LINBLE-Z1')
        program.interrupt()
        program.finish(0, 130, within=5)
    quiet(radio)


def on_a_terminal(radio):
    """40 columns and 10 rows: shows the names, and the number of omitted devices; after Ctrl-C all devices."""
    child, master = pty.fork()
    if child == 0:
        os.execv(executable('ble'), ['ble', 'scan', '-i', 'hci0', '--watch'])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack('HHHH', 10, 40, 0, 0))
    text = ''

    def shows(word):
        nonlocal text
        text += os.read(master, 65536).decode(errors='replace')
        return word in text

    try:
        until(lambda: shows('LINBLE-Z1') and f'… {len(radio.address) - 7} more' in text, 60, 'a table higher than the terminal')
        os.write(master, b'\x03')
        text = ''
        until(lambda: shows('ble scan: interrupted'), 20, 'the end')
    finally:
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        os.close(master)
    text = text[text.rindex('ADDRESS'):]
    unseen = [address for address in radio.address.values() if address not in text]
    check(not unseen, f'not in the final table: {unseen}\n{text}')
    check('more' not in text and text.count('\x1b[?25h') == 1, f'the final table:\n{text}')
    check(os.waitstatus_to_exitcode(status) in (130, -signal.SIGKILL), f'status {status}')
    quiet(radio)


for profile in ('extended', 'legacy'):
    with Radio('beacons:count=14', 'linble', profile=profile) as radio:
        run_story(f'reports everything, with a controller of the {profile} kind', sees_everything, radio)
        run_story(f'interrupted, with a controller of the {profile} kind', interrupted, radio)
        run_story(f'on a narrow terminal, with a controller of the {profile} kind', on_a_terminal, radio)
the_end()
