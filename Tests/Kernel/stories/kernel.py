"""The kernel's view of its controllers, queried directly: nothing here uses the programs under test."""

import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import time

AF_BLUETOOTH, BTPROTO_HCI = 31, 1
HCI_DEV_NONE, CHANNEL_CONTROL = 0xFFFF, 3
HCIDEVUP, HCIDEVDOWN, HCIGETDEVLIST = 0x400448C9, 0x400448CA, 0x800448D2
SETTINGS = {'powered': 0, 'bondable': 4, 'ssp': 6, 'br/edr': 7, 'le': 9, 'advertising': 10, 'sc': 11,
            'static address': 15}


def ioctl(request, argument):
    with socket.socket(AF_BLUETOOTH, socket.SOCK_RAW, BTPROTO_HCI) as s:
        return fcntl.ioctl(s, request, argument)


def adapters():
    """{index: whether it is up}. For about 2 s the kernel keeps a new controller up to set it up."""
    room = 16
    answer = ioctl(HCIGETDEVLIST, struct.pack('<HH', room, 0) + bytes(8 * room))
    count = struct.unpack_from('<H', answer)[0]
    entries = (struct.unpack_from('<HxxI', answer, 4 + 8 * i) for i in range(count))
    return {index: flags != 0 for index, flags in entries}


def up(index):
    """HCIDEVUP, like hciconfig: without enabling LE."""
    ioctl(HCIDEVUP, index)


def down(index):
    ioctl(HCIDEVDOWN, index)


def mgmt(opcode, index, payload=b'', seconds=5):
    """Sends one management command; returns its status and return parameters."""
    with socket.socket(AF_BLUETOOTH, socket.SOCK_RAW, BTPROTO_HCI) as s:
        # Python's bind() does not support the channel.
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.bind(s.fileno(), struct.pack('<HHH', AF_BLUETOOTH, HCI_DEV_NONE, CHANNEL_CONTROL), 6) < 0:
            raise OSError(ctypes.get_errno(), 'bind to the management channel')
        os.write(s.fileno(), struct.pack('<HHH', opcode, index, len(payload)) + payload)
        deadline = time.monotonic() + seconds
        while select.select([s], [], [], max(0, deadline - time.monotonic()))[0]:
            packet = os.read(s.fileno(), 2048)
            event, where = struct.unpack_from('<HH', packet)
            if event in (1, 2) and where == index and packet[6:8] == struct.pack('<H', opcode):
                return packet[8], packet[9:]  # Command Complete, Command Status
    raise TimeoutError(f'no response to management command 0x{opcode:04x}')


def managed():
    """The indices on the management interface, which lists a controller once the kernel has set it up."""
    _, answer = mgmt(0x0003, HCI_DEV_NONE)
    return set(struct.unpack_from(f'<{struct.unpack_from("<H", answer)[0]}H', answer, 2))


def read_info(index):
    """The names of the supported and of the current settings."""
    status, answer = mgmt(0x0004, index)
    if status:
        raise OSError(f'Read Info: status {status}')
    bits = struct.unpack_from('<II', answer, 9)
    return tuple({name for name, bit in SETTINGS.items() if value >> bit & 1} for value in bits)


def long_term_keys(index):
    """The lines of the kernel's long term keys, without the keys."""
    with open(f'/sys/kernel/debug/bluetooth/hci{index}/long_term_keys', encoding='utf8') as lines:
        return [line.rsplit(' ', 1)[0] for line in lines]


def address(index):
    """The public address of a controller."""
    _, answer = mgmt(0x0004, index)
    return ':'.join(f'{octet:02X}' for octet in reversed(answer[:6]))


def rest(index):
    """Resets a controller to its initial state: off, with the kernel's default for LE, and without advertising."""
    mgmt(0x0005, index, b'\x00')  # Set Powered
    if 'br/edr' in read_info(index)[0]:
        mgmt(0x000D, index, b'\x00')  # Set LE
    try:
        mgmt(0x003F, index, b'\x00')  # Remove Advertising, all instances
    except OSError as error:
        if error.errno != errno.ENETDOWN:
            raise
        # A legacy controller's instances can only be removed while it is on.
        mgmt(0x0005, index, b'\x01')
        mgmt(0x003F, index, b'\x00')
        mgmt(0x0005, index, b'\x00')
