"""`linble exchange`: a LINBLE responds to one packet of the sample protocol."""

import subprocess
import time

import kernel
from harness import Radio, check, executable, run, run_story, the_end


def exchange():
    program = run('linble', '-i', 'hci0', '-n', 'LINBLE-Z1', 'exchange', '0100')
    for line in ('Tx | 0100', 'Rx | 0140'):
        program.check(line in map(str.strip, program.out.splitlines()), f'no line "{line}" on stdout')


def an_incomplete_response():
    """The response is a stream of samples: those received in time are printed, and an error."""
    limit = 15
    began = time.monotonic()
    program = run('linble', '-i', 'hci0', '-n', 'LINBLE-Z1', '-t', str(limit), 'exchange', '--gap', '5', '02043C',
                  exits=75, within=100)
    sent, received = program.out.splitlines()
    program.check(sent == 'Tx | 02043C' and received.startswith('Rx | 0144') and len(received) > 50, 'not the received samples')
    program.check(time.monotonic() - began >= limit, 'it ended too early')
    program.says('still sending')


def missing_quotes():
    program = run('linble', '-i', 'hci0', '-n', 'LINBLE-Z1', '-t', '10', 'exchange', '01', '00', exits=75, within=100)
    program.check(program.out.splitlines() == ['Tx | 01'], 'more than the first packet was sent')
    program.says("exchange '01 00'")


def a_full_disk():
    with open('/dev/full', 'w') as full:
        done = subprocess.run([executable('linble'), '-i', 'hci0', '-n', 'LINBLE-Z1', 'exchange', '0100'],
                              stdout=full, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 74, f'exit {done.returncode} instead of 74: {done.stderr}')
    check(done.stderr.count('Cannot write the results: No space left on device') == 1, f'not printed once: {done.stderr}')


def comes_up_with_le_off():
    """The kernel's view of a dual-mode controller; the next story uses it with our program."""
    kernel.up(0)
    supported, current = kernel.read_info(0)
    check({'br/edr', 'le'} <= supported, f'not dual mode: it supports {supported}')
    check('powered' in current and 'le' not in current, f'not powered with LE off: {current}')


for profile in ('extended', 'legacy'):
    with Radio('linble:split=1', 'beacons:count=3', profile=profile):
        run_story(f'with a controller of the {profile} kind', exchange)
with Radio('linble:samples=100000,period=0.2'):
    run_story('several arguments are several packets', missing_quotes)
    run_story('--timeout ends an incomplete response', an_incomplete_response)
    run_story('a failed write of results is a failure', a_full_disk)
with Radio('linble', dual_mode=True):
    run_story('a dual-mode controller starts with LE off', comes_up_with_le_off)
    run_story('with a dual-mode controller', exchange)
with Radio('linble', has_address=False):
    run_story('with a controller without an address', exchange)
the_end()
