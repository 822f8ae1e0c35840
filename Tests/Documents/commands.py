"""Runs the commands of the pages on the simulated radio."""
import os
import re
import shlex
import signal
import subprocess

from markdown import ROOT

PROGRAMS = ('ble', 'linble')
# What runs as it is, in a folder of its own.
HARMLESS = {*PROGRAMS, 'mkdir', 'printf', 'source', 'mosquitto_pub', 'mosquitto_sub'}
# The first words of a line that make a block one of commands.
FIRST = HARMLESS | {'apt', 'bash', 'cd', 'docker', 'getcap', 'git', 'man', 'picocom', 'podman', 'scp', 'setcap', 'sudo', 'swift', 'systemctl'}
# What runs on is interrupted after this time, and has to end then.
PATIENCE = 4

SHIM = '''#!/bin/bash
# The program on the simulated radio, unless the command chooses one.
case " $* " in *" --simulate "* | *" --world "* | *" decode "* | *" --generate-completion-script "* | *" --version "* | *" --help "*) ;;
*) [ -n "$BLUETOOTH_SIMULATION" ] || set -- "$@" --simulate ;; esac
exec "$BIN/{name}" "$@"
'''
SUDO = '#!/bin/bash\nexec "$@"\n'
SWIFT = '''#!/bin/bash
# swift run PROGRAM, of the programs that are built.
[ "$1" = run ] && shift
[ "$1" = -q ] && shift
[ "$1" = --package-path ] && shift 2
exec "$@"
'''


def words(command):
    """The words of a command after its environment and sudo."""
    rest = command.strip().removeprefix('$ ').split('#')[0].split()
    while rest and (rest[0] == 'sudo' or re.match(r'\w+=', rest[0])):
        rest = rest[1:]
    return rest


def is_commands(block):
    """Whether a block is one of commands."""
    if block.language in ('sh', 'bash', 'console'):
        return True
    if block.language not in (None, ''):
        return False
    first = next((line for line in block.lines if line.strip()), '')
    word = (words(first) or [''])[0]
    path = os.path.join(ROOT, word)
    return first.startswith('$ ') or word in FIRST or word.startswith('.build/') or ('/' in word and os.path.isfile(path))


def may_run(command):
    """Whether a command changes nothing outside its folder; another has to be marked."""
    word = (words(command) or [''])[0]
    return word in HARMLESS or words(command)[:2] == ['swift', 'run'] or word in [f'.build/release/{name}' for name in PROGRAMS]


def steps(block):
    """The commands of a block, each with the output that the page shows for it, or nil."""
    found, is_session = [], any(line.startswith('$ ') for line in block.lines)
    for line in block.lines:
        if is_session and not line.startswith('$ '):
            if found:
                found[-1][1].append(line)
        elif found and (found[-1][0].endswith('\\') or is_open(found[-1][0])):
            found[-1] = (found[-1][0].removesuffix('\\') + ('' if found[-1][0].endswith('\\') else '\n') + line, found[-1][1])
        elif line.strip() and not line.startswith('#'):
            found.append((line.removeprefix('$ '), []))
    return [(command, [line for line in output if line.strip()] if is_session else None) for command, output in found]


def is_open(command):
    """Whether a quotation mark is open at the end."""
    try:
        shlex.split(command, comments=True)
        return False
    except ValueError:
        return True


class Place:
    """A folder that looks like the repository to the commands: with programs on a simulated radio, and a sudo that does nothing."""

    def __init__(self, folder, binaries):
        self.folder = folder
        for name in os.listdir(ROOT):
            if not name.startswith('.') and name != 'README.md':
                os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        shims = os.path.join(folder, '.build', 'release')
        os.makedirs(shims)
        os.symlink('release', os.path.join(folder, '.build', 'debug'))
        for name, text in [('sudo', SUDO), ('swift', SWIFT), *((name, SHIM.replace('{name}', name)) for name in PROGRAMS)]:
            with open(os.path.join(shims, name), 'w') as file:
                file.write(text)
            os.chmod(os.path.join(shims, name), 0o755)
        keep = {key: os.environ[key] for key in ('LANG', 'USER', 'LD_LIBRARY_PATH') if key in os.environ}
        self.environment = {**keep, 'PATH': f'{shims}:{os.environ["PATH"]}', 'BIN': os.path.abspath(binaries), 'HOME': folder,
                            'TERM': 'dumb'}

    def run(self, command):
        """Runs a command; returns its output, and its status or nil if it ended because it was interrupted."""
        times = [int(number) for number in re.findall(r'--for (\d+)\b', command)]
        patience = max([PATIENCE] + [time + PATIENCE for time in times if time <= 10])
        process = subprocess.Popen(['bash', '-c', 'set -o pipefail\n' + command], cwd=self.folder, env=self.environment, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        is_interrupted = False
        try:
            output, _ = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            is_interrupted = True
            os.killpg(process.pid, signal.SIGINT)
            try:
                output, _ = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                return output + '\nit did not end when it was interrupted', -1
        return output, None if is_interrupted else process.returncode


def difference(output, shown):
    """The first line that a page shows and the output does not have in that order; nil if there is none. `…` stands for anything."""
    lines = iter(line.rstrip() for line in output.splitlines())
    for wanted in shown:
        pattern = '.*'.join(re.escape(part) for part in wanted.rstrip().split('…'))
        if wanted.strip() != '…' and not any(re.fullmatch(pattern, line) for line in lines):
            return wanted
    return None
