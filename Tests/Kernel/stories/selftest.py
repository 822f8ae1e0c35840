"""ble selftest on real kernels: one adapter, two, one that fails, and whatever is put back."""

import json
import os
import re

import kernel
from harness import FOLDER, NOBODY, Program, Radio, check, executable, open_to_all, run, run_story, the_end, until

# Whether the legacy commands are tested as thoroughly as the extended ones.
IS_SLOW = bool(os.environ.get('SLOW'))


def verdicts(program):
    """The results by test."""
    lines = [json.loads(line) for line in program.out.splitlines()]
    return {line['test']: line for line in lines if line['event'] == 'test'}


def figures(program):
    """What is printed of a story that fails."""
    return '\n'.join(f'{line["verdict"]} {name}: {line["figure"] or line["reason"]} ({line["seconds"]} s)'
                     for name, line in verdicts(program).items())


def all_pass(program, *not_supported):
    for name, line in verdicts(program).items():
        wanted = 'notSupported' if name in not_supported else 'passed'
        program.check(line['verdict'] == wanted, f'{name} is {line["verdict"]}\n{figures(program)}')


def settings():
    return [kernel.read_info(index)[1] for index in sorted(kernel.adapters())]


def is_as_before(radio):
    """Both adapters are off, have their former settings, and advertise nothing."""
    until(lambda: not any(kernel.adapters().values()), 10, 'the adapters are off again')
    check(settings() == before, f'the settings are {settings()}, and were {before}')
    for name in ('hci0', 'hci1'):
        check(not (stat := radio.stat(name)) or not any(stat.values()), f'{name}: {stat}')


def one_passes(radio, *not_supported):
    only = [] if IS_SLOW else ['--only', 'controller.answers', 'scan.active', 'advertise', 'advertise.extended', 'power']
    with run('ble', 'selftest', '-i', 'hci0', '--json', *only, within=60, exits=(0, 1)) as program:
        all_pass(program, *not_supported)
    is_as_before(radio)


def two_pass(radio, *not_supported):
    report = os.path.join(FOLDER, 'report.json')
    if os.path.exists(report):
        os.unlink(report)
    arguments = ['selftest', '-i', 'hci0', '--with', 'hci1', '--json', '--report', report]
    with run('ble', *arguments, within=120, exits=(0, 1)) as program:
        all_pass(program, *not_supported)
    is_as_before(radio)
    text = open(report).read()
    check(not re.search('([0-9A-F]{2}:){5}', text), f'the report has an address: {text}')
    check(len(json.loads(text)['controllers']) == 2, text)
    run('ble', *arguments, exits=73).says('exists')


def interrupted(radio):
    """Ctrl-C while there is a link, and advertising."""
    with Program('ble', 'selftest', '-i', 'hci0', '--with', 'hci1', '--json', '--only', 'discover', 'latency') as program:
        program.until(lambda: '"test":"discover"' in program.out, 60, 'the link is made')
        program.interrupt()
        program.finish(130)
        program.check('could not restore' not in program.out, 'all is put back')
    is_as_before(radio)


def refused(radio):
    """A user without permissions changes nothing, and is told what is missing."""
    open_to_all(executable('ble'))
    run('ble', 'selftest', '-i', 'hci0', exits=77, wrapper=NOBODY).says('setcap')
    is_as_before(radio)


def a_deaf_one_fails(radio):
    """A controller that reports no advertisement until it is reset, which powering on does not do: the rest passes."""
    only = ('controller.answers', 'scan.active', 'power')
    with Program('ble', 'selftest', '-i', 'hci0', '--json', '--only', *only) as program:
        program.until(lambda: '"test":"controller"' in program.out, 30, 'the controller has answered')
        radio.ask('mute 0 reset')
        program.finish(1, within=60)
        results = verdicts(program)
        program.check(results['scan.active']['verdict'] == 'failed', figures(program))
        program.check(results['power']['verdict'] == 'passed', figures(program))
    is_as_before(radio)


def unplugged(radio):
    """The second adapter goes in the middle: the rest of the first one's tests are run."""
    only = ('scan.active', 'connect', 'uart', 'power')
    with Program('ble', 'selftest', '-i', 'hci0', '--with', 'hci1', '--json', '--only', *only) as program:
        program.until(lambda: '"test":"scan.active"' in program.out, 60, 'the scan has passed')
        radio.ask('unplug 1')
        program.finish(1, within=120)
        results = verdicts(program)
        program.check(results['connect']['verdict'] == 'failed', figures(program))
        program.check(results['power']['verdict'] == 'passed', figures(program))
        program.check('it is no longer there' in results['restore']['reason'], figures(program))


with Radio('beacons:count=2', n=2) as radio:
    before = settings()
    run_story('two adapters pass with extended commands', two_pass, radio)
    run_story('Ctrl-C puts back what was changed', interrupted, radio)
    run_story('a user without permissions is refused', refused, radio)
    run_story('a controller that hears nothing fails', a_deaf_one_fails, radio)
    run_story('an adapter is unplugged', unplugged, radio)
with Radio('beacons:count=2', n=2, profile='legacy') as radio:
    before = settings()
    run_story('one adapter passes with legacy commands', one_passes, radio, 'advertise.extended')
    if IS_SLOW:
        run_story('two adapters pass with legacy commands', two_pass, radio, 'advertise.extended', 'phy')
the_end()
