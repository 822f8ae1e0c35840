"""A controller with room for few links: what the kernel reports, and what the programs say."""

import ctypes
import errno
import select
import socket
import struct

import kernel
from harness import Radio, check, run, run_story, the_end

AF_BLUETOOTH, BTPROTO_L2CAP, ATTRIBUTES, LE_PUBLIC, LE_RANDOM = 31, 0, 4, 1, 2
libc = ctypes.CDLL(None, use_errno=True)


def l2cap_address(text, kind, channel=ATTRIBUTES):
    octets = bytes(int(octet, 16) for octet in reversed(text.split(':')))
    return struct.pack('<HH6sHBx', AF_BLUETOOTH, 0, octets, channel, kind)


def connect(peer, seconds=30):
    """A socket of the attribute channel to a peer, or the number of the error that the attempt ends with."""
    link = socket.socket(AF_BLUETOOTH, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK, BTPROTO_L2CAP)
    for call, address in ((libc.bind, l2cap_address('00:00:00:00:00:00', LE_PUBLIC)),
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
    program.check('no room for another link' in program.err, 'the reason is told')
    first.close()
    radio.ask('calm')


with Radio('echo:name=one', 'echo:name=two') as radio:
    names = ['one', 'two']
    for status, expected in ((0x09, errno.EMLINK), (0x0D, errno.ECONNREFUSED)):
        run_story(f'a controller without room answers {status:#x}', is_an_errno, radio, names, status, expected)
    run_story('a program says that the controller has no room', is_told, radio, names)
the_end()
