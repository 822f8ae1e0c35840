"""Runs the command in CONFORMANCE on each kind of band with two controllers; BAND names the band."""

import os
import subprocess

from harness import Btvirt, Radio, check, run_story, the_end

SECONDS = float(os.environ.get('CONFORMANCE_SECONDS', '900'))


def conforms(band, controllers):
    with controllers():
        code = subprocess.run(['bash', '-c', os.environ['CONFORMANCE']], env={**os.environ, 'BAND': band},
                              stdin=subprocess.DEVNULL, timeout=SECONDS).returncode
    check(code == 0, f'exit {code}')


check(os.environ.get('CONFORMANCE'), 'CONFORMANCE does not name a command')
run_story('radio, extended', conforms, 'radio-extended', lambda: Radio(n=2, profile='extended'))
run_story('radio, legacy', conforms, 'radio-legacy', lambda: Radio(n=2, profile='legacy'))
run_story('btvirt', conforms, 'btvirt', lambda: Btvirt(2))
the_end()
