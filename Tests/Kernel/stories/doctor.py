"""`ble doctor` reports whether Bluetooth LE is usable."""

from harness import Radio, run, run_story, the_end

run_story('without an adapter', lambda: run('ble', 'doctor', exits=69))
with Radio():
    run_story('with an adapter', lambda: run('ble', 'doctor'))
with Radio(dual_mode=True):
    run_story('with a dual-mode adapter', lambda: run('ble', 'doctor'))
the_end()
