"""The bridge as a service: the unit of Examples/systemd, as it is, under systemd itself in a PID namespace."""

import os
import shutil
import subprocess

import serial

from harness import FOLDER, Radio, check, executable, run_story, the_end, until

UNITS = '/etc/systemd/system'
UNIT = 'linble-bridge@LINBLE-Z1'
PORT = '/run/linble-bridge/LINBLE-Z1/tty'
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..', 'Examples')


class Manager:
    """systemd with nothing but our unit: the guest's file system is discarded with the guest."""

    def __enter__(self):
        shutil.copy(executable('linble'), '/usr/bin/linble')
        shutil.copy(os.path.join(EXAMPLES, 'systemd', 'linble-bridge@.service'), UNITS)
        # Of the machine's own start nothing is needed.
        os.makedirs(f'{UNITS}/linble-bridge@.service.d', exist_ok=True)
        for name, text in ('story.target', 'AllowIsolate=yes'), ('linble-bridge@.service.d/story.conf', ''):
            with open(f'{UNITS}/{name}', 'w') as file:
                file.write(f'[Unit]\nDefaultDependencies=no\n{text}\n')
        if not os.path.ismount('/sys/fs/cgroup'):
            subprocess.run(['mount', '-t', 'cgroup2', 'none', '/sys/fs/cgroup'], check=True)
        self.log = open(os.path.join(FOLDER, 'systemd.log'), 'w')
        self.process = subprocess.Popen(
            ['unshare', '--pid', '--fork', '--mount', '--mount-proc', '--kill-child', '/lib/systemd/systemd', '--system',
             '--unit=story.target', '--log-target=console', '--show-status=0'],
            env={'container': 'story', 'PATH': os.environ['PATH']}, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        until(lambda: self.ask('is-system-running').stdout.strip() == 'running', 60, 'systemd runs')
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def ask(self, *words):
        """systemctl, inside."""
        own = subprocess.run(['pgrep', '-P', str(self.process.pid)], capture_output=True, text=True).stdout.split()
        return subprocess.run(['nsenter', '-t', (own or ['1'])[0], '-p', '-m', '-r', '-w', 'systemctl', '--no-pager', *words],
                              capture_output=True, text=True)

    def property(self, name):
        return self.ask('show', '-P', name, UNIT).stdout.strip()

    def await_link(self, what):
        until(lambda: self.property('StatusText').startswith('online with'), 60, what)


def exchange():
    with serial.Serial(PORT, timeout=10) as port:
        port.write(bytes.fromhex('0100'))
        answer = port.read(2)
        check(answer == bytes.fromhex('0140'), f'the answer is {answer.hex()}')


def the_unit_runs():
    with Manager() as manager:
        started = manager.ask('start', UNIT)
        check(started.returncode == 0, started.stderr)
        check(os.path.lexists(PORT), 'ready, and there is no port')
        manager.await_link('the link')
        exchange()
        pid = manager.property('MainPID')
        manager.ask('kill', '--signal=KILL', UNIT)
        until(lambda: manager.property('MainPID') not in ('0', pid), 60, 'it is started again')
        manager.await_link('the link of the next one')
        exchange()
        stopped = manager.ask('stop', UNIT)
        check(stopped.returncode == 0 and manager.property('Result') == 'success', f'the result is {manager.property("Result")}')
        check(not os.path.lexists(PORT), 'the port remains')


with Radio('linble'):
    run_story('the unit runs, restarts and stops', the_unit_runs)
the_end()
