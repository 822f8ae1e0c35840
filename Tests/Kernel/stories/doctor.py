"""The doctor says whether Bluetooth can be used here."""

from harness import Radio, run, tell, the_end

tell('without an adapter', lambda: run('ble', 'doctor', exits=69))
with Radio():
    tell('with an adapter', lambda: run('ble', 'doctor'))
with Radio(dual_mode=True):
    tell('with a dual-mode adapter', lambda: run('ble', 'doctor'))
the_end()
