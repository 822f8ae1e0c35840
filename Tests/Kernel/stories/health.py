"""A radio that fails: the scan of a program comes back by itself, and what happens is printed."""

import os

from harness import Program, Radio, run_story, the_end

# Whether those run too that wait until a scan is suspected, half a minute to three minutes each.
IS_SLOW = bool(os.environ.get('SLOW'))


def reports(program):
    """The number of advertisements printed so far."""
    return sum('"event":"adv"' in line for line in program.out.splitlines())


def comes_back(radio, fault, problem, step, within):
    """A scan after a fault: the problem and the step that helps are told, and advertisements arrive again."""
    with Program('ble', 'scan', '-i', 'hci0', '--for', '300', '--json', '--duplicates') as program:
        program.until(lambda: reports(program) > 5, 30, 'the scan reports')
        radio.ask(fault)
        program.until(lambda: problem in program.err, within, 'the problem is told')
        program.until(lambda: f'recovered after {step}' in program.err, within, 'the step has helped')
        before = reports(program)
        program.until(lambda: reports(program) > before + 5, 30, 'the scan reports again')


def outlives_a_hang(radio, step):
    """A controller that answers nothing until a step begins: the scan of the program outlives it."""
    with Program('ble', 'scan', '-i', 'hci0', '--for', '600', '--json', '--duplicates') as program:
        program.until(lambda: reports(program) > 50, 30, 'the scan reports')
        radio.ask('hang 0')
        program.until(lambda: 'the controller did not answer' in program.err, 120, 'the hang is told')
        program.until(lambda: f'trying to {step}' in program.err, 120, 'the step begins')
        radio.ask('wake 0')
        program.until(lambda: 'recovered' in program.err, 180, 'a step has helped')
        before = reports(program)
        program.until(lambda: reports(program) > before + 5, 30, 'the scan reports again')


with Radio('beacons:count=3') as radio:
    run_story('a hardware error restarts the scan', comes_back, radio, 'fail 0 0x42', 'hardware error (0x42)',
              'restarting the scan', 60)
    if IS_SLOW:
        run_story('a scan that falls silent is restarted', comes_back, radio, 'mute 0 scan',
                  'no advertisement was received', 'restarting the scan', 60)
        run_story('a controller that hears nothing is powered off and on', comes_back, radio, 'mute 0 reset',
                  'no advertisement was received', 'power-cycling the adapter', 120)
        for step in 'power the adapter off and on', 'take the adapter down and up':
            run_story(f'a scan outlives a controller that hangs: {step}', outlives_a_hang, radio, step)
the_end()
