"""A controller of RootCanal's for this kernel, with a device that can be heard on LE Coded only.

  radio rootcanal.py [--ready FILE] [--log FILE] [--secondary coded|1m]

RootCanal is a controller of another maker than Bumble's; it supports LE Coded, which Bumble's do not. It runs as a process
of its own with a TCP port, from which packets are passed to /dev/vhci. The device is Bumble's host on another controller
of RootCanal's: FAR (F0:F1:F2:F3:F4:F5), with a battery level.

--ready FILE    written once the device is on the air
--log FILE      the packets of the kernel's controller in hexadecimal, a line each: > to the controller, < from it
--secondary     the PHY of the device's second packets
"""

import argparse
import asyncio
import errno
import os

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


async def connect():
    while True:
        try:
            return await asyncio.open_connection('127.0.0.1', PORT)
        except ConnectionRefusedError:
            await asyncio.sleep(0.1)


async def packet(reader):
    kind = await reader.readexactly(1)
    size, at, width = HEADERS[kind[0]]
    header = await reader.readexactly(size)
    return kind + header + await reader.readexactly(int.from_bytes(header[at:at + width], 'little'))


async def serve_kernel(log):
    """Passes packets between the kernel and a controller."""
    reader, writer = await connect()
    vhci = os.open('/dev/vhci', os.O_RDWR | os.O_NONBLOCK)
    os.write(vhci, b'\xff\x00')

    def note(direction, data):
        if log:
            print(direction, data.hex(), file=log, flush=True)

    def from_kernel():
        data = os.read(vhci, 4096)
        if data[:1] != b'\xff':
            note('>', data)
            writer.write(data)

    asyncio.get_running_loop().add_reader(vhci, from_kernel)
    while True:
        data = await packet(reader)
        note('<', data)
        try:
            os.write(vhci, data)
        except OSError as error:
            # The kernel accepts nothing from a controller that is down.
            if error.errno != errno.ENXIO:
                raise


async def main():
    parser = argparse.ArgumentParser('radio rootcanal.py', usage=__doc__)
    parser.add_argument('--ready')
    parser.add_argument('--log')
    parser.add_argument('--secondary', choices=['coded', '1m'], default='coded')
    args = parser.parse_args()
    process = await asyncio.create_subprocess_exec(
        ROOTCANAL, '--hci_port', str(PORT), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
    try:
        _, writer = await connect()  # the first moment at which it accepts connections
        writer.close()
        log = open(args.log, 'w') if args.log else None
        kernel = asyncio.create_task(serve_kernel(log))
        async with await open_transport(f'tcp-client:127.0.0.1:{PORT}') as transport:
            device = Device.with_hci('FAR', Address('F0:F1:F2:F3:F4:F5'), transport.source, transport.sink)
            level = Characteristic(
                UUID.from_16_bits(0x2A19), Characteristic.READ, Characteristic.READABLE, bytes([77]))
            device.add_service(Service(UUID.from_16_bits(0x180F), [level]))
            await device.power_on()
            data = bytes(AdvertisingData([(AdvertisingData.FLAGS, b'\x06'), (AdvertisingData.COMPLETE_LOCAL_NAME, b'FAR')]))
            await device.create_advertising_set(
                auto_restart=True, advertising_data=data,
                advertising_parameters=AdvertisingParameters(
                    primary_advertising_interval_min=100, primary_advertising_interval_max=100,
                    primary_advertising_phy=Phy.LE_CODED,
                    secondary_advertising_phy=Phy.LE_CODED if args.secondary == 'coded' else Phy.LE_1M))
            if args.ready:
                with open(args.ready, 'w') as file:
                    file.write('FAR F0:F1:F2:F3:F4:F5 random\n')
            print('READY', flush=True)
            await kernel
    finally:
        process.kill()


asyncio.run(main())
