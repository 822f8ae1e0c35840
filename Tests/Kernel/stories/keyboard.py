"""`ble serve keyboard` as Bumble's host sees it: HID over GATT, which a host uses once it has paired, and still after the next link."""

import json
import os
import string
import subprocess
import time

from harness import FOLDER, Failure, Program, Radio, check, run_story, the_end

ADDRESS = '00:AA:01:00:00:01'
REPORT, REPORT_MAP, REPORT_REFERENCE = '2A4D', '2A4B', '2908'
RELEASED = bytes(8)

# The keys of the United States' layout by their usages, without and with Shift (HID Usage Tables §10).
KEYS = {0x28: '\n\n', 0x2B: '\t\t', 0x2C: '  '}
for first, plain, shifted in ((0x04, string.ascii_lowercase, string.ascii_uppercase), (0x1E, '1234567890', '!@#$%^&*()'),
                              (0x2D, '-=[]\\', '_+{}|'), (0x33, ';\'`,./', ':"~<>?')):
    KEYS |= {first + number: keys for number, keys in enumerate(map(''.join, zip(plain, shifted)))}
EVERY_KEY = ''.join(map(chr, range(0x20, 0x7F))) + '\t'


def text(reports):
    """The text of reports; each character is a key that is pressed, alone or with Shift, and released."""
    typed = ''
    for number, report in enumerate(reports):
        check(len(report) == 8, f'report {number}: {report.hex()}')
        if number % 2:
            check(report == RELEASED, f'report {number} is no release: {report.hex()}')
            continue
        check(report[0] in (0x00, 0x02, 0x20) and report[2] in KEYS and not report[1] and not any(report[3:]),
              f'report {number} is no key: {report.hex()}')
        typed += KEYS[report[2]][report[0] != 0]
    return typed


def fields(report_map):
    """The main items of a report map with data, in bits by the identifier of their report and their kind (HID 1.11 §6.2.2)."""
    found, state, at = {}, {}, 0
    while at < len(report_map):
        prefix, size = report_map[at], (0, 1, 2, 4)[report_map[at] & 3]
        value = int.from_bytes(report_map[at + 1:at + 1 + size], 'little')
        at += 1 + size
        if prefix & 0x0C == 0x04:  # global
            state[prefix & 0xFC] = value
        elif prefix & 0xFC in (0x80, 0x90):  # Input, Output
            key = state[0x84], {0x80: 'input', 0x90: 'output'}[prefix & 0xFC]
            found[key] = found.get(key, 0) + state[0x74] * state[0x94]
    check(at == len(report_map), 'the last item of the report map is cut')
    return found


def refused(radio, line):
    """Checks that the keyboard refuses it on a link that is not encrypted."""
    try:
        answer = radio.ask(line)
    except Failure as failure:
        check('INSUFFICIENT_AUTHENTICATION' in str(failure) or 'INSUFFICIENT_ENCRYPTION' in str(failure), str(failure))
    else:
        check(False, f'{line}: not refused: {answer}')


def events(program, name):
    return [each for each in map(json.loads, program.out.splitlines()) if each['event'] == name]


def enter(program, line):
    program.process.stdin.write(line.encode() + b'\n')
    program.process.stdin.flush()


def receives(radio, program, line):
    """Waits for the reports of a line, and checks that there are no others."""
    reports = []

    def received():
        reports.extend(bytes.fromhex(each) for each in radio.ask('call central got').split(',') if each)
        return len(reports) >= 2 * len(line) + 2
    try:
        program.until(received, 60, f'the reports of {line!r}')
    except Failure as failure:
        program.check(False, f'{failure}; received: {text(reports)!r}')
    check(text(reports) == line + '\n', f'typed: {text(reports)!r}')


def a_host_pairs_and_is_typed_to_on_every_link(radio):
    options = ('--json', '-v', '-i', ADDRESS, '-n', 'Typist', '--bonds', os.path.join(FOLDER, 'bonds'))
    with Program('ble', 'serve', 'keyboard', *options, stdin=subprocess.PIPE) as program:
        program.until(lambda: events(program, 'serving'), 30, 'the keyboard advertises')
        address, data = radio.ask('call central scan Typist').split()
        check(address == ADDRESS, f'the address: {address}')
        check('03031218' in data and '0319c103' in data, f'no HID service, or not the appearance of a keyboard: {data}')
        radio.ask(f'call central connect {address} public own=public')
        found = radio.ask('call central find')
        for service in ('Human Interface Device', 'Battery', 'Device Information'):
            check(service in found, f'no service {service}: {found}')

        # Everybody may know that it is a keyboard; what it types is for hosts that have paired.
        for uuid in (REPORT_MAP, REPORT, '2A4A', '2A4E', '2A22'):
            refused(radio, f'call central read {uuid}')
        refused(radio, f'call central descriptors {REPORT} {REPORT_REFERENCE}')
        refused(radio, f'call central subscribe {REPORT}')
        check(radio.ask('call central pair').startswith('encrypted 1'), 'the link is not encrypted')

        for uuid, value in (('2A4A', '11010003'), ('2A4E', '01'), ('2A19', '64'), ('2A29', b'Linux'.hex())):
            answer = radio.ask(f'call central read {uuid}')
            check(answer == value, f'{uuid}: {answer} instead of {value}')
        check(len(radio.ask('call central read 2A50')) == 14, 'the length of the PnP ID')
        declared = fields(bytes.fromhex(radio.ask(f'call central read {REPORT_MAP}')))
        check(declared == {(1, 'input'): 64, (1, 'output'): 8}, f'the reports in the map: {declared}')
        # Read and Notify for the first, Read, Write and Write Without Response for the second; both are of report 1.
        references = radio.ask(f'call central descriptors {REPORT} {REPORT_REFERENCE}')
        check(references == '12:0101 0e:0102', f'the references: {references}')

        enter(program, 'Before there is a host')
        radio.ask(f'call central subscribe {REPORT}')
        receives(radio, program, 'Before there is a host')
        enter(program, EVERY_KEY)
        receives(radio, program, EVERY_KEY)

        # The bond keeps the subscription, and a line waits for the host.
        radio.ask('call central close')
        program.until(lambda: 'link ended' in program.err, 10, 'the program knows that the link has ended')
        enter(program, 'While it is away, 1 + 1 = 2?')
        radio.ask(f'call central connect {address} public own=public')
        radio.ask(f'call central listen {REPORT}')
        time.sleep(2)
        check(radio.ask('call central got') == '', 'keys are sent on a link that is not encrypted')
        radio.ask('call central encrypt')
        receives(radio, program, 'While it is away, 1 + 1 = 2?')
        enter(program, 'Again!')
        receives(radio, program, 'Again!')

        program.process.stdin.close()
        program.finish(0, within=20)
        typed = [each['text'] for each in events(program, 'typed')]
        check(typed == ['Before there is a host', EVERY_KEY, 'While it is away, 1 + 1 = 2?', 'Again!'], f'printed: {typed}')


with Radio('central') as band:
    run_story('a host pairs, and is typed to on every link', a_host_pairs_and_is_typed_to_on_every_link, band)
the_end()
