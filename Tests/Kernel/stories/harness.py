"""The harness of the stories: a band, our programs, and conditions with deadlines. Runs in the guest, as root.

A story is a function that returns if it passes and raises otherwise; run_story() runs it and prints a line, the_end() prints
the counts and exits. The programs under test are in the folder BIN."""

import asyncio
import multiprocessing
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import kernel
import rootcanal_band
import virtual_radio

HERE = os.path.dirname(os.path.abspath(__file__))
RADIO = os.path.join(HERE, '..', 'radio', 'radio')
GROUP = os.path.splitext(os.path.basename(sys.argv[0]))[0]
FOLDER = tempfile.mkdtemp(dir='/run')
# The factor for all deadlines: the guest is about ten times slower than the machine, which it shares.
PATIENCE = float(os.environ.get('PATIENCE', '1'))

passed = failed = 0


class Failure(Exception):
    """The failure of a story."""


def say(line):
    print(line, flush=True)


def check(condition, reason):
    if not condition:
        raise Failure(reason)


def until(condition, seconds, what):
    """Waits until the condition returns a true value, and returns that; fails after `seconds`."""
    seconds *= PATIENCE
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise Failure(f'{what}: not within {seconds:g} s')
        time.sleep(0.02)
    return value


def run_story(name, story, *arguments):
    """Runs one story. Words on the command line select the stories with one of them in their name."""
    global passed, failed
    name = f'{GROUP}: {name}'
    if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
        return
    began = time.monotonic()
    try:
        for index in kernel.adapters():
            kernel.rest(index)
        story(*arguments)
    except Exception as error:
        failed += 1
        reason = str(error) if isinstance(error, Failure) else ''.join(traceback.format_exception(error)).rstrip()
        first, *rest = reason.split('\n')
        say(f'not ok - {name}: {first}')
        for line in rest:
            say(f'#   {line}')
    else:
        passed += 1
        say(f'ok - {name} ({time.monotonic() - began:.1f} s)')


# The end of one test in swift-testing's output.
ENDED = re.compile(r'^\S+ +Test (?!run )"?((?:(?! recorded an issue).)*?)"?(?: with \d+ test cases?)? (passed|failed|skipped)\b(?: after ([\d.]+) seconds)?')


def run_suite(band, command, environment, may_be_empty=False):
    """Runs a test bundle on a band and prints a line for each of its tests, for a failed one also its output."""
    global passed, failed
    bundle = subprocess.Popen(command, env={**os.environ, 'NO_COLOR': '1', **environment}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output, before = [], failed
    for line in bundle.stdout:
        line = line.rstrip()
        ended = ENDED.match(line)
        if not ended:
            output.append(line)
            continue
        name, result, seconds = ended.groups()
        if result == 'failed':
            failed += 1
            say(f'not ok - {GROUP}: {band}: {name} ({seconds} s)')
            say('\n'.join(f'#   {each}' for each in output if not each.startswith('◇')))
        elif result == 'skipped':
            say(f'# {GROUP}: {band}: {name} was skipped')
        else:
            passed += 1
            say(f'ok - {GROUP}: {band}: {name} ({seconds} s)')
        output = []
    code = bundle.wait()
    # 69: no test matches.
    if not (code == 0 or code == 1 and failed > before or code == 69 and may_be_empty):
        failed += 1
        say(f'not ok - {GROUP}: {band}: the bundle ended with {code}')
        say('\n'.join(f'#   {each}' for each in output[-60:]))


def the_end():
    say(f'{passed} passed, {failed} failed')
    sys.exit(1 if failed else 0)


class Fork(multiprocessing.get_context('fork').Process):
    """A process that runs a function with what this one has imported, used like one of subprocess."""

    def __init__(self, function, output):
        def run():
            for stream in (1, 2):
                os.dup2(output.fileno(), stream)
            os.closerange(3, 1024)
            function()

        super().__init__(target=run, daemon=True)
        self.start()

    def poll(self):
        return self.exitcode

    def wait(self):
        self.join()

    @property
    def returncode(self):
        return self.exitcode


class Band:
    """A process that adds controllers to the kernel, and removes them at its end: a command or a function."""

    def __init__(self, band, count):
        check(not kernel.adapters(), f'there are controllers already: {kernel.adapters()}')
        self.log = open(os.path.join(FOLDER, 'band.log'), 'a+')
        if callable(band):
            self.process = Fork(band, self.log)
        else:
            self.process = subprocess.Popen(band, stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            until(lambda: self.alive() and len(kernel.adapters()) == count, 60, 'controllers')
        except BaseException:
            self.process.kill()
            raise

    def alive(self):
        if self.process.poll() is not None:
            self.log.seek(0)
            raise Failure(f'the band ended with {self.process.returncode}:\n{self.log.read()}')
        return True

    def settle(self):
        """Waits until the kernel has set the controllers up, and takes them down, which it would do after 2 s."""
        until(lambda: self.alive() and kernel.managed() == set(kernel.adapters()), 30, 'all controllers set up')
        for index, is_up in kernel.adapters().items():
            if is_up:
                kernel.down(index)
        check(not any(kernel.adapters().values()), 'a controller remains up')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        until(lambda: not kernel.adapters(), 10, 'no controller left')
        self.log.close()


class Radio(Band):
    """The band of radio/, with its controllers down. `address` has the devices' addresses; `ask` sends a command."""

    def __init__(self, *devices, n=1, profile='extended', dual_mode=False, has_address=True):
        ready, control = os.path.join(FOLDER, 'ready'), os.path.join(FOLDER, 'control')
        for left in (ready, control):
            if os.path.exists(left):
                os.unlink(left)
        options = ['-n', str(n), '--profile', profile, '--ready', ready, '--control', control]
        words = virtual_radio.options([*options, *(['--dual-mode'] if dual_mode else []),
                                       *([] if has_address else ['--no-address']), *devices])
        super().__init__(lambda: asyncio.run(virtual_radio.main(words)), n)
        until(lambda: self.alive() and os.path.exists(ready), 60, 'the band on the air')
        self.address = {words[0]: words[1] for words in map(str.split, open(ready))}
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(control)
        self.lines = self.socket.makefile('rw')
        self.settle()

    def ask(self, line):
        self.lines.write(line + '\n')
        self.lines.flush()
        word, _, answer = self.lines.readline().strip().partition(' ')
        check(word == 'ok', f'radio: {line}: {answer}')
        return answer

    def stat(self, adapter='hci0'):
        """The state of that controller: {'links': 0, 'scan': 0, 'adv': 0}; None if it is not plugged in."""
        for entry in self.ask('stat').split():
            name, _, pairs = entry.partition(':')
            if name == adapter:
                return {key: int(value) for key, value in (pair.split('=') for pair in pairs.split(','))}
        return None


class Btvirt(Band):
    """BlueZ's emulator with n LE-only controllers."""

    def __init__(self, n=2):
        super().__init__(['/usr/bin/btvirt', f'-l{n}', '-L'], n)
        self.settle()


class RootCanal(Band):
    """The band of RootCanal with n controllers, on and with LE."""

    def __init__(self, n=1, far=None):
        ready, self.log_of_packets = os.path.join(FOLDER, 'ready'), os.path.join(FOLDER, 'packets')
        if os.path.exists(ready):
            os.unlink(ready)
        words = rootcanal_band.options(['-n', str(n), '--ready', ready, '--log', self.log_of_packets,
                                         *(['--far', far] if far else [])])
        super().__init__(lambda: asyncio.run(rootcanal_band.main(words)), n)
        until(lambda: self.alive() and os.path.exists(ready), 60, 'the band on the air')
        self.settle()
        for index in range(n):
            for opcode in (0x000D, 0x0005):  # Set LE, Set Powered
                check(kernel.mgmt(opcode, index, b'\x01', seconds=30)[0] == 0, f'hci{index}: command {opcode:04x}')

    def packets(self, pattern):
        """The packets so far whose lines match: 0> 014320 are the commands 0x2043 to hci0, 1< 04 the events from hci1."""
        return [bytes.fromhex(line[3:]) for line in open(self.log_of_packets) if re.match(pattern, line)]


def executable(name):
    folder = os.environ.get('BIN') or sys.exit('set BIN to the folder that contains ble and linble')
    path = os.path.join(folder, name)
    check(os.access(path, os.X_OK), f'no program {path}')
    return path


# A prefix that runs a command without privileges.
NOBODY = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--inh-caps=-all', '--ambient-caps=-all')


def open_to_all(path):
    """Lets the user nobody read a program and its libraries, which may be in a home directory."""
    libraries = subprocess.run(['ldd', path], capture_output=True, text=True).stdout.split()
    for file in [path, *(word for word in libraries if word.startswith('/'))]:
        folder = os.path.dirname(os.path.realpath(file))
        while folder != '/':
            os.chmod(folder, os.stat(folder).st_mode | 0o005)
            folder = os.path.dirname(folder)


class Program:
    """One of our programs, running; its output is collected continuously."""

    def __init__(self, name, *arguments, wrapper=(), stdin=subprocess.DEVNULL):
        self.arguments = [executable(name), *map(str, arguments)]
        self.line = ' '.join([name, *self.arguments[1:]])
        self.output = {'stdout': b'', 'stderr': b''}
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [*wrapper, *self.arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.readers = [threading.Thread(target=self.read, args=(stream,), daemon=True) for stream in self.output]
        for reader in self.readers:
            reader.start()

    def read(self, stream):
        while data := os.read(getattr(self.process, stream).fileno(), 65536):
            self.output[stream] += data

    @property
    def out(self):
        return self.output['stdout'].decode(errors='replace')

    @property
    def err(self):
        return self.output['stderr'].decode(errors='replace')

    def ended(self):
        return self.process.poll() is not None

    def until(self, condition, seconds, what):
        """Waits for a condition; fails if the program ends first."""
        def both():
            self.check(not self.ended(), f'exited with {self.process.returncode} before: {what}')
            return condition()
        return until(both, seconds, what)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def terminate(self):
        """Stops it like a service manager."""
        self.process.send_signal(signal.SIGTERM)

    def finish(self, *codes, within=30):
        """Waits for the program to exit in time with one of these codes."""
        try:
            until(self.ended, within, 'the end of ' + self.line)
        except Failure as error:
            self.process.kill()
            self.join()
            self.check(False, str(error))
        self.join()
        code = self.process.returncode
        self.check(code in codes, f'exit {code} instead of {" or ".join(map(str, codes))}')
        return self

    def join(self):
        self.process.wait()
        for reader in self.readers:
            reader.join(5)

    def says(self, pattern):
        """Checks that its stderr matches a pattern."""
        self.check(re.search(pattern, self.err, re.IGNORECASE), f'nothing like /{pattern}/ on stderr')
        return self

    def check(self, condition, reason):
        """As check(); a failure shows the program's output."""
        if not condition:
            if self.ended():
                self.join()
            shown = [f'{reason}', f'$ {self.line}   ({time.monotonic() - self.began:.1f} s)']
            for stream, text in (('stdout', self.out), ('stderr', self.err)):
                lines = text.splitlines()
                shown += [f'{stream}: {line[:300]}' for line in lines[-12:]] or [f'{stream}: empty']
            raise Failure('\n'.join(shown))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.ended():
            self.process.kill()
        self.join()


class Dialogue:
    """An interactive program; `do` sends it a line and waits for the expected output."""

    def __init__(self, *command):
        self.name = command[0]
        self.text = ''
        self.process = subprocess.Popen(
            ['stdbuf', '-oL', *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while data := os.read(self.process.stdout.fileno(), 65536):
            # Without escape sequences and the control characters of its line editor.
            self.text += re.sub(r'\x1b\[[0-9;]*[A-Za-z]|[\r\x01\x02]', '', data.decode(errors='replace'))

    def rest(self):
        """Waits until it has printed nothing for half a second: input that arrives while it prints can be lost."""
        while True:
            before = len(self.text)
            time.sleep(0.5)
            if len(self.text) == before:
                return

    def do(self, line, pattern, seconds=30):
        self.rest()
        before = len(self.text)
        try:
            self.process.stdin.write((line + '\n').encode())
            self.process.stdin.flush()
            return until(lambda: re.search(pattern, self.text[before:]), seconds, f'{self.name}, {line[:40]}: /{pattern}/')
        except Exception as error:
            tail = '\n'.join(self.text[before:].splitlines()[-12:])
            check(False, f'{error} ({self.name}: {self.process.poll()})\n{tail or self.text[-500:]}')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def run(name, *arguments, exits=(0,), within=30, wrapper=()):
    """Runs one of our programs to its end."""
    codes = exits if isinstance(exits, tuple) else (exits,)
    with Program(name, *arguments, wrapper=wrapper) as program:
        return program.finish(*codes, within=within)


def block(is_blocked):
    """Blocks or unblocks all Bluetooth radios of the machine, like `rfkill block bluetooth`."""
    with open('/dev/rfkill', 'wb') as switch:
        switch.write(struct.pack('<IBBBB', 0, 2, 3, is_blocked, 0))


def random_file(size, name='data'):
    path = os.path.join(FOLDER, name)
    with open(path, 'wb') as file:
        file.write(os.urandom(size))
    return path
