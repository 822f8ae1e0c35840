"""Runs the suite Peers of the test bundle PEERS on each kind of band; words select its stories by parts of their names."""

import os
import re
import subprocess
import sys

import harness
from harness import FOLDER, Radio, check, say

DEVICES = ['gatt', 'gatt:name=narrow,mtu=64,hanging=1', 'gatt:name=late,mtu=64', 'big:name=big', 'big:name=turned,hash=msb', 'echo',
           'flood:name=flood', 'refuser:name=refuser',
           'channel:name=channel', 'beacons:count=4,interval=500', 'extended:name=long,interval=500',
           'central', 'central:name=second']
# A separate band for pairing, with a device for each story, since both sides store keys.
SECURE = ['just', 'again', 'kept', 'reading', 'refusing', 'silent', 'forgetful', 'given-up', 'legacy,sc=0', 'unbound,bond=0',
          'shown,pair=passkey,passkey=042042', 'old-shown,pair=passkey,passkey=7,sc=0', 'typed,pair=keyboard',
          'numbers,pair=numeric', 'doubtful,pair=numeric', 'ported', 'ported-shown,pair=passkey,passkey=042042']
CENTRALS = ['caller', 'unwelcome', 'returning', 'caller-shown,pair=passkey,passkey=042042', 'caller-typed,pair=keyboard',
            'caller-numbers,pair=numeric', 'caller-bearers', 'ported-caller', 'ported-unwelcome']
PAIRING_SUITE = '^Peers\\.Peers/Pairing'
BANDS = ((DEVICES, '^Peers\\.'),
         ([f'secure:name={device}' for device in SECURE] + [f'central:name={device}' for device in CENTRALS],
          PAIRING_SUITE))
# What depends on no command of advertising, scanning or connecting is shown on the extended band alone, unless asked for.
ABOVE_THE_LINK = '^Peers\\.Peers/((Several)?Attributes|Subscribing|Channels|EnhancedBearers|Pairing|LateAnswers/anAnswerThatIsLate)'
WORDS = sys.argv[1:]
# The end of one story in swift-testing's output.
ENDED = re.compile(r'^\S+ +Test (?!run )"?((?:(?! recorded an issue).)*?)"?(?: with \d+ test cases)? (passed|failed|skipped)\b(?: after ([\d.]+) seconds)?')


def run_suite(profile, stories):
    """Runs the suite and counts its stories; a failed one is printed with all its output."""
    filters = [part for word in WORDS or [''] for part in ('--filter', f'(?i){stories}.*{word}')]
    if stories != PAIRING_SUITE:
        filters += ['--skip', PAIRING_SUITE]
    if profile == 'legacy' and not WORDS:
        filters += ['--skip', ABOVE_THE_LINK]
    environment = {**os.environ, 'BLUETOOTH_PEERS': os.path.join(FOLDER, 'control'), 'BLUETOOTH_PEERS_PROFILE': profile,
                   'NO_COLOR': '1'}
    bundle = subprocess.Popen([os.environ['PEERS'], '--testing-library', 'swift-testing', *filters], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = []
    for line in bundle.stdout:
        line = line.rstrip()
        ended = ENDED.match(line)
        if not ended:
            output.append(line)
            continue
        name, result, seconds = ended.groups()
        if result == 'failed':
            harness.failed += 1
            say(f'not ok - peers: {profile}: {name} ({seconds} s)')
            say('\n'.join(f'#   {each}' for each in output if not each.startswith('◇')))
        else:
            harness.passed += 1
            say(f'ok - peers: {profile}: {name} ({seconds} s)')
        output = []
    code = bundle.wait()
    # 69: no story matches on this band.
    if code not in (0, 1, 69):
        harness.failed += 1
        say(f'not ok - peers: {profile}: the bundle ended with {code}')
        say('\n'.join(f'#   {each}' for each in output[-60:]))


check('PEERS' in os.environ, 'PEERS does not name a test bundle')
for profile in ('extended', 'legacy'):
    for devices, stories in BANDS:
        if profile == 'legacy' and stories == PAIRING_SUITE and not WORDS:
            continue
        with Radio(*devices, profile=profile):
            run_suite(profile, stories)
check(harness.passed + harness.failed, 'no story matches')
harness.the_end()
