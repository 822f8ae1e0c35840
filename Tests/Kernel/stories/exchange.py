"""The README's first command: a LINBLE answers one packet of the sample protocol."""

import subprocess
import time

import kernel
from harness import Radio, check, executable, run, tell, the_end


def exchange():
    program = run('linble', '-i', 'hci0', '-n', 'LINBLE-Z1', 'exchange', '0100')
    for line in ('Tx | 0100', 'Rx | 0140'):
        program.check(line in map(str.strip, program.out.splitlines()), f'no line "{line}" on stdout')


def a_device_that_goes_on():
    """The answer is a stream of samples: what came in time is shown, and that it was not all."""
    limit = 15
    began = time.monotonic()
    program = run('linble', '-i', 'hci0', '-n', 'LINBLE-Z1', '-t', str(limit), 'exchange', '--gap', '5', '02043C',
                  exits=75, within=100)
    sent, received = program.out.splitlines()
    program.check(sent == 'Tx | 02043C' and received.startswith('Rx | 0144') and len(received) > 50, 'not the samples that came')
    program.check(time.monotonic() - began >= limit, 'it ended early')
    program.says('still sending')


def one_packet_meant():
    program = run('linble', '-i', 'hci0', '-n', 'LINBLE-Z1', '-t', '10', 'exchange', '01', '00', exits=75, within=100)
    program.check(program.out.splitlines() == ['Tx | 01'], 'more than the first packet was sent')
    program.says("exchange '01 00'")


def a_full_disk():
    with open('/dev/full', 'w') as full:
        done = subprocess.run([executable('linble'), '-i', 'hci0', '-n', 'LINBLE-Z1', 'exchange', '0100'],
                              stdout=full, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 74, f'exit {done.returncode} instead of 74: {done.stderr}')
    check(done.stderr.count('Cannot write the results: No space left on device') == 1, f'not said once: {done.stderr}')


def comes_up_with_le_off():
    """What makes a dual-mode chip different, seen from the kernel's side; the next story is the same with our program."""
    kernel.up(0)
    supported, current = kernel.read_info(0)
    check({'br/edr', 'le'} <= supported, f'not dual mode: it supports {supported}')
    check('powered' in current and 'le' not in current, f'not powered with LE off: {current}')


for profile in ('extended', 'legacy'):
    with Radio('linble:split=1', 'beacons:count=3', profile=profile):
        tell(f'with a chip of the {profile} kind', exchange)
with Radio('linble:samples=100000,period=0.2'):
    tell('several arguments are several packets', one_packet_meant)
    tell('a device that goes on sending is cut off at --timeout', a_device_that_goes_on)
    tell('results that cannot be written are a failure', a_full_disk)
with Radio('linble', dual_mode=True):
    tell('a dual-mode chip comes up with LE off', comes_up_with_le_off)
    tell('with a dual-mode chip', exchange)
with Radio('linble', has_address=False):
    tell('with a chip that has no address', exchange)
the_end()
