"""BlueZ's daemon on one controller, controlled with bluetoothctl, as the central of `ble serve` on another."""

import json
import os
import subprocess

import kernel
from harness import FOLDER, Dialogue, Program, Radio, check, run, run_story, the_end, until

OURS, THEIRS = '00:AA:01:00:00:01', '00:AA:01:00:00:02'
BLUETOOTHD = '/usr/libexec/bluetooth/bluetoothd'
# By default it powers every adapter on; a small ATT_MTU makes its writes long ones.
CONFIGURATION = '[Policy]\nAutoEnable=false\n[GATT]\nExchangeMTU=64\nCache={cache}\n'
DEVICE = {'name': 'note', 'services': [{'uuid': 'FFF0', 'characteristics': [
    {'uuid': 'FFF1', 'properties': ['read', 'write', 'notify'], 'value': '0102'},
    {'uuid': 'FFF2', 'properties': ['read', 'write', 'indicate'], 'value': '0A'}]}]}


def power(index):
    kernel.mgmt(0x000D, index, b'\x01')  # Set LE
    kernel.mgmt(0x0005, index, b'\x01')  # Set Powered


class Daemon:
    """A D-Bus daemon and bluetoothd, for the duration of a story."""

    def __init__(self, cache='no'): self.cache = cache

    def __enter__(self):
        self.log = open(os.path.join(FOLDER, 'bluetoothd.log'), 'w')
        os.makedirs('/run/dbus', exist_ok=True)
        for left in ('/run/dbus/pid', '/run/dbus/system_bus_socket'):
            if os.path.exists(left):
                os.unlink(left)
        self.processes = [self.start('dbus-daemon', '--system', '--nofork', '--nopidfile')]
        until(lambda: os.path.exists('/run/dbus/system_bus_socket'), 20, 'the bus')
        configuration = os.path.join(FOLDER, 'main.conf')
        with open(configuration, 'w') as file:
            file.write(CONFIGURATION.format(cache=self.cache))
        self.processes.append(self.start(BLUETOOTHD, '--nodetach', '--debug', f'--configfile={configuration}'))
        # A bluetoothctl that starts while adapters are added may crash.
        until(lambda: 'hci1' in subprocess.run(
            ['busctl', 'tree', '--list', 'org.bluez'], capture_output=True, text=True).stdout, 30, 'its adapters on the bus')
        return self

    def start(self, *command):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
        self.log.close()


def events(program, name):
    return [each for each in map(json.loads, program.out.splitlines()) if each['event'] == name]


def digits(data):
    return ' '.join(f'0x{byte:02x}' for byte in data)


def shown(data):
    """A line of bytes in bluetoothctl's notation."""
    return ' '.join(f'{byte:02x}' for byte in data)


def bluetoothctl_uses_it(radio):
    path = os.path.join(FOLDER, 'note.json')
    with open(path, 'w') as file:
        json.dump(DEVICE, file)
    with Daemon(), Program('ble', 'serve', '--json', '-i', OURS, path) as program, Dialogue('bluetoothctl') as ctl:
        program.until(lambda: '"serving"' in program.out, 30, 'it advertises')
        check(not kernel.read_info(1)[1] & {'powered'}, 'bluetoothd leaves the adapter off')
        ctl.do('list', OURS)
        ctl.do(f'select {THEIRS}', THEIRS)
        ctl.do('power on', 'Changing power on succeeded')
        ctl.do('scan le', f'Device {OURS} ')
        for round in (1, 2):
            ctl.do(f'connect {OURS}', 'Connection successful', 60)
            program.until(lambda: len(events(program, 'connected')) == round, 10, 'it is connected')
            check(events(program, 'connected')[-1]['peer'] == THEIRS, 'the peer')
            until(lambda: f'{OURS} ServicesResolved: yes' in ctl.text or 'service0010/char' in ctl.text, 30, 'services')
            ctl.do('menu gatt', 'Menu gatt')
            ctl.do(f'list-attributes {OURS}', '0000fff2-0000-1000-8000-00805f9b34fb')
            use_values(program, ctl, round)
            ctl.do('back', 'Menu main')
            ctl.do(f'disconnect {OURS}', 'Successful disconnected')
            program.until(lambda: len(events(program, 'disconnected')) == round, 20, 'the end is printed')
            check(events(program, 'disconnected')[-1]['reason'] == 'remote', 'the reason')
        program.interrupt()
        program.finish(130, within=10)
    until(lambda: radio.stat()['adv'] == 0, 10, 'nothing advertises')


def logged(words):
    """The number of these words in bluetoothd's log."""
    with open(os.path.join(FOLDER, 'bluetoothd.log'), errors='replace') as file:
        return file.read().count(words)


def bluetoothctl_knows_it(radio):
    """On the second connection bluetoothd reads our Database Hash and skips discovery."""
    path = os.path.join(FOLDER, 'note.json')
    with open(path, 'w') as file:
        json.dump(DEVICE, file)
    with Daemon(cache='always'), Program('ble', 'serve', '--json', '-i', OURS, path) as program, \
            Dialogue('bluetoothctl') as ctl:
        program.until(lambda: '"serving"' in program.out, 30, 'it advertises')
        ctl.do(f'select {THEIRS}', THEIRS)
        ctl.do('power on', 'Changing power on succeeded')
        ctl.do('scan le', f'Device {OURS} ')
        for round in (1, 2):
            ctl.do(f'connect {OURS}', 'Connection successful', 60)
            until(lambda: logged('GATT client ready') == round, 30, 'bluetoothd knows our database')
            check(logged('DB Hash match: skipping discovery') == round - 1, f'connection {round}: the hash')
            ctl.do('menu gatt', 'Menu gatt')
            ctl.do(f'list-attributes {OURS}', '0000fff2-0000-1000-8000-00805f9b34fb')
            ctl.do('select-attribute 0000fff1-0000-1000-8000-00805f9b34fb', 'char')
            ctl.do('read', shown(b'\x01\x02'))
            ctl.do('back', 'Menu main')
            ctl.do(f'disconnect {OURS}', 'Successful disconnected')
            program.until(lambda: len(events(program, 'disconnected')) == round, 20, 'the end is printed')
        program.interrupt()
        program.finish(130, within=10)


def pairing_is_the_daemons(radio):
    with Daemon():
        power(0)
        program = run('ble', 'pair', '-i', 'hci0', radio.address['secure'], '--address-type', 'random', exits=69)
        program.says("BlueZ's daemon is responsible for pairing").says('systemctl stop bluetooth')
        check(radio.ask('count secure') == '0', 'the device was left alone')


def use_values(program, ctl, round):
    first, second = (f'0000fff{number}-0000-1000-8000-00805f9b34fb' for number in (1, 2))
    ctl.do(f'select-attribute {first}', 'char')
    ctl.do('read', shown(b'\x01\x02') if round == 1 else shown(bytes(range(16))))
    ctl.do('write "0x03 0x04"', 'Attempting to write')
    program.until(lambda: any(each['hex'] == '0304' for each in events(program, 'write')), 10, 'the written value')
    ctl.do('read', shown(b'\x03\x04'))
    ctl.do('notify on', 'Notify started')
    program.until(lambda: subscriptions(program, 'FFF1') == round, 10, 'the subscription is printed')
    # The written value is notified.
    ctl.do('write "0x05 0x06"', shown(b'\x05\x06'))
    ctl.do('notify off', 'Notify stopped')
    # Longer than the ATT_MTU.
    long = bytes(range(200))
    ctl.do(f'write "{digits(long)}"', 'Attempting to write')
    program.until(lambda: any(each['hex'] == long.hex().upper() for each in events(program, 'write')), 20, 'the long value')
    ctl.do('read', shown(long[:16]))
    ctl.do(f'select-attribute {second}', 'char')
    ctl.do('notify on', 'Notify started')
    program.until(lambda: subscriptions(program, 'FFF2') == round, 10, 'the subscription is printed')
    # And indicated.
    ctl.do(f'write "0x0b 0x0{round}"', shown(bytes([0x0b, round])))
    ctl.do('notify off', 'Notify stopped')


def subscriptions(program, uuid):
    """The number of subscriptions to a characteristic; bluetoothd itself also subscribes to Service Changed."""
    return sum(each.get('uuid') == uuid for each in events(program, 'subscribed'))


with Radio('central', 'secure:name=secure', n=2) as radio:
    run_story('bluetoothctl uses the services', bluetoothctl_uses_it, radio)
    run_story('bluetoothd recognises the services by their hash', bluetoothctl_knows_it, radio)
    run_story('the daemon owns pairing', pairing_is_the_daemons, radio)
the_end()
