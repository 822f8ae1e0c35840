"""Adapters that are added, removed, blocked and powered off: the output of `ble adapters`, and the error of a scan."""

import json
import re

import kernel
from harness import Program, Radio, block, check, run, run_story, the_end


def listed(radio):
    lines = [json.loads(line) for line in run('ble', 'adapters', '--json').out.splitlines()]
    check([(each['name'], each['address'], each['state']) for each in lines] == [('hci0', '00:AA:01:00:00:01', 'off')],
          f'listed: {lines}')
    check('hci0' in run('ble', 'adapters', wrapper=('setpriv', '--reuid=65534', '--bounding-set=-all')).out,
          'not listed without privileges')


def followed(radio):
    with Program('ble', 'adapters', '--watch') as program:
        def prints(pattern):
            program.until(lambda: re.search(pattern, program.out), 20, pattern)

        prints(r'hci0 \(.*\) added: off')
        kernel.mgmt(0x000D, 0, b'\x01')  # Set LE
        kernel.mgmt(0x0005, 0, b'\x01')  # Set Powered
        prints('hci0 .* changed: on')
        block(True)
        prints(r'hci0 .* changed: blocked by rfkill \(soft\)')
        before = len(program.out)
        block(False)
        program.until(lambda: 'changed: off' in program.out[before:], 20, 'off')
        radio.ask('unplug 0')
        prints('hci0 .* removed')
        name = radio.ask('plug')
        prints(f'{name} .*:02\\) added: off')
        program.interrupt()
        program.finish(130, within=5)


def scan_says_why(radio, happen, words):
    with Program('ble', 'scan', '--watch', '--json') as program:
        program.until(lambda: '"adv"' in program.out, 30, 'the scan reports a device')
        happen()
        program.finish(69, within=10)
        program.says(words)


with Radio('beacons:count=3') as radio:
    run_story('adapters are listed', listed, radio)
    run_story('adapters are watched', followed, radio)
with Radio('beacons:count=3') as radio:
    run_story('powering off ends a scan', scan_says_why, radio, lambda: kernel.mgmt(0x0005, 0, b'\x00'), 'hci0 is off')
    run_story('rfkill ends a scan', scan_says_why, radio, lambda: block(True), 'rfkill unblock bluetooth')
    block(False)
    run_story('unplugging the adapter ends a scan', scan_says_why, radio, lambda: radio.ask('unplug 0'), 'unplugged')
the_end()
