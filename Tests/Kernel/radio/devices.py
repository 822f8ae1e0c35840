"""The made-up devices: a controller each, most with a Bumble host on it."""

import asyncio
import logging
import struct

from bumble.core import AdvertisingData as AD
from bumble.core import UUID
from bumble.device import Device, DeviceConfiguration, Peer
from bumble.gatt import Characteristic as C
from bumble.gatt import CharacteristicValue, Descriptor, Service
from bumble.hci import Address, OwnAddressType
from bumble.host import Host
from bumble.pairing import PairingConfig, PairingDelegate
from controller import Chip
from linble import RX, SERVICE, TX, Module, unreadable

P = C.Properties


class Options(dict):
    """The NAME=VALUE pairs of a device on the command line."""

    def __init__(self, text):
        super().__init__(pair.split('=', 1) for pair in text.split(',') if pair)

    def int(self, key, default=None): return int(self[key], 0) if key in self else default
    def float(self, key, default): return float(self.get(key, default))
    def on(self, key, default='0'): return self.get(key, default) == '1'


class Numbers(PairingDelegate):
    """Display-only with a fixed passkey, or yes/no that says yes and prints the number."""

    def __init__(self, mode, passkey):
        super().__init__({'justworks': PairingDelegate.NO_OUTPUT_NO_INPUT, 'passkey': PairingDelegate.DISPLAY_OUTPUT_ONLY,
                          'numeric': PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT,
                          'keyboard': PairingDelegate.KEYBOARD_INPUT_ONLY}[mode])
        self.passkey = passkey

    async def generate_passkey(self): return self.passkey
    async def get_number(self): return self.passkey
    async def display_number(self, number, digits): print(f'PASSKEY {number:0{digits}}', flush=True)

    async def compare_numbers(self, number, digits):
        print(f'COMPARE {number:0{digits}}', flush=True)
        return True


def random_bytes(rng, n): return bytes(rng.randrange(256) for _ in range(n))
def colons(data): return ':'.join(f'{byte:02X}' for byte in data)


class Simple:
    """A device with a name, an address and a controller; this much advertises and takes a link, and nobody answers (mute)."""

    default_name = None

    def __init__(self, kind, options, band, rng):
        self.kind, self.o, self.rng = kind, options, rng
        self.name = options.get('name') or self.default_name or f'{kind}-{rng.randrange(1000)}'
        self.public = options.on('public')
        made_up = bytes([0xC0 | rng.randrange(64)]) + random_bytes(rng, 5)  # a static random address
        text = options.get('address') or colons(b'\x00\xbb' + made_up[2:] if self.public else made_up)
        self.address = Address(text, Address.PUBLIC_DEVICE_ADDRESS if self.public else Address.RANDOM_DEVICE_ADDRESS)
        own = text if self.public else colons(b'\x00\xbb' + random_bytes(rng, 4))
        self.chip = Chip(self.name, strict=False, link=band, public_address=own)
        self.chip.rssi = options.int('rssi', -50)
        self.interval = options.float('interval', 100)

    def payload(self):
        return bytes(AD([(AD.FLAGS, b'\x06'), (AD.COMPLETE_LOCAL_NAME, self.name.encode()[:26])]))

    def line(self): return f'{self.name} {str(self.address).split("/")[0]} {"public" if self.public else "random"}'

    async def start(self):
        advertiser = self.chip.le_legacy_advertiser
        advertiser.own_address_type = 0 if self.public else 1
        advertiser.advertising_interval_min = int(self.interval / 0.625)
        self.chip.random_address, advertiser.advertising_data = self.address, self.payload()
        advertiser.start()


class Hosted(Simple):
    def make_host(self):
        host = Host()
        host.controller = self.chip
        self.device = Device(host=host, config=DeviceConfiguration(
            name=self.name, address=self.address,
            advertising_interval_min=self.interval, advertising_interval_max=self.interval))
        if mtu := self.o.int('mtu'):
            self.device.gatt_server.max_mtu = mtu

    def pairs(self):
        mode = self.o.get('pair', 'justworks')
        delegate = Numbers(mode, int(self.o.get('passkey', 123456)))
        self.device.pairing_config_factory = lambda _: PairingConfig(
            sc=self.o.on('sc', '1'), mitm=mode != 'justworks', bonding=self.o.on('bond', '1'), delegate=delegate)


class Peripheral(Hosted):
    """Advertises, serves what services() says, and takes one link after the other."""

    async def start(self):
        self.make_host()
        if self.kind == 'secure':
            self.pairs()
        for service in self.services():
            self.device.add_service(service)
        self.device.on('connection', self.connected)
        await self.device.power_on()
        self.device.advertising_data = self.payload()
        self.device.scan_response_data = bytes(AD([(AD.MANUFACTURER_SPECIFIC_DATA, b'\xff\xff' + self.kind.encode())]))
        await self.device.start_advertising(
            auto_restart=True, own_address_type=OwnAddressType.PUBLIC if self.public else OwnAddressType.RANDOM)

    def connected(self, _connection): pass

    async def notify(self, characteristic, value):
        try:
            await self.device.notify_subscribers(characteristic, value)
        except Exception:
            logging.debug('%s: a link ended under a notification', self.name, exc_info=True)


class Echo(Peripheral):
    """What is written comes back as a notification."""

    default_name = 'LINBLE-ECHO'
    encrypted = authenticated = False

    def services(self):
        read, write = C.READABLE, C.WRITEABLE
        if self.encrypted:
            read, write = read | C.READ_REQUIRES_ENCRYPTION, write | C.WRITE_REQUIRES_ENCRYPTION
        if self.authenticated:
            read, write = read | C.READ_REQUIRES_AUTHENTICATION, write | C.WRITE_REQUIRES_AUTHENTICATION
        self.tx = C(TX, P.NOTIFY | P.INDICATE | P.READ, read, b'')
        rx = C(RX, P.WRITE | P.WRITE_WITHOUT_RESPONSE, write, CharacteristicValue(read=unreadable, write=self.written))
        self.written_bytes, self.back = 0, asyncio.Queue()
        self.echoing = asyncio.create_task(self.echo())
        return [Service(SERVICE, [self.tx, rx])]

    def written(self, _connection, value):
        self.written_bytes += len(value)
        self.back.put_nowait(bytes(value))

    async def echo(self):
        while True:
            await self.notify(self.tx, await self.back.get())

    def connected(self, _connection):
        while not self.back.empty():  # what the last link left behind
            self.back.get_nowait()


class Secure(Echo):
    default_name, encrypted = None, True

    @property
    def authenticated(self): return self.o.get('pair', 'justworks') != 'justworks'


class Flood(Echo):
    """Numbered notifications at once after the subscription."""

    default_name = None

    def services(self):
        services = super().services()
        self.tx.on('subscription', self.subscribed)
        return services

    def subscribed(self, connection, notify, _indicate):
        if notify:
            self.flooding = asyncio.create_task(self.flood(connection))

    async def flood(self, connection):
        for i in range(self.o.int('count', 1000)):
            await self.device.notify_subscriber(connection, self.tx, struct.pack('<I', i).ljust(self.o.int('size', 20), b'.'))
            await asyncio.sleep(self.o.float('every', 0.001))


class Refuser(Echo):
    """Drops every link as soon as it is up."""

    default_name, after, reason = None, 0.0, 0x3E

    def connected(self, connection):
        super().connected(connection)
        reason = self.o.int('reason', self.reason)
        asyncio.get_running_loop().call_later(self.o.float('after', self.after), self.chip.cut, reason)


class Dropper(Refuser):
    """Ends every link after a while."""

    after, reason = 1.0, 0x13


class Vanisher(Echo):
    """Falls silent after a while without a word, as if its battery were taken out; `show` brings it back."""

    default_name = None

    def connected(self, connection):
        super().connected(connection)
        asyncio.get_running_loop().call_later(self.o.float('after', 1.0), self.chip.vanish, self.o.float('timeout', 2.0))


class Linble(Peripheral):
    default_name = 'LINBLE-Z1'

    def services(self):
        cut = (lambda n: self.rng.randint(1, n)) if self.o.on('split') else (lambda n: min(n, 20))
        self.module = Module(self.notify, cut, self.o.int('samples'), self.o.float('period', 1.0))
        self.tx = self.module.tx
        return [self.module.service]

    def connected(self, _connection): self.module.forget()


class Big(Peripheral):
    """A large database of every kind of characteristic."""

    def services(self):
        kinds = [P.READ, P.READ | P.WRITE, P.NOTIFY | P.READ, P.INDICATE | P.READ, P.READ | P.WRITE_WITHOUT_RESPONSE]
        for s in range(self.o.int('services', 20)):
            members = []
            for c in range(self.o.int('chars', 5)):
                value = bytes((s * 16 + c + i) & 255 for i in range([4, 20, 100, 244, 512][(s + c) % 5]))
                uuid = UUID.from_16_bits(0xA000 + s * 64 + c) if s % 2 else UUID(f'0000{s:02X}{c:02X}-1234-5678-9ABC-DEF012345678')
                label = Descriptor(UUID.from_16_bits(0x2901), Descriptor.READABLE, f'value {s}.{c}'.encode())
                members.append(C(uuid, kinds[c % 5], C.READABLE | C.WRITEABLE, value, [label]))
            yield Service(UUID.from_16_bits(0xB000 + s) if s % 2 else UUID(f'5E{s:02X}0000-1234-5678-9ABC-DEF012345678'), members)


class Central(Hosted):
    """A Bumble host that makes links itself, on command."""

    default_name = 'central'
    link = peer = None

    async def start(self):
        self.values = []
        self.make_host()
        self.pairs()
        await self.device.power_on()

    async def call(self, what, *words):
        find = lambda uuid: self.peer.get_characteristics_by_uuid(UUID(uuid))[0]
        match what, *words:
            case ['connect', address, kind, *rest]:
                kind = Address.PUBLIC_DEVICE_ADDRESS if kind == 'public' else Address.RANDOM_DEVICE_ADDRESS
                own = OwnAddressType.PUBLIC if 'own=public' in rest else OwnAddressType.RANDOM
                self.link = await self.device.connect(Address(address, kind), own_address_type=own, timeout=10)
                return f'handle {self.link.handle}'
            case ['pair']:
                await self.link.pair()
                return f'encrypted {self.link.encryption} authenticated {self.link.authenticated} sc {self.link.sc}'
            case ['encrypt']:
                await self.link.encrypt()
                return f'encrypted {self.link.encryption}'
            case ['find']:
                self.peer = Peer(self.link)
                await self.peer.request_mtu(517)
                await self.peer.discover_services()
                await self.peer.discover_characteristics()
                return ' '.join(f'{s.uuid}[{",".join(str(c.uuid) for c in s.characteristics)}]' for s in self.peer.services)
            case ['read', uuid]: return (await find(uuid).read_value()).hex()
            case ['write', uuid, data]: return await find(uuid).write_value(bytes.fromhex(data), with_response=True)
            case ['subscribe', uuid]: return await find(uuid).subscribe(self.values.append)
            case ['got']:
                values, self.values[:] = ','.join(v.hex() for v in self.values), []
                return values
            case ['close']: return await self.link.disconnect()
        raise ValueError(what)


class Beacon(Simple):
    """An advertiser that takes no link; seven kinds, by turns."""

    def __init__(self, index, options, band, rng):
        super().__init__('beacon', Options(f'name=beacon-{index}'), band, rng)
        value = random_bytes(rng, 16)
        nonconnectable, scannable = 3, 2
        static, resolvable, non_resolvable = 0xC0, 0x40, 0x00
        sort, self.type, self.fields = [
            (static, nonconnectable, [  # iBeacon
                (AD.FLAGS, b'\x06'),
                (AD.MANUFACTURER_SPECIFIC_DATA, b'\x4c\x00\x02\x15' + value + struct.pack('>HHb', index, 1, -59))]),
            (static, nonconnectable, [  # Eddystone
                (AD.FLAGS, b'\x06'), (AD.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, b'\xaa\xfe'),
                (AD.SERVICE_DATA_16_BIT_UUID, b'\xaa\xfe\x00\xee' + value)]),
            (non_resolvable, scannable, [(AD.FLAGS, b'\x04'), (AD.MANUFACTURER_SPECIFIC_DATA, b'\xff\xff' + value[:8])]),
            (static, nonconnectable, [(AD.COMPLETE_LOCAL_NAME, f'Bëacon ✓ {index}'.encode())]),
            (static, nonconnectable, [(AD.SERVICE_DATA_128_BIT_UUID, value + b'\x01\x02')]),
            (static, nonconnectable, []),  # no data at all
            (resolvable, nonconnectable, [(AD.FLAGS, b'\x06'), (AD.TX_POWER_LEVEL, b'\xf4'), (AD.APPEARANCE, b'\x41\x03')]),
        ][index % 7]
        address = bytes([sort | rng.randrange(64)]) + random_bytes(rng, 5)
        self.address = Address(colons(address), Address.RANDOM_DEVICE_ADDRESS)
        self.chip.rssi = -40 - rng.randrange(50)
        self.interval = options.float('interval', 100 + rng.randrange(400))

    def payload(self): return bytes(AD(self.fields))

    async def start(self):
        advertiser = self.chip.le_legacy_advertiser
        advertiser.advertising_type = self.type
        advertiser.scan_response_data = bytes(AD([(AD.COMPLETE_LOCAL_NAME, self.name.encode())]))
        await super().start()


KINDS = {'linble': Linble, 'echo': Echo, 'big': Big, 'secure': Secure, 'refuser': Refuser, 'dropper': Dropper,
         'vanisher': Vanisher, 'mute': Simple, 'flood': Flood, 'central': Central}


def devices(text, band, rng):
    """What KIND[:option=value,...] stands for."""
    kind, _, rest = text.partition(':')
    options = Options(rest)
    if kind == 'beacons':
        return [Beacon(i, options, band, rng) for i in range(options.int('count', 20))]
    if kind not in KINDS:
        raise SystemExit(f'radio: unknown kind of device: {kind}')
    return [KINDS[kind](kind, options, band, rng)]
