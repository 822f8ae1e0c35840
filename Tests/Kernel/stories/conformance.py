"""Runs the command in CONFORMANCE on each kind of band, with two controllers; BAND tells it which."""

import os
import subprocess

from harness import Btvirt, Radio, check, tell, the_end

SECONDS = float(os.environ.get('CONFORMANCE_SECONDS', '900'))


def conforms(band, controllers):
    with controllers():
        code = subprocess.run(['bash', '-c', os.environ['CONFORMANCE']], env={**os.environ, 'BAND': band},
                              stdin=subprocess.DEVNULL, timeout=SECONDS).returncode
    check(code == 0, f'exit {code}')


check(os.environ.get('CONFORMANCE'), 'CONFORMANCE names no command')
tell('radio, extended', conforms, 'radio-extended', lambda: Radio(n=2, profile='extended'))
tell('radio, legacy', conforms, 'radio-legacy', lambda: Radio(n=2, profile='legacy'))
tell('btvirt', conforms, 'btvirt', lambda: Btvirt(2))
the_end()
