"""`ble advertise` and `ble serve` on one controller, used by gatttool on another and by Bumble's central."""

import json
import re
import subprocess

import kernel
from harness import FOLDER, Dialogue, Program, Radio, block, check, run, run_story, the_end, until

ADDRESS = '00:AA:01:00:00:01'


def power(index):
    kernel.mgmt(0x000D, index, b'\x01')  # Set LE
    kernel.mgmt(0x0005, index, b'\x01')  # Set Powered


def gatttool(*words):
    """Runs gatttool on the other controller, which connects each time, and returns its output."""
    command = ['gatttool', '-i', 'hci1', '-b', ADDRESS, '-t', 'public', *words]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    check(ended.returncode == 0 and 'rror' not in ended.stderr, f'{" ".join(command)}: {ended.stdout}{ended.stderr}')
    return ended.stdout


def served(radio, *profile):
    """Starts a served device, and waits until it advertises."""
    program = Program('ble', 'serve', '--json', '-i', ADDRESS, *profile)
    program.until(lambda: '"serving"' in program.out, 30, 'the device advertises')
    return program


def events(program):
    return [json.loads(line) for line in program.out.splitlines()]


def gatttool_uses_it(radio):
    power(1)
    with open(f'{FOLDER}/note.json', 'w') as file:
        json.dump({'name': 'note', 'services': [{'uuid': 'FFF0', 'characteristics': [
            {'uuid': 'FFF1', 'properties': ['read', 'write', 'notify'], 'value': '0102'}]}]}, file)
    with served(radio, f'{FOLDER}/note.json') as program:
        services = gatttool('--primary')
        check('0000fff0-0000-1000-8000-00805f9b34fb' in services, f'the service is not found: {services}')
        found = re.search(r'char value handle = (0x[0-9a-f]+), uuid = 0000fff1', gatttool('--characteristics'))
        check(found, 'the characteristic is not found')
        value = found[1]
        check('01 02' in gatttool('--char-read', '-a', value), 'its value is not read')
        long = bytes(range(18)).hex()
        check('written successfully' in gatttool('--char-write-req', '-a', value, '-n', long), 'it is not written')
        check(bytes(range(18)).hex(' ') in gatttool('--char-read', '-a', value), 'the written value is not read')
        # The kernel keeps a link for two seconds, so that a gatttool inherits the previous one's.
        program.until(lambda: program.out.count('"disconnected"') == program.out.count('"connected"'), 20, 'the end')
        printed = [each['event'] for each in events(program)]
        check('connected' in printed and printed.count('read') == 2 and printed.count('write') == 1, f'printed: {printed}')
        program.interrupt()
        program.finish(130, within=10)


def gatttool_subscribes(radio):
    power(1)
    with served(radio, 'battery') as program:
        handles = re.findall(r'handle = (0x[0-9a-f]+), uuid = 00002902', gatttool('--char-desc'))
        check(handles, 'no configuration descriptor')
        command = ['gatttool', '-i', 'hci1', '-b', ADDRESS, '-t', 'public', '--char-write-req', '-a', handles[-1], '-n', '0100',
                   '--listen']
        with open(f'{FOLDER}/listen', 'w+') as output:
            listener = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

            def count():
                output.seek(0)
                return output.read().count('Notification handle')

            try:
                program.until(lambda: count() >= 3, 60, 'three notifications')
            finally:
                listener.kill()
                listener.wait()
        program.until(lambda: '"subscribed"' in program.out, 5, 'the subscription is printed')
        program.interrupt()
        program.finish(130, within=10)


def gatttool_writes_a_long_value_and_confirms(radio):
    power(1)
    with open(f'{FOLDER}/long.json', 'w') as file:
        json.dump({'name': 'long', 'services': [{'uuid': 'FFF0', 'characteristics': [
            {'uuid': 'FFF1', 'properties': ['read', 'write', 'indicate'], 'value': '0102'}]}]}, file)
    long = bytes(range(200))
    with served(radio, f'{FOLDER}/long.json') as program:
        for number in (1, 2):
            with Dialogue('gatttool', '-i', 'hci1', '-b', ADDRESS, '-t', 'public', '-I') as tool:
                tool.do('connect', 'Connection successful')
                value = tool.do('characteristics', r'char value handle: (0x[0-9a-f]+), uuid: 0000fff1')[1]
                configuration = f'0x{int(value, 16) + 1:04x}'
                tool.do(f'char-write-req {configuration} 0200', 'written successfully')
                # Longer than the ATT_MTU; the written value is indicated.
                tool.do(f'char-write-req {value} {long.hex()}', f'Indication +handle = {value} value: {long[:20].hex(" ")}')
                tool.do(f'char-read-hnd {value}', long.hex(' '))
            printed = events(program)
            check([each['hex'] for each in printed if each['event'] == 'write'] == [long.hex().upper()] * number,
                  f'printed: {printed}')
            program.until(lambda: program.out.count('"disconnected"') == number, 20, 'the end')
        program.interrupt()
        program.finish(130, within=10)


def a_link_is_measured(radio):
    with served(radio, 'bench') as program:
        # Bumble's central writes nonsense, which changes nothing.
        radio.ask(f'call central connect {ADDRESS} public')
        radio.ask('call central find')
        for number in ('0002', '0003'):
            for value in ('02', 'ff' * 20):
                radio.ask(f'call central command 8D3A{number}-52C1-4F7E-A16B-4E907CF2D5B8 {value}')
        radio.ask('call central close')
        program.until(lambda: '"disconnected"' in program.out, 20, 'its link has ended')
        ended = run('ble', 'bench', '-i', 'hci1', '-n', 'Bench', '--count', '200', '--json', within=120)
        lines = [json.loads(line) for line in ended.out.splitlines()]
        trips = [each for each in lines if each['event'] == 'roundTrip']
        streams = [each for each in lines if each['event'] == 'throughput']
        check([each['count'] for each in trips] == [200], f'round trips: {trips}')
        check([each['received'] for each in streams] == [200] * 2, f'streams: {streams}')
        check(all(each['complete'] for each in trips + streams), 'one is incomplete')
        check(not any(each['lost'] or each['corrupted'] for each in streams), f'not intact: {streams}')
        # The kernel keeps a link for 2 s after its program has ended, and the next program would use it.
        program.until(lambda: program.out.count('"disconnected"') == 2, 30, 'the link has ended')
        # One that is killed while it receives leaves the other usable.
        with Program('ble', 'bench', '-i', 'hci1', '-n', 'Bench', 'down', '--for', '600') as central:
            central.until(lambda: 'ATT_MTU' in central.out, 60, 'it measures')
            central.process.kill()
            central.join()
        program.until(lambda: program.out.count('"disconnected"') == 3, 30, 'the link of the killed one has ended')
        run('ble', 'bench', '-i', 'hci1', '-n', 'Bench', 'down', '--count', '20', within=120)
        program.interrupt()
        program.finish(130, within=10)


def both_are_served(radio):
    power(1)
    with served(radio, 'battery') as program:
        radio.ask(f'call central connect {ADDRESS} public')
        radio.ask('call central find')
        check(len(radio.ask('call central read 2A19')) == 2, 'the level is not read')
        check('0000180f' in gatttool('--primary'), 'the second client is not served beside the first')
        radio.ask('call central subscribe 2A19')
        until(lambda: radio.ask('call central got'), 20, 'a notification')
        peers = {each['peer'] for each in events(program) if each['event'] == 'connected'}
        check(peers == {radio.address['central'], '00:AA:01:00:00:02'}, f'the peers: {peers}')
        radio.ask('call central close')
        program.interrupt()
        program.finish(130, within=10)


def it_is_received(radio):
    power(1)
    with Program('ble', 'advertise', '-i', ADDRESS, '-n', 'hello', '--service', '180D') as program:
        program.until(lambda: 'advertises' in program.out, 30, 'it advertises')
        found = run('ble', 'scan', '-i', 'hci1', '-n', 'hello', '--for', '5', '--json').out
        check('180D' in found, f'received: {found}')
        program.interrupt()
        program.finish(130, within=10)
    until(lambda: radio.stat()['adv'] == 0, 10, 'nothing advertises')


def a_killed_program_leaves_its_advertising(radio):
    power(1)
    with Program('ble', 'advertise', '-i', ADDRESS, '-n', 'left') as program:
        program.until(lambda: 'advertises' in program.out, 30, 'it advertises')
        program.process.kill()
        program.join()
    check(radio.stat()['adv'] == 1, 'the kernel keeps it')
    # The next takes another instance.
    with Program('ble', 'advertise', '--json', '-i', ADDRESS, '-n', 'next') as program:
        program.until(lambda: '"instance":2' in program.out, 30, 'the second instance')
        program.terminate()
        program.finish(0, within=10)
    # A command removes the first one's instance.
    check(radio.stat()['adv'] == 1, 'the first still advertises')
    program = run('ble', 'advertise', '--clear', '-i', ADDRESS)
    program.check(program.out == 'hci0: 1 advertisement removed\n', 'the output')
    until(lambda: radio.stat()['adv'] == 0, 10, 'nothing advertises')


def it_survives_rfkill(radio):
    power(1)
    with Program('ble', 'advertise', '-v', '-i', ADDRESS, '-n', 'resumed', '--service', '180D') as program:
        program.until(lambda: 'advertises' in program.out, 30, 'it advertises')
        # The kernel does not disable the advertising of a blocked legacy controller; nor does the virtual radio.
        block(True)
        # A switch released before it is noticed would look like powering off by another program, which is final.
        program.until(lambda: 'blocked by rfkill' in program.err, 10, 'blocked')
        block(False)
        program.until(lambda: kernel.adapters()[0], 30, 'on again')
        found = run('ble', 'scan', '-i', 'hci1', '-n', 'resumed', '--for', '5', '--json').out
        check('180D' in found, f'received: {found}')
        program.interrupt()
        program.finish(130, within=10)


# Above the link nothing depends on the kind of band.
above_the_link = (gatttool_subscribes, gatttool_writes_a_long_value_and_confirms, a_link_is_measured)
for profile in ('extended', 'legacy'):
    with Radio('central', n=2, profile=profile) as radio:
        for story in (it_is_received, gatttool_uses_it, *(above_the_link if profile == 'extended' else ()),
                      both_are_served, a_killed_program_leaves_its_advertising, it_survives_rfkill):
            run_story(f'{profile}: {story.__name__.replace("_", " ")}', story, radio)
the_end()
