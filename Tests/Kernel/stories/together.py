"""Several programs on one adapter: servers beside each other, and what a killed program leaves."""

import kernel
from harness import Program, Radio, check, run, run_story, the_end

ADDRESS = '00:AA:01:00:00:01'
LEFT = 'no running program of this library'


def served():
    """Starts a server, and waits until it advertises."""
    program = Program('ble', 'serve', '--json', '-i', ADDRESS, 'battery')
    program.until(lambda: '"serving"' in program.out, 30, 'the device advertises')
    return program


def doctor():
    """The lines that the doctor warns with."""
    return [line for line in run('ble', 'doctor').out.splitlines() if line.startswith('WARN')]


def an_advertisement_takes_no_links_from_a_server(radio):
    with served() as server, Program('ble', 'advertise', '-i', ADDRESS, '-n', 'plain') as other:
        other.until(lambda: 'advertises' in other.out, 30, 'it advertises')
        other.says('incoming connections are left to another program')
        radio.ask(f'call central connect {ADDRESS} public')
        radio.ask('call central find')
        check(len(radio.ask('call central read 2A19')) == 2, 'the level is not read')
        radio.ask('call central close')
        server.until(lambda: '"disconnected"' in server.out, 20, 'the end of the link')
        with served() as second:
            second.says('another program serves on this adapter too')
            for program, code in ((second, 130), (other, 130), (server, 130)):
                program.interrupt()
                program.finish(code, within=10)


def what_a_killed_server_leaves_is_named_and_cleared(radio):
    with served() as first, served() as killed:
        killed.process.kill()
        killed.join()
        with served() as again:
            again.says(r'the advertising instances \[2\] belong to no running program')
            lines = doctor()
            check(len(lines) == 1 and 'advertising instance 2,' in lines[0] and LEFT in lines[0], f'the doctor: {lines}')
            program = run('ble', 'advertise', '--clear', '-i', ADDRESS)
            program.check(program.out == 'hci0: 1 advertisement removed\n', 'the output')
            check(not doctor(), f'the doctor: {doctor()}')
            # The others go on.
            for program in (first, again):
                program.interrupt()
                program.finish(130, within=10)


def the_scan_of_a_killed_program_is_named_and_ended(radio):
    with Program('ble', 'scan', '--json', '-i', ADDRESS) as scan:
        scan.until(lambda: radio.stat()['scan'] == 1, 30, 'it scans')
        check(not doctor(), f'the doctor: {doctor()}')
        scan.process.kill()
        scan.join()
    lines = doctor()
    check(len(lines) == 1 and 'active scan' in lines[0] and LEFT in lines[0], f'the doctor: {lines}')
    run('ble', 'scan', '--for', '1', '-i', ADDRESS)
    check(not doctor(), f'the doctor: {doctor()}')
    check(kernel.mgmt(0x0024, 0, b'\x06')[0] == 0x0B, 'the kernel believes in a discovery')


def a_switch_of_privacy_is_named(radio):
    with served() as server:
        for mode in ('on', 'off'):
            run('ble', 'scan', '--for', '1', '-i', ADDRESS, '--privacy', mode)
        server.until(lambda: 'has switched the private addresses of hci0 on' in server.err, 20, 'the notice')
        server.interrupt()
        server.finish(130, within=10)


with Radio('central') as radio:
    kernel.mgmt(0x000D, 0, b'\x01')  # Set LE
    for story in (an_advertisement_takes_no_links_from_a_server, what_a_killed_server_leaves_is_named_and_cleared,
                  the_scan_of_a_killed_program_is_named_and_ended, a_switch_of_privacy_is_named):
        run_story(story.__name__.replace('_', ' '), story, radio)
the_end()
