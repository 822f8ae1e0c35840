"""A LINBLE on a Bumble host that owns hciN through the HCI user channel:  radio user_gatt.py N [NAME] [ADDRESS]

For a pair of btvirt controllers, of which the kernel has the other. hciN must be down. Prints READY once it advertises. On
SIGTERM it disconnects and resets the controller, because the kernel does not: when the owner of the user channel is killed,
its links and advertising continue in the controller."""

import asyncio
import signal
import sys

from bumble.core import AdvertisingData as AD
from bumble.device import Device
from bumble.hci import Address, HCI_Reset_Command
from bumble.transport import open_transport
from linble import Module


async def main(number, name='LINBLE-Z1', address='F0:F1:F2:F3:F4:F5'):
    async with await open_transport(f'hci-socket:{number}') as transport:
        device = Device.with_hci(name, Address(address), transport.source, transport.sink)
        module = Module(lambda characteristic, value: device.notify_subscribers(characteristic, value))
        device.add_service(module.service)
        await device.power_on()
        data = bytes(AD([(AD.FLAGS, b'\x06'), (AD.COMPLETE_LOCAL_NAME, name.encode())]))
        # An advertising set, if the controller has extended advertising: Linux at the other end then scans with extended
        # commands, and btvirt does not deliver legacy advertisements to an extended scanner.
        await device.create_advertising_set(auto_restart=True, advertising_data=data)
        print('READY', flush=True)
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await stop.wait()
        for link in list(device.connections.values()):
            await link.disconnect()
        await device.host.send_command(HCI_Reset_Command())


asyncio.run(main(*sys.argv[1:]))
