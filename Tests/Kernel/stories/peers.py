"""Runs the suite Peers of the test bundle in PEERS on each kind of band; words say which of its stories (parts of names)."""

import os
import re
import subprocess
import sys
import time

import harness
from harness import FOLDER, Radio, check, say

DEVICES = ['gatt', 'gatt:name=narrow,mtu=64,hanging=1', 'big:name=big', 'echo', 'flood:name=flood', 'refuser:name=refuser',
           'channel:name=channel', 'beacons:count=4,interval=500', 'extended:name=long,interval=500',
           'central', 'central:name=second']
WORDS = sys.argv[1:]
# One story of the suite: the name as swift-testing tells it when it has ended.
ENDED = re.compile(r'^\S+ +Test (?!run )"?((?:(?! recorded an issue).)*?)"?(?: with \d+ test cases)? (passed|failed|skipped)\b(?: after ([\d.]+) seconds)?')


def tell(profile):
    """Every story of the suite counts as one of ours; of one that failed everything is shown."""
    filters = [part for word in WORDS for part in ('--filter', f'(?i)^Peers.*{word}')] or ['--filter', '^Peers\\.']
    environment = {**os.environ, 'BLUETOOTH_PEERS': os.path.join(FOLDER, 'control'), 'BLUETOOTH_PEERS_PROFILE': profile,
                   'NO_COLOR': '1'}
    bundle = subprocess.Popen([os.environ['PEERS'], '--testing-library', 'swift-testing', *filters], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    told, last = [], time.monotonic()
    for line in bundle.stdout:
        line = line.rstrip()
        ended = ENDED.match(line)
        if not ended:
            told.append(line)
            continue
        name, result, seconds = ended.groups()
        if result == 'failed':
            harness.failed += 1
            say(f'not ok - peers: {profile}: {name} ({seconds} s)')
            say('\n'.join(f'#   {each}' for each in told if not each.startswith('◇')))
        else:
            harness.passed += 1
            say(f'ok - peers: {profile}: {name} ({seconds} s)')
        told = []
    code = bundle.wait()
    if code not in (0, 1) or harness.passed + harness.failed == 0:
        harness.failed += 1
        say(f'not ok - peers: {profile}: the bundle ended with {code}')
        say('\n'.join(f'#   {each}' for each in told[-60:]))


check('PEERS' in os.environ, 'PEERS does not name a test bundle')
for profile in ('extended', 'legacy'):
    with Radio(*DEVICES, profile=profile):
        tell(profile)
harness.the_end()
