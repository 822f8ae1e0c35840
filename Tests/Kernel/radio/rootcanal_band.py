"""Controllers of RootCanal's for this kernel, on an air of their own.

  radio rootcanal_band.py [-n N] [--far coded|1m] [--ready FILE] [--log FILE]

RootCanal is an emulator of another maker than Bumble's, with what Bumble's controllers lack: LE Coded, address resolution,
16 advertising sets. It is a process of its own, in which each connection to a TCP port is a controller, whose packets are
passed to /dev/vhci. The kernel's controllers have the addresses from DA:4C:10:DE:17:00.

-n N            the number of the kernel's controllers, 1 by default
--far PHY       a device that can be heard on LE Coded only, with its second packets on this PHY: Bumble's host on another
                controller of RootCanal's, FAR (F0:F1:F2:F3:F4:F5), with a battery level
--ready FILE    written once everything is on the air
--log FILE      the packets of the kernel's controllers in hexadecimal, a line each: K> to that of hciK, K< from it
"""

import argparse
import asyncio
import errno
import os
import socket

from bumble.core import UUID, AdvertisingData
from bumble.device import AdvertisingParameters, Device
from bumble.gatt import Characteristic, Service
from bumble.hci import Address, Phy
from bumble.transport import open_transport

CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'swift-bluetooth-le-kernel')
ROOTCANAL = os.path.join(CACHE, 'rootcanal-1.10.0', 'rootcanal', 'bin', 'linux-x86_64', 'rootcanal')
PORT = 6402
# The header of each kind of packet: its length, and the place and size of the length in it.
HEADERS = {1: (3, 2, 1), 2: (4, 2, 2), 3: (3, 2, 1), 4: (2, 1, 1), 5: (4, 2, 2)}
# The place of the peer's type and address in LE Enhanced Connection Complete and LE Extended Advertising Report.
PEER = {0x0A: 8, 0x0D: 7}


async def connect():
    while True:
        try:
            return await asyncio.open_connection('127.0.0.1', PORT)
        except ConnectionRefusedError:
            await asyncio.sleep(0.1)


async def packet(reader, writer):
    kind = await reader.readexactly(1)
    # RootCanal sends the rest only once this has been acknowledged, which would take 40 ms.
    writer.get_extra_info('socket').setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
    size, at, width = HEADERS[kind[0]]
    header = await reader.readexactly(size)
    return kind + header + await reader.readexactly(int.from_bytes(header[at:at + width], 'little'))


async def add_controller(log):
    """Adds a controller to the kernel; returns the task that passes its packets."""
    reader, writer = await connect()
    vhci = os.open('/dev/vhci', os.O_RDWR | os.O_NONBLOCK)
    index = asyncio.get_running_loop().create_future()

    def note(direction, data):
        if log:
            print(f'{index.result()}{direction}', data.hex(), file=log, flush=True)

    identities = set()  # those of the resolving list: their types and addresses

    def to_kernel(data):
        if data[1:2] == b'\x3e' and (place := PEER.get(data[3])) and data[place:place + 7] in identities:
            # The peer's private address was resolved; RootCanal does not say so in the type.
            data = data[:place] + bytes([data[place] | 0x02]) + data[place + 1:]
        note('<', data)
        try:
            os.write(vhci, data)
        except OSError as error:
            # The kernel accepts nothing from a controller that is down.
            if error.errno != errno.ENXIO:
                raise

    def from_kernel():
        data = os.read(vhci, 4096)
        if data[:1] == b'\xff':
            return index.set_result(int.from_bytes(data[2:4], 'little'))
        note('>', data)
        match data[1:3]:
            case b'\x27\x20': identities.add(data[4:11])  # LE Add Device To Resolving List
            case b'\x28\x20': identities.discard(data[4:11])  # LE Remove Device From Resolving List
            case b'\x29\x20': identities.clear()  # LE Clear Resolving List
            case b'\x7c\x0c':  # Write Authenticated Payload Timeout, which RootCanal lists as supported and aborts at
                return to_kernel(b'\x04\x0e\x06\x01' + data[1:3] + b'\x00' + data[4:6])
        writer.write(data)

    async def run():
        while True:
            to_kernel(await packet(reader, writer))

    os.write(vhci, b'\xff\x00')
    asyncio.get_running_loop().add_reader(vhci, from_kernel)
    await index
    return asyncio.create_task(run())


async def add_device(transport, secondary):
    device = Device.with_hci('FAR', Address('F0:F1:F2:F3:F4:F5'), transport.source, transport.sink)
    level = Characteristic(UUID.from_16_bits(0x2A19), Characteristic.READ, Characteristic.READABLE, bytes([77]))
    device.add_service(Service(UUID.from_16_bits(0x180F), [level]))
    await device.power_on()
    data = bytes(AdvertisingData([(AdvertisingData.FLAGS, b'\x06'), (AdvertisingData.COMPLETE_LOCAL_NAME, b'FAR')]))
    await device.create_advertising_set(
        auto_restart=True, advertising_data=data,
        advertising_parameters=AdvertisingParameters(
            primary_advertising_interval_min=100, primary_advertising_interval_max=100,
            primary_advertising_phy=Phy.LE_CODED,
            secondary_advertising_phy=Phy.LE_CODED if secondary == 'coded' else Phy.LE_1M))


def options(words=None):
    parser = argparse.ArgumentParser('radio rootcanal_band.py', usage=__doc__)
    parser.add_argument('-n', type=int, default=1)
    parser.add_argument('--far', choices=['coded', '1m'])
    parser.add_argument('--ready')
    parser.add_argument('--log')
    return parser.parse_args(words)


async def main(args):
    # It ends with this process, however that ends.
    _process = await asyncio.create_subprocess_exec(
        'setpriv', '--pdeathsig', 'KILL', ROOTCANAL, '--hci_port', str(PORT),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
    log = open(args.log, 'w') if args.log else None
    controllers = [await add_controller(log) for _ in range(args.n)]
    if args.far:
        transport = await open_transport(f'tcp-client:127.0.0.1:{PORT}')
        await add_device(transport, args.far)
    if args.ready:
        open(args.ready, 'w').close()
    print('READY', flush=True)
    await asyncio.gather(*controllers)


if __name__ == '__main__':
    asyncio.run(main(options()))
