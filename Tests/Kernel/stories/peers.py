"""Runs the suite Peers of the test bundle PEERS on each kind of band. Words select its stories by parts of their names; the
words extended, extended-attributes, extended-pairing and legacy select a part of them, which together are all."""

import os
import sys

import harness
from harness import FOLDER, Radio, check, run_suite

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
KEEPERS = [f'secure:name={device}' for device in SECURE] + [f'central:name={device}' for device in CENTRALS]
# What depends on no command of advertising, scanning or connecting is shown on the extended band alone, unless asked for.
ABOVE_THE_LINK = '^Peers\\.Peers/((Several)?Attributes|Subscribing|Channels|EnhancedBearers|LateAnswers/anAnswerThatIsLate)'
ALL = '^Peers\\.'
# The kind of controller, the devices, the stories and those of them that are left out.
PARTS = {'extended': ('extended', DEVICES, ALL, (PAIRING_SUITE, ABOVE_THE_LINK)),
         'extended-attributes': ('extended', DEVICES, ABOVE_THE_LINK, ()),
         'extended-pairing': ('extended', KEEPERS, PAIRING_SUITE, ()),
         'legacy': ('legacy', DEVICES, ALL, (PAIRING_SUITE, ABOVE_THE_LINK))}
BY_WORD = [(profile, *rest) for profile in ('extended', 'legacy')
           for rest in ((DEVICES, ALL, (PAIRING_SUITE,)), (KEEPERS, PAIRING_SUITE, ()))]
WORDS = [word for word in sys.argv[1:] if word not in PARTS]
CHOSEN = [PARTS[word] for word in sys.argv[1:] if word in PARTS] or (BY_WORD if WORDS else PARTS.values())


def run_stories(profile, stories, left_out):
    """Runs those of a band."""
    filters = [part for word in WORDS or [''] for part in ('--filter', f'(?i){stories}.*{word}')]
    filters += [part for suite in left_out for part in ('--skip', suite)]
    environment = {'BLUETOOTH_PEERS': os.path.join(FOLDER, 'control'), 'BLUETOOTH_PEERS_PROFILE': profile}
    run_suite(profile, [os.environ['PEERS'], '--testing-library', 'swift-testing', *filters], environment, may_be_empty=True)


check('PEERS' in os.environ, 'PEERS does not name a test bundle')
for profile, devices, stories, left_out in CHOSEN:
    with Radio(*devices, profile=profile):
        run_stories(profile, stories, left_out)
check(harness.passed + harness.failed, 'no story matches')
harness.the_end()
