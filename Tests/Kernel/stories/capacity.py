"""A controller with room for few links, and two adapters as one: what the kernel reports, and what the programs say."""

import ctypes
import errno
import json
import select
import socket
import struct

import kernel
from harness import Program, Radio, check, run, run_story, the_end, until

AF_BLUETOOTH, BTPROTO_L2CAP, ATTRIBUTES, LE_PUBLIC, LE_RANDOM = 31, 0, 4, 1, 2
libc = ctypes.CDLL(None, use_errno=True)


def l2cap_address(text, kind, channel=ATTRIBUTES):
    octets = bytes(int(octet, 16) for octet in reversed(text.split(':')))
    return struct.pack('<HH6sHBx', AF_BLUETOOTH, 0, octets, channel, kind)


def connect(peer, seconds=30, adapter='00:00:00:00:00:00'):
    """A socket of the attribute channel to a peer, or the number of the error that the attempt ends with."""
    link = socket.socket(AF_BLUETOOTH, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK, BTPROTO_L2CAP)
    for call, address in ((libc.bind, l2cap_address(adapter, LE_PUBLIC)),
                          (libc.connect, l2cap_address(peer, LE_RANDOM))):
        if call(link.fileno(), address, len(address)) < 0 and ctypes.get_errno() != errno.EINPROGRESS:
            return ctypes.get_errno()
    check(select.select([], [link], [], seconds)[1], 'the attempt has ended in time')
    return link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or link


def is_an_errno(radio, names, status, expected):
    """The kernel's error for an attempt that the controller refuses with a status."""
    kernel.mgmt(0x0005, 0, b'\x01')  # Set Powered
    radio.ask(f'room 0 1 {status:#x}')
    first = connect(radio.address[names[0]])
    check(isinstance(first, socket.socket), f'the first link is up: {first}')
    refused = connect(radio.address[names[1]])
    check(refused == expected, f'status {status:#x} is {errno.errorcode.get(refused, refused)}')
    first.close()
    radio.ask('calm')


def is_told(radio, names):
    """The program says that there is no room."""
    kernel.mgmt(0x0005, 0, b'\x01')
    radio.ask('room 0 1 0x0d')
    first = connect(radio.address[names[0]])
    check(isinstance(first, socket.socket), f'the first link is up: {first}')
    program = run('ble', 'read', '-a', radio.address[names[1]], '--address-type', 'random', '2A00', '--timeout', '20',
                  exits=74)
    program.check('reached its limit of links' in program.err, 'the reason is told')
    first.close()
    radio.ask('calm')


def the_other_adapter_connects(radio, names):
    """Two adapters as one: without room at the first, the second makes the link; without room at both, nobody does."""
    arguments = ['read', '-i', 'hci0,hci1', '-a', radio.address[names[1]], '--address-type', 'random', '2A00', '-v',
                 '--timeout', '20']
    for index in (0, 1):
        kernel.mgmt(0x0005, index, b'\x01')  # Set Powered
        radio.ask(f'room {index} 1 0x0d')
    first = connect(radio.address[names[0]], adapter=kernel.address(0))
    check(isinstance(first, socket.socket), f'the first link is up: {first}')
    program = run('ble', *arguments, within=60)
    program.check('connected by hci1' in program.err, 'the second adapter has made the link')
    until(lambda: radio.stat('hci1')['links'] == 0, 20, 'its link has ended')
    # To a third device: one that has a link does not advertise, and nobody is refused by it.
    second = connect(radio.address[names[2]], adapter=kernel.address(1))
    check(isinstance(second, socket.socket), f'the second link is up: {second}')
    run('ble', *arguments, exits=74, within=60).says('reached its limit of links')
    for link in (first, second):
        link.close()
    radio.ask('calm')


def scans_as_one():
    """Each device once, with its RSSI at both adapters, also when one of them is unplugged."""
    program = run('ble', 'scan', '-i', 'all', '--json', '--for', '6', '--duplicates', within=60)
    reports = [json.loads(line) for line in program.out.splitlines() if '"event":"adv"' in line]
    both = {report['address'] for report in reports if len(report['signals']) == 2}
    program.check(len(both) == 3, 'each beacon is received by both adapters')
    program = run('ble', 'scan', '-i', 'hci1,hci0', '--json', '--once', '--for', '6', within=60)
    addresses = [json.loads(line)['address'] for line in program.out.splitlines() if '"event":"adv"' in line]
    program.check(len(addresses) == len(set(addresses)) == 3, 'each beacon is reported once')


def outlives_an_adapter(radio):
    """The scan of two adapters continues when one is unplugged."""
    with Program('ble', 'scan', '-i', 'all', '--json', '--for', '120', '--duplicates') as program:
        program.until(lambda: program.out.count('"event":"adv"') > 20, 60, 'both adapters scan')
        radio.ask('unplug 1')
        before = program.out.count('"event":"adv"')
        program.until(lambda: program.out.count('"event":"adv"') > before + 50, 60, 'the scan goes on')


with Radio('echo:name=one', 'echo:name=two') as radio:
    names = ['one', 'two']
    for status, expected in ((0x09, errno.EMLINK), (0x0D, errno.ECONNREFUSED)):
        run_story(f'a controller without room answers {status:#x}', is_an_errno, radio, names, status, expected)
    run_story('a program says that the controller has no room', is_told, radio, names)
with Radio('echo:name=one', 'echo:name=two', 'echo:name=three', n=2) as radio:
    run_story('the other adapter connects when one is full', the_other_adapter_connects, radio,
              [*names, 'three'])
with Radio('beacons:count=3', n=2) as radio:
    run_story('two adapters scan as one', scans_as_one)
    run_story('a scan of two adapters outlives one', outlives_an_adapter, radio)
the_end()
