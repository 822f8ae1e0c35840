"""Adapters that come, go, are blocked and powered off: what `ble adapters` tells, and what a scan says when it ends."""

import json
import re

import kernel
from harness import Program, Radio, block, check, run, tell, the_end


def listed(radio):
    lines = [json.loads(line) for line in run('ble', 'adapters', '--json').out.splitlines()]
    check([(each['name'], each['addr'], each['state']) for each in lines] == [('hci0', '00:AA:01:00:00:01', 'off')],
          f'listed: {lines}')
    check('hci0' in run('ble', 'adapters', wrapper=('setpriv', '--reuid=65534', '--bounding-set=-all')).out,
          'not listed without privileges')


def followed(radio):
    with Program('ble', 'adapters', '--watch') as program:
        def told(what):
            program.until(lambda: re.search(what, program.out), 20, what)

        told(r'hci0 \(.*\) added: off')
        kernel.mgmt(0x000D, 0, b'\x01')  # Set LE
        kernel.mgmt(0x0005, 0, b'\x01')  # Set Powered
        told('hci0 .* changed: on')
        block(True)
        told(r'hci0 .* changed: blocked by rfkill \(soft\)')
        before = len(program.out)
        block(False)
        program.until(lambda: 'changed: off' in program.out[before:], 20, 'off')
        radio.ask('unplug 0')
        told('hci0 .* removed')
        name = radio.ask('plug')
        told(f'{name} .*:02\\) added: off')
        program.interrupt()
        program.finish(130, within=5)


def scan_says_why(radio, happen, words):
    with Program('ble', 'scan', '--watch', '--json') as program:
        program.until(lambda: '"adv"' in program.out, 30, 'the scan hears something')
        happen()
        program.finish(69, within=10)
        program.says(words)


with Radio('beacons:count=3') as radio:
    tell('adapters are listed', listed, radio)
    tell('adapters are followed', followed, radio)
with Radio('beacons:count=3') as radio:
    tell('a scan ends with the power', scan_says_why, radio, lambda: kernel.mgmt(0x0005, 0, b'\x00'), 'hci0 is off')
    tell('a scan ends with a radio switch', scan_says_why, radio, lambda: block(True), 'rfkill unblock bluetooth')
    block(False)
    tell('a scan ends with the adapter', scan_says_why, radio, lambda: radio.ask('unplug 0'), 'unplugged')
the_end()
