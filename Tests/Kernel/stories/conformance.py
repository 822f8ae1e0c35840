"""Runs the command in CONFORMANCE on each kind of band, with two controllers; BAND tells it which."""

import os
import subprocess

from harness import Btvirt, Radio, check, tell, the_end

SECONDS = float(os.environ.get('CONFORMANCE_SECONDS', '600'))


def conforms(band):
    code = subprocess.run(['bash', '-c', os.environ['CONFORMANCE']], env={**os.environ, 'BAND': band},
                          stdin=subprocess.DEVNULL, timeout=SECONDS).returncode
    check(code == 0, f'exit {code}')


for profile in ('extended', 'legacy'):
    with Radio(n=2, profile=profile):
        tell(f'radio, {profile}', conforms, f'radio-{profile}')
with Btvirt(2):
    tell('btvirt', conforms, 'btvirt')
the_end()
