"""The terminal sessions: each plays on a stage, on the simulated radio."""
import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def expect(status, wanted, command):
    if status != wanted:
        sys.exit(f'record: {command} ended with {status} instead of {wanted}')


def scan(stage):
    """ble scan: a live table of six simulated devices, with RSSI, graph of the RSSI, advertising interval, name and services."""
    pane = stage.pane('ble scan', 100, 9)
    pane.start('ble scan --watch --simulate')
    stage.pause(10)
    stage.mark_still()


def explore(stage):
    """ble explore: services, characteristics, descriptors and values of a heart rate sensor as a tree; ble notify: four values."""
    world = bring(stage, 'Examples/CoreBluetoothCentral/world.json')
    pane = stage.pane('ble explore', 90, 20)
    expect(pane.run(f'ble explore -n Pulse-Z1 --world {world}'), 0, 'ble explore')
    stage.pause(1.5)
    expect(pane.run(f'ble notify -n Pulse-Z1 2A37 --count 4 --world {world}'), 0, 'ble notify')
    stage.mark_still()


def bridge(stage):
    """linble bridge, and picocom on its port: the adapter is unplugged and plugged in again; a line typed meanwhile is echoed then."""
    world = bring(stage, 'Docs/pictures/worlds/unplugged.json')
    above = stage.pane('the bridge', 94, 10)
    below = stage.pane('a program on the port, whose device echoes each line', 94, 8)
    above.start(f'linble bridge -n LINBLE-ECHO --pty /tmp/ttyBLE --world {world}')
    above.wait_for('online')
    below.start('picocom -q --echo --omap crlf --imap lfcrlf --emap crcrlf /tmp/ttyBLE')
    stage.pause(1)
    below.type('before\r')
    above.wait_for('offline')
    stage.pause(1)
    below.type('meanwhile\r')
    above.wait_for('online')
    stage.pause(1)
    below.type('after\r')
    stage.pause(1)
    stage.mark_still()


def send(stage):
    """linble send: a progress bar while 256 KiB go to a device that echoes them, then the summary; cmp finds no difference."""
    pane = stage.pane('linble send', 92, 6)
    expect(pane.run('head -c 262144 /dev/urandom > firmware.bin'), 0, 'head')
    expect(pane.run('linble send firmware.bin --echo back.bin -n LINBLE-ECHO --simulate'), 0, 'linble send')
    expect(pane.run('cmp firmware.bin back.bin'), 0, 'cmp')
    stage.mark_still()


def doctor(stage):
    """ble doctor: checks of the kernel, the adapter, the permissions and bluetoothd; a warning has the command that removes its cause."""
    pane = stage.pane('ble doctor', 122, 12)
    pane.run('ble doctor --simulate')
    stage.mark_still()


def recovery(stage):
    """ble doctor --watch --recover: an adapter that hears nothing any more, the steps that are tried, and the one that helps."""
    world = bring(stage, 'Docs/pictures/worlds/deaf.json')
    pane = stage.pane('ble doctor', 98, 13)
    pane.start(f'ble doctor --watch --recover --silence 2 --world {world}')
    pane.wait_for('recovered after')
    stage.pause(0.5)
    stage.mark_still()


def bring(stage, path):
    """Copies a file of the repository to the same path where the session runs; returns the path."""
    copy = os.path.join(stage.folder, path)
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    shutil.copy(os.path.join(ROOT, path), copy)
    return path


ALL = {'scan': scan, 'explore': explore, 'bridge': bridge, 'send': send, 'doctor': doctor, 'recovery': recovery}
