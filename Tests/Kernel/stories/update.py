"""Firmware updates in both directions: `ble update` with a Bumble peripheral that speaks with the messages of smp, and smpclient on
Bumble with `ble serve firmware`."""

import hashlib
import json
import os
import struct

from harness import FOLDER, Program, Radio, check, run, run_story, the_end, until

ADDRESS = '00:AA:01:00:00:01'


def image(size):
    """A file with an MCUboot image of version 2.0.0; returns its path and its length."""
    content = struct.pack('<LLHHLLBBHL4x', 0x96F3B83D, 0, 32, 0, size, 0, 2, 0, 0, 0) + os.urandom(size)
    path = os.path.join(FOLDER, 'image.bin')
    with open(path, 'wb') as file:
        file.write(content + struct.pack('<HHHH', 0x6907, 40, 0x10, 32) + hashlib.sha256(content).digest())
    return path, len(content) + 40


def our_client_updates_a_device_of_smp(radio):
    path, length = image(8000)
    ended = run('ble', '-n', 'updatable', 'update', path, within=120)
    for line in (f'uploaded {length} bytes, version 2.0.0', 'slot 1: 2.0.0  pending', 'the device restarts'):
        ended.check(line in ended.out, f'no line "{line}"')
    state = radio.ask('call updatable state')
    check(state == f'{length} 1 1 1', f'the state of the device: {state}')
    again = run('ble', '-n', 'updatable', 'update', path, '--no-reset', within=60)
    again.says('2.0.0 is in slot 1 already')


def our_client_continues_after_a_lost_link(radio):
    path, length = image(8000)
    ended = run('ble', '-n', 'interrupted', 'update', path, '--upload-only', within=120)
    ended.says('Continuing')
    ended.check(f'uploaded {length} bytes' in ended.out, 'the upload is not reported')
    state = radio.ask('call interrupted state')
    check(state == f'{length} 1 0 0', f'the state of the device: {state}')


def smpclient_updates_our_device(radio):
    path, length = image(8000)
    with Program('ble', 'serve', 'firmware', '--json', '-i', ADDRESS) as program:
        program.until(lambda: '"serving"' in program.out, 30, 'the device advertises')
        radio.ask(f'call central connect {ADDRESS} public')
        answer = radio.ask(f'call central update {path}')
        versions, count = answer.split()
        check(versions == '1.0.0,2.0.0*', f'the images: {answer}')
        check(int(count) > 1, f'the number of messages: {answer}')
        program.until(lambda: '"disconnected"' in program.out, 20, 'the device restarts, and the link ends')
        # The image that was tested runs.
        slots = [each for each in map(json.loads, program.out.splitlines()) if each['event'] == 'image']
        check([each['version'] for each in slots] == ['2.0.0', '1.0.0'], f'the images after the restart: {slots}')
        program.interrupt()
        program.finish(130, within=10)


with Radio('updatable', 'updatable:name=interrupted,lose=5', 'central') as band:
    for story in (our_client_updates_a_device_of_smp, our_client_continues_after_a_lost_link, smpclient_updates_our_device):
        run_story(story.__name__, story, band)
the_end()
