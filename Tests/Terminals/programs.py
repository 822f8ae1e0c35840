"""The programs on the port of a bridge whose device echoes; started by run."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

import serial

FOLDER = tempfile.mkdtemp(prefix='terminals')
PORT = os.path.join(FOLDER, 'ttyBLE')


def check(condition, reason):
    if not condition:
        raise AssertionError(reason)


def start_bridge():
    """A bridge that is online."""
    bridge = subprocess.Popen([os.environ['BIN'] + '/linble', 'bridge', '--simulate', '-n', 'LINBLE-ECHO', '--json',
                               '--pty', PORT], stdout=subprocess.PIPE, text=True)
    for line in bridge.stdout:
        if json.loads(line)['event'] == 'online':
            return bridge
    raise AssertionError(f'the bridge ended with {bridge.wait()}')


def with_pyserial():
    for options in ({}, {'rtscts': True}, {'dsrdtr': True}, {'xonxoff': True}, {'baudrate': 921600, 'bytesize': 7}):
        options = {'baudrate': 115200, 'timeout': 10, **options}
        if options.get('bytesize') == 7 or options.get('xonxoff'):
            data = bytes(range(0x20, 0x7f))  # such a port does not pass the others
        else:
            data = os.urandom(20_000)
        with serial.Serial(PORT, **options) as port:
            for piece in (data[:1], data[1:]):
                port.write(piece)
                got = port.read(len(piece))
                check(got == piece, f'{options}: {len(got)} of {len(piece)} bytes')
            port.flush()
            # What is discarded does not arrive later.
            port.write(b'old')
            while port.in_waiting < 3:
                time.sleep(0.01)
            port.reset_input_buffer()
            port.write(b'new')
            check(port.read(3) == b'new', f'{options}: discarded bytes arrive')
    with serial.Serial(PORT) as port:
        try:
            port.dtr = True
            check(False, 'a pseudo terminal has no modem lines')
        except OSError:
            pass


def with_picocom():
    data = b'picocom \x00\xff\r\n'
    ended = subprocess.run(['picocom', '-qrix', '2000', PORT], input=data, capture_output=True, timeout=60)
    check(ended.returncode == 0, f'exit {ended.returncode}: {ended.stderr}')
    check(data in ended.stdout, f'got {ended.stdout}')


def with_socat():
    data = os.urandom(10_000)
    ended = subprocess.run(['socat', '-t3', '-', f'{PORT},raw,echo=0'], input=data, capture_output=True, timeout=60)
    check(ended.returncode == 0, f'exit {ended.returncode}: {ended.stderr}')
    check(ended.stdout == data, f'{len(ended.stdout)} of {len(data)} bytes')


def with_minicom():
    """On a terminal of its own, as a user sees it."""
    process, screen = pty.fork()
    if process == 0:
        os.environ.update(TERM='vt100', MINICOM='', HOME=FOLDER, LC_ALL='C')
        os.execvp('minicom', ['minicom', '-o', '-D', PORT, '-b', '115200'])
    shown = ''

    def wait_for(pattern):
        nonlocal shown
        deadline = time.monotonic() + 30
        while not re.search(pattern, shown):
            left = deadline - time.monotonic()
            check(left > 0, f'no {pattern} in {shown!r}')
            if select.select([screen], [], [], left)[0]:
                shown += os.read(screen, 4096).decode(errors='replace')

    try:
        wait_for('CTRL-A Z')
        shown = ''
        os.write(screen, b'minicom-1')
        wait_for('minicom-1')
        os.write(screen, b'\x01q')
        wait_for('Leave')
        os.write(screen, b'\r')
    finally:
        os.close(screen)
        _, status = os.waitpid(process, 0)
    check(os.WIFEXITED(status) or os.WIFSIGNALED(status), f'status {status}')


programs = {name[5:]: body for name, body in globals().items() if name.startswith('with_')}
for name in sys.argv[1:]:
    if name not in programs:
        sys.exit(f'run: no program {name}; programs: {" ".join(programs)}')
failed = 0
bridge = start_bridge()
try:
    for name in sys.argv[1:] or programs:
        try:
            programs[name]()
            print(f'ok - {name}', flush=True)
        except Exception as error:
            failed += 1
            print(f'not ok - {name}: {error}', flush=True)
finally:
    bridge.terminate()
    rest = bridge.communicate()[0].splitlines()
counts = json.loads(rest[-1])
# All programs in turn on one port: the device has echoed every byte.
whole = counts['sent'] == counts['received'] and not counts['unconfirmed'] + counts['dropped'] + counts['unread']
print(f'{"ok" if whole and bridge.returncode == 0 else "not ok"} - the bridge: exit {bridge.returncode}, {rest[-1]}')
shutil.rmtree(FOLDER)
sys.exit(0 if whole and bridge.returncode == 0 and failed == 0 else 1)
