"""`linble exchange`: a LINBLE responds to one packet of the sample protocol."""

import kernel
from harness import Radio, check, run, run_story, the_end


def exchange():
    program = run('linble', '-i', 'hci0', '-n', 'LINBLE-Z1', 'exchange', '0100')
    for line in ('Tx | 0100', 'Rx | 0140'):
        program.check(line in map(str.strip, program.out.splitlines()), f'no line "{line}" on stdout')


def comes_up_with_le_off():
    """The kernel's view of a dual-mode controller; the next story uses it with our program."""
    kernel.up(0)
    supported, current = kernel.read_info(0)
    check({'br/edr', 'le'} <= supported, f'not dual mode: it supports {supported}')
    check('powered' in current and 'le' not in current, f'not powered with LE off: {current}')


for profile in ('extended', 'legacy'):
    with Radio('linble:split=1', 'beacons:count=3', profile=profile):
        run_story(f'with a controller of the {profile} kind', exchange)
with Radio('linble', dual_mode=True):
    run_story('a dual-mode controller starts with LE off', comes_up_with_le_off)
    run_story('with a dual-mode controller', exchange)
with Radio('linble', has_address=False):
    run_story('with a controller without an address', exchange)
the_end()
