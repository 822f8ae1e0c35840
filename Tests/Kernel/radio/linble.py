"""A LINBLE: its UART service, and a microcontroller on the UART that speaks the vendor's sample command protocol."""

import asyncio
import struct

from bumble.att import ATT_Error, ErrorCode
from bumble.gatt import Characteristic as C
from bumble.gatt import CharacteristicValue, Service

SERVICE, TX, RX = (f'27ADC9C{x}-35EB-465A-9154-B8FF9076F3E8' for x in 'ABC')


def unreadable(_connection):
    raise ATT_Error(ErrorCode.READ_NOT_PERMITTED)  # Bumble would never answer a Read By Type on it


class Module:
    """`notify(characteristic, bytes)` notifies the subscribers; `piece(n)` returns how many of n bytes the next one carries."""

    def __init__(self, notify, piece=lambda n: min(n, 20), samples=None, period=1.0):
        self.notify, self.piece, self.samples, self.period = notify, piece, samples, period
        self.registers, self.name = [0, 0, 0xFF, 0, 0, 0, 0, 0], b'Sample-UartController-001'
        self.received, self.queue = {}, asyncio.Queue()
        self.tx = C(TX, C.Properties.NOTIFY, C.Permissions(0), b'')
        self.rx = C(RX, C.Properties.WRITE_WITHOUT_RESPONSE, C.WRITEABLE,
                    CharacteristicValue(read=unreadable, write=self.written))
        self.service = Service(SERVICE, [self.tx, self.rx])
        self.uart = asyncio.create_task(self.send())

    def forget(self):
        """Discards the data of the previous link."""
        self.received.clear()
        while not self.queue.empty():
            self.queue.get_nowait()

    async def send(self):
        """Sends the UART's bytes in notifications, whose boundaries have no meaning."""
        while True:
            data = await self.queue.get()
            while data:
                n = self.piece(len(data))
                await self.notify(self.tx, data[:n])
                data = data[n:]

    def reply(self, kind, payload=b''):
        self.queue.put_nowait(bytes([1 + len(payload), kind]) + payload)

    def written(self, connection, value):
        buffer = self.received.setdefault(connection.handle, bytearray())
        buffer += bytes(value)
        while buffer and len(buffer) > buffer[0]:
            packet = bytes(buffer[1:1 + buffer[0]])
            del buffer[:1 + buffer[0]]
            if packet:
                self.command(packet[0], packet[1:])

    def command(self, kind, payload):
        match kind, *payload:
            case [0]: self.reply(0x40)
            case [1, register] if register < 8: self.reply(0x41, bytes([register, self.registers[register]]))
            case [2, register, value] if register < 8:
                self.registers[register] = value
                self.reply(0x42)
            case [3]: self.reply(0x43, b'1.2.3.987654')
            case [4, seconds] if 1 <= seconds <= 60:
                self.reply(0x44)
                self.sampling = asyncio.create_task(self.sample(self.samples or seconds))
            case [5]: self.reply(0x45, self.name)
            case [6, *name]:
                self.name = bytes(name)
                self.reply(0x46)
            # no response to anything else

    async def sample(self, count):
        for i in range(count):
            await asyncio.sleep(self.period)
            self.reply(0x84, b'\x01' + struct.pack('>f', 124 + i / 8))
        self.reply(0x84, b'\x00')
