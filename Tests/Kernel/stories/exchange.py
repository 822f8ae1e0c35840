"""The README's first command: a LINBLE answers one packet of the sample protocol."""

import kernel
from harness import Radio, check, run, tell, the_end


def exchange():
    program = run('linble', '-i', 'hci0', '-n', 'LINBLE-Z1', 'exchange', '0100')
    for line in ('Tx | 0100', 'Rx | 0140'):
        program.check(line in map(str.strip, program.out.splitlines()), f'no line "{line}" on stdout')


def comes_up_with_le_off():
    """What makes a dual-mode chip different, seen from the kernel's side; the next story is the same with our program."""
    kernel.up(0)
    supported, current = kernel.read_info(0)
    check({'br/edr', 'le'} <= supported, f'not dual mode: it supports {supported}')
    check('powered' in current and 'le' not in current, f'not powered with LE off: {current}')


for profile in ('extended', 'legacy'):
    with Radio('linble:split=1', 'beacons:count=3', profile=profile):
        tell(f'with a chip of the {profile} kind', exchange)
with Radio('linble', dual_mode=True):
    tell('a dual-mode chip comes up with LE off', comes_up_with_le_off)
    tell('with a dual-mode chip', exchange)
with Radio('linble', has_address=False):
    tell('with a chip that has no address', exchange)
the_end()
