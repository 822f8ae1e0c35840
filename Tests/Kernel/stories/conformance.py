"""Runs the command in CONFORMANCE on each kind of band with two controllers; BAND names the band, a word selects it."""

import os
import sys

import harness
from harness import Btvirt, Radio, check, run_suite, the_end

BANDS = {'radio-extended': lambda: Radio(n=2, profile='extended'), 'radio-legacy': lambda: Radio(n=2, profile='legacy'),
         'btvirt': lambda: Btvirt(2)}
WORDS = sys.argv[1:]

check(os.environ.get('CONFORMANCE'), 'CONFORMANCE does not name a command')
for band, controllers in BANDS.items():
    if not WORDS or any(word in band for word in WORDS):
        with controllers():
            run_suite(band, ['bash', '-c', os.environ['CONFORMANCE']], {'BAND': band})
check(harness.passed + harness.failed, 'no test matches')
the_end()
