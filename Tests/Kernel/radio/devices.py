"""The virtual devices: each a controller, most with a Bumble host."""

import asyncio
import logging
import struct

import firmware
from band import Air
from bumble import att
from bumble.core import AdvertisingData as AD
from bumble.att import ATT_Error
from bumble.core import UUID
from bumble.device import Device, DeviceConfiguration, Peer
from bumble.gatt import Characteristic as C
from bumble.gatt import CharacteristicValue, Descriptor, IncludedServiceDeclaration, Service
from bumble.gatt_client import Client
from bumble.hci import Address, OwnAddressType
from bumble.host import Host
from bumble.l2cap import LeCreditBasedChannelSpec
from bumble.pairing import OobContext, OobData, PairingConfig, PairingDelegate
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
    """A user who answers yes, no or never; the device displays a fixed passkey, and the user enters a given one."""

    def __init__(self, mode, passkey):
        super().__init__({'justworks': PairingDelegate.NO_OUTPUT_NO_INPUT, 'passkey': PairingDelegate.DISPLAY_OUTPUT_ONLY,
                          'numeric': PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT,
                          'keyboard': PairingDelegate.KEYBOARD_INPUT_ONLY}[mode])
        self.passkey, self.answer, self.shown, self.entered = passkey, 'yes', '', asyncio.Queue()

    async def generate_passkey(self): return self.passkey
    async def display_number(self, number, digits): self.shown = f'{number:0{digits}}'
    async def get_number(self): return await self.entered.get()
    async def accept(self): return await self.yes()

    async def compare_numbers(self, number, digits):
        self.shown = f'{number:0{digits}}'
        return await self.yes()

    async def yes(self):
        while self.answer == 'never':
            await asyncio.sleep(1)
        return self.answer == 'yes'


def random_bytes(rng, n): return bytes(rng.randrange(256) for _ in range(n))
def colons(data): return ':'.join(f'{byte:02X}' for byte in data)


class Simple:
    """A device with a name, an address and a controller, which advertises and accepts a link but never responds (mute)."""

    default_name = None

    def __init__(self, kind, options, band, rng):
        self.kind, self.o, self.rng = kind, options, rng
        self.name = options.get('name') or self.default_name or f'{kind}-{rng.randrange(1000)}'
        self.public = options.on('public')
        generated = bytes([0xC0 | rng.randrange(64)]) + random_bytes(rng, 5)  # a static random address
        text = options.get('address') or colons(b'\x00\xbb' + generated[2:] if self.public else generated)
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
    eatt = False

    def make_host(self):
        host = Host()
        host.controller = self.chip
        self.device = Device(host=host, config=DeviceConfiguration(
            name=self.name, address=self.address, eatt_enabled=self.eatt,
            advertising_interval_min=self.interval, advertising_interval_max=self.interval))
        if mtu := self.o.int('mtu'):
            self.device.gatt_server.max_mtu = mtu

    def pairs(self):
        mode = self.o.get('pair', 'justworks')
        self.user = Numbers(mode, int(self.o.get('passkey', 123456)))
        self.context, self.received = None, None  # out-of-band data: its own, the other side's
        self.device.pairing_config_factory = lambda _: PairingConfig(
            sc=self.o.on('sc', '1'), mitm=mode != 'justworks', bonding=self.o.on('bond', '1'), delegate=self.user,
            oob=self.context and PairingConfig.OobConfig(self.context, self.received, None))

    async def pairing(self, what, *words):
        match what, *words:
            case ['shown']: return self.user.shown
            case ['enter', number]: self.user.entered.put_nowait(int(number))
            case ['forget']: await self.device.keystore.delete_all()
            case ['oob']:
                self.context = OobContext()
                return self.context.share().to_ad().__bytes__().hex()
            case ['oob', data]:
                self.context = self.context or OobContext()
                # Bumble takes the address without its type (CSS Part A 1.16 has both), and no other.
                values = [each for each in AD.from_bytes(bytes.fromhex(data)).ad_structures
                          if each[0] != AD.LE_BLUETOOTH_DEVICE_ADDRESS]
                self.received = OobData.from_ad(AD(values)).shared_data
            case ['no-oob']: self.context, self.received = None, None
            case ['request']:  # by a Security Request, which the central refuses; returns the reason of its Pairing Failed
                refused = asyncio.get_running_loop().create_future()
                self.link.once('pairing_failure', refused.set_result)
                self.link.request_pairing()
                return int(await asyncio.wait_for(refused, 10))
            case ['yes' | 'no' | 'never']: self.user.answer = what
            case _: raise ValueError(what)


class Peripheral(Hosted):
    """Advertises, serves services(), and accepts one link at a time."""

    link, late, held, taken = None, None, 0, 0

    async def start(self):
        self.make_host()
        if self.kind == 'secure':
            self.pairs()
        for service in self.services():
            self.device.add_service(service)
        self.device.on('connection', self.follow)
        if 'wrong' in self.o:
            self.contradict(self.o['wrong'])
        if self.o.get('hash') == 'msb':
            found = self.device.gatt_service.database_hash_characteristic
            read = found.value.read
            found.value = CharacteristicValue(read=lambda connection: read(connection)[::-1])
        self.device.on('connection', self.connected)
        server = self.device.gatt_server
        answer = server.send_response
        server.send_response = lambda bearer, response: self.send(response.op_code, answer, bearer, response)
        await self.device.power_on()
        self.device.advertising_data = self.payload()
        self.device.scan_response_data = bytes(AD([(AD.MANUFACTURER_SPECIFIC_DATA, b'\xff\xff' + self.kind.encode())]))
        await self.device.start_advertising(
            auto_restart=True, own_address_type=OwnAddressType.PUBLIC if self.public else OwnAddressType.RANDOM)

    def connected(self, _connection): pass

    def follow(self, connection):
        self.link, self.taken = connection, self.taken + 1
        client = connection.gatt_client
        confirm = client.send_confirmation
        client.send_confirmation = lambda confirmation: self.send(confirmation.op_code, confirm, confirmation)

    def hold(self, opcode=None, seconds='0'):
        """Delays responses with this opcode from now on."""
        self.late, self.held = opcode and (int(opcode, 16), float(seconds)), 0

    def send(self, opcode, send, *arguments):
        if not self.late or self.late[0] != opcode:
            return send(*arguments)
        self.held += 1
        link = self.link

        def later():
            # The next link may reuse the handle.
            if self.link is not link:
                return
            try:
                send(*arguments)
            except Exception:
                logging.debug('%s: a link ended before a response', self.name, exc_info=True)
        asyncio.get_running_loop().call_later(self.late[1], later)

    async def ask(self, what, uuid):
        """Acts as the client of its central."""
        peer = Peer(self.link)
        await peer.discover_services()
        await peer.discover_characteristics()
        found = peer.get_characteristics_by_uuid(UUID(uuid))[0]
        match what:
            case 'read': self.reading = asyncio.create_task(found.read_value())
            case 'confirm': await found.subscribe(lambda _: None, prefer_notify=False)
            case _: raise ValueError(what)

    def contradict(self, what):
        """Falsifies one declaration: that of the first characteristic of the last service but one, or the end of the last
        service."""
        attributes = self.device.gatt_server.attributes
        last = [a for a in attributes if isinstance(a, Service)][-2:]
        declarations = [a for a in attributes if a.handle > last[0].handle and a.type == UUID.from_16_bits(0x2803)]
        if what == 'end':
            last[1].end_group_handle = declarations[-1].handle
            return
        declaration = declarations[0]
        handle = {'zero': 0, 'own': declaration.handle, 'next': last[1].handle + 2}[what]
        declaration.value = declaration.value[:1] + struct.pack('<H', handle) + declaration.value[3:]

    def attributes(self):
        """The actual database, for comparison: HANDLE TYPE VALUE of every attribute."""
        for a in self.device.gatt_server.attributes:
            value = a.value.hex() if isinstance(a.value, (bytes, bytearray)) else '' if a.value is None else '-'
            yield f'{a.handle:04X} {a.type.to_hex_str("-")} {value}'.rstrip()

    async def tell(self, how, value, uuid=None):
        """Sends a notification or an indication."""
        found = [a for a in self.device.gatt_server.attributes if isinstance(a, C) and uuid and a.uuid == UUID(uuid)]
        characteristic = found[0] if uuid else self.tx
        if how == 'notify':
            await self.device.notify_subscribers(characteristic, value)
        else:
            await self.device.indicate_subscribers(characteristic, value)

    async def notify(self, characteristic, value):
        try:
            await self.device.notify_subscribers(characteristic, value)
        except Exception:
            logging.debug('%s: a link ended before a notification', self.name, exc_info=True)


class Echo(Peripheral):
    """Notifies what is written."""

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
        while not self.back.empty():  # the data of the previous link
            self.back.get_nowait()


class Secure(Echo):
    default_name, encrypted = None, True

    @property
    def authenticated(self): return self.o.get('pair', 'justworks') != 'justworks'


class Flood(Echo):
    """Sends numbered notifications or indications after a subscription."""

    default_name = None

    def services(self):
        services = super().services()
        self.tx.on('subscription', self.subscribed)
        return services

    def subscribed(self, connection, notify, indicate):
        if notify or indicate:
            send = self.device.notify_subscriber if notify else self.device.indicate_subscriber
            self.flooding = asyncio.create_task(self.flood(connection, send))

    async def flood(self, connection, send):
        for i in range(self.o.int('count', 1000)):
            await send(connection, self.tx, struct.pack('<I', i).ljust(self.o.int('size', 20), b'.'))
            await asyncio.sleep(self.o.float('every', 0.001))


class Refuser(Echo):
    """Disconnects every link as soon as it is up."""

    default_name, after, reason = None, 0.0, 0x3E

    def connected(self, connection):
        super().connected(connection)
        reason = self.o.int('reason', self.reason)
        asyncio.get_running_loop().call_later(self.o.float('after', self.after), self.chip.cut, reason)


class Dropper(Refuser):
    """Disconnects every link after a while."""

    after, reason = 1.0, 0x13


class Vanisher(Echo):
    """Falls silent after a while, as if its battery were removed; `show` ends that."""

    default_name = None

    def connected(self, connection):
        super().connected(connection)
        asyncio.get_running_loop().call_later(self.o.float('after', 1.0), self.chip.vanish, self.o.float('timeout', 2.0))


class Channel(Peripheral):
    """Connection-oriented channels: PSM 0x80 sends back what comes in, 0x81 closes after as much, 0x82 sends as much at
    once and again and again. Attributes on enhanced bearers, too."""

    eatt = True

    def services(self):
        self.pairs()
        mtu, credits = self.o.int('mtu', 500), self.o.int('credits', 8)
        for psm, opened in (0x80, self.echo), (0x81, self.shut), (0x82, self.flood):
            spec = LeCreditBasedChannelSpec(psm=psm, mtu=mtu, mps=min(mtu, 200), max_credits=credits)
            self.device.create_l2cap_server(spec, handler=opened)
        return [Service(UUID.from_16_bits(0xFFF0), [
            C(UUID.from_16_bits(0xFFF1), P.READ | P.WRITE, C.READABLE | C.WRITEABLE, bytes(range(100)))])]

    def echo(self, channel): channel.sink = channel.write

    def shut(self, channel):
        left = [self.o.int('size', 1000)]

        def sink(data):
            left[0] -= len(data)
            if left[0] <= 0:
                asyncio.create_task(channel.disconnect())
        channel.sink = sink

    def flood(self, channel):
        channel.sink = lambda data: channel.write(bytes(i & 255 for i in range(int.from_bytes(data, 'little'))))


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


class Updatable(Peripheral):
    """Takes firmware, and ends its link after the message with the number lose=N."""

    default_name = 'updatable'

    def services(self):
        self.server, self.back = firmware.Server(self.o.int('buffer', 512)), asyncio.Queue()
        self.messages = C(firmware.MESSAGES, P.NOTIFY | P.WRITE_WITHOUT_RESPONSE, C.WRITEABLE,
                          CharacteristicValue(read=unreadable, write=lambda _, value: self.back.put_nowait(bytes(value))))
        self.answering = asyncio.create_task(self.answer())
        return [Service(firmware.SERVICE, [self.messages])]

    def connected(self, _connection): self.server.connected()

    async def answer(self):
        while True:
            response, restarts = self.server.receive(await self.back.get())
            if response is None:
                continue
            if self.server.chunks == self.o.int('lose'):
                self.server.chunks += 1
                await self.link.disconnect()
                continue
            length = self.link.att_mtu - 3
            for start in range(0, len(response), length):
                await self.notify(self.messages, response[start:start + length])
            if restarts:
                await self.link.disconnect()

    async def call(self, what):
        if what != 'state':
            raise ValueError(what)
        server = self.server
        return f'{len(server.image)} {server.uploads} {int(server.tested)} {server.resets}'


def refuse(code):
    """A value whose reads and writes are refused with this ATT error."""
    def refused(*_):
        raise ATT_Error(code)
    return CharacteristicValue(read=refused, write=refused)


async def silent(_connection):
    """A value whose reads are never answered."""
    await asyncio.get_running_loop().create_future()


def wide(number): return UUID(f'{number:08X}-1234-5678-9ABC-DEF012345678')


class Gatt(Peripheral):
    """One of everything that a database can have. UUIDs below 0xFFxx are assigned ones, those of wide() invented."""

    default_name = 'gatt'
    # Around the default ATT_MTU of 23, around one of 64, and the longest.
    lengths = [0, 1, 19, 20, 21, 22, 23, 24, 61, 62, 63, 64, 65, 244, 511, 512]

    def services(self):
        u = UUID.from_16_bits
        both = C.READABLE | C.WRITEABLE
        text = lambda words: Descriptor(u(0x2901), Descriptor.READABLE, words.encode())
        value = lambda n: bytes((7 * n + i) & 255 for i in range(n))
        battery = Service(u(0x180F), [
            C(u(0x2A19), P.READ | P.NOTIFY, C.READABLE, b'\x63', [
                Descriptor(u(0x2904), Descriptor.READABLE, bytes.fromhex('0400AD27010100')), text('battery level')])])
        second = Service(wide(0x5E020000), [C(wide(0xCA020001), P.READ, C.READABLE, b'second')], primary=False)
        third = Service(u(0x180A), [C(u(0x2A29), P.READ, C.READABLE, b'Made Up Inc.')], primary=False)
        every = Service(wide(0x5E010000), [
            C(wide(0xCA010001), P.READ | P.WRITE, both, b'read me', [text('read and write')]),
            C(wide(0xCA010002), P.READ | P.WRITE_WITHOUT_RESPONSE, both, b'', [text('commands')]),
            C(wide(0xCA010003), P.READ | P.WRITE | P.EXTENDED_PROPERTIES, both, b'one', [
                Descriptor(u(0x2900), Descriptor.READABLE, b'\x03\x00'),
                Descriptor(u(0x2901), Descriptor.READABLE | Descriptor.WRITEABLE, b'reliable')]),
            C(wide(0xCA010004), P.READ | P.WRITE | P.EXTENDED_PROPERTIES, both, b'two', [
                Descriptor(u(0x2900), Descriptor.READABLE, b'\x01\x00')]),
            C(wide(0xCA010005), P.NOTIFY, C.Permissions(0), b''),
            C(wide(0xCA010006), P.INDICATE, C.Permissions(0), b''),
            C(wide(0xCA010007), P.READ | P.NOTIFY | P.INDICATE, C.READABLE, b'both'),
            C(wide(0xCA010008), P.READ | P.BROADCAST, C.READABLE, b'on the air', [
                Descriptor(u(0x2903), Descriptor.READABLE | Descriptor.WRITEABLE, b'\x00\x00')]),
            C(wide(0xCA010009), P.AUTHENTICATED_SIGNED_WRITES, C.WRITEABLE, b''),
            C(wide(0xCA01000A), P.READ | P.WRITE, both, refuse(0x80), [text('refuses with 0x80')]),
            C(wide(0xCA01000B), P.READ, C.READABLE | C.READ_REQUIRES_ENCRYPTION, b'secret'),
            C(wide(0xCA01000C), P.WRITE, C.WRITEABLE, CharacteristicValue(read=unreadable, write=lambda *_: None)),
            C(u(0x2A05), P.READ, C.READABLE, b'a UUID out of place'),
            C(wide(0xCA01000D), P.READ, C.READABLE, bytes.fromhex('0102'), [
                Descriptor(u(0x2904), Descriptor.READABLE, bytes.fromhex('06000127010100')),
                Descriptor(u(0x2904), Descriptor.READABLE, bytes.fromhex('08FE2F27010200')),
                Descriptor(u(0x2905), Descriptor.READABLE, b''),
                Descriptor(u(0x2906), Descriptor.READABLE, bytes.fromhex('00010A00')),
                Descriptor(u(0x2907), Descriptor.READABLE, bytes.fromhex('192A')),
                Descriptor(u(0x2908), Descriptor.READABLE, bytes.fromhex('0102')),
                Descriptor(wide(0xDE010001), Descriptor.READABLE, b'a descriptor of our own')]),
        ], included_services=[battery, second])
        lengths = Service(wide(0x5E030000), [C(u(0xFF10), P.READ | P.WRITE, both, value(n)) for n in self.lengths],
                          included_services=[third])
        # Two of the same kind.
        twins = [Service(u(0xFFE0), [C(u(0xFFE1), P.READ | P.NOTIFY, C.READABLE, f'twin {i}'.encode())]) for i in range(2)]
        empty = Service(u(0xFFF0), [])
        hanging = Service(u(0xFFF1), [C(wide(0xCA01000E), P.READ, C.READABLE, CharacteristicValue(read=silent))])
        return [battery, second, third, every, lengths, *twins, empty, *([hanging] if self.o.on('hanging') else [])]

    async def start(self):
        await super().start()
        formats = []
        for a in self.device.gatt_server.attributes:
            if a.type == UUID.from_16_bits(0x2904):
                formats.append(a.handle)
            if a.type == UUID.from_16_bits(0x2905):  # the handles of the aggregated formats
                a.value = struct.pack('<HH', *formats[-2:])
            # An include declaration has no 128-bit UUID (Core Vol 3 Part G 3.2); Bumble would truncate it.
            if isinstance(a, IncludedServiceDeclaration) and len(a.service.uuid.to_pdu_bytes()) != 2:
                a.value = a.value[:4]


class Central(Hosted):
    """A Bumble host that connects on command."""

    default_name = 'central'
    link = peer = None

    async def start(self):
        self.values = []
        self.take = self.values.append
        self.make_host()
        self.pairs()
        await self.device.power_on()

    async def call(self, what, *words):
        find = lambda uuid: self.peer.get_characteristics_by_uuid(UUID(uuid))[0]
        match what, *words:
            case ['scan', name]: return await asyncio.wait_for(self.scan(name), 20)
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
            case ['descriptors', uuid, kind]:  # of all characteristics with this UUID
                return ' '.join([f'{each.properties.value:02x}:{await self.read_descriptor(each, UUID(kind))}'
                                 for each in self.peer.get_characteristics_by_uuid(UUID(uuid))])
            case ['write', uuid, data]: return await find(uuid).write_value(bytes.fromhex(data), with_response=True)
            case ['command', uuid, data]: return await find(uuid).write_value(bytes.fromhex(data))
            case ['long', uuid, data]: return await self.write_long(find(uuid).handle, bytes.fromhex(data))
            case ['subscribe', uuid]: return await find(uuid).subscribe(self.take)
            case ['listen', uuid]:  # to what was subscribed to on an earlier link, at the handle found there
                self.link.gatt_client.notification_subscribers.setdefault(find(uuid).handle, set()).add(self.take)
                return
            case ['confirm', uuid]: return await find(uuid).subscribe(self.take, prefer_notify=False)
            case ['unsubscribe', uuid]: return await find(uuid).unsubscribe(self.take)
            case ['bearers', count]:  # enhanced bearers, for the discovered attributes
                clients = await Client.connect_eatt(self.link, count=int(count))
                self.bearers = clients if isinstance(clients, list) else [clients]
                return str(len(self.bearers))
            case ['readall', uuid]:  # on all bearers concurrently
                values = await asyncio.gather(*(b.read_value(find(uuid).handle) for b in self.bearers))
                return ','.join(value.hex() for value in values)
            case ['writeby', number, uuid, data]:
                return await self.bearers[int(number)].write_value(find(uuid).handle, bytes.fromhex(data), True)
            case ['got']:
                values, self.values[:] = ','.join(v.hex() for v in self.values), []
                return values
            case ['close']: return await self.link.disconnect()
            case ['update', path]: return '%s %d' % await firmware.update(self.link, open(path, 'rb').read())
        raise ValueError(what)

    async def scan(self, name):
        """Scans until a device with this name advertises; returns its address and its data."""
        found = asyncio.get_running_loop().create_future()

        def received(advertisement):
            if advertisement.data.get(AD.COMPLETE_LOCAL_NAME) == name and not found.done():
                found.set_result(f'{advertisement.address.to_string(False)} {bytes(advertisement.data).hex()}')

        self.device.on('advertisement', received)
        try:
            await self.device.start_scanning()
            return await found
        finally:
            self.device.remove_listener('advertisement', received)
            await self.device.stop_scanning()

    async def read_descriptor(self, characteristic, kind):
        if not characteristic.descriptors_discovered:
            await characteristic.discover_descriptors()
        return (await characteristic.get_descriptor(kind).read_value()).hex()

    async def write_long(self, handle, data):
        """Bumble's client has no procedure for prepared writes."""
        client = self.peer.gatt_client
        step = client.mtu - 5
        for offset in range(0, len(data), step):
            part = data[offset:offset + step]
            answer = await client.send_request(att.ATT_Prepare_Write_Request(
                attribute_handle=handle, value_offset=offset, part_attribute_value=part))
            if not isinstance(answer, att.ATT_Prepare_Write_Response) or answer.part_attribute_value != part:
                raise ValueError(f'prepare: {answer}')
        answer = await client.send_request(att.ATT_Execute_Write_Request(flags=1))
        if not isinstance(answer, att.ATT_Execute_Write_Response):
            raise ValueError(f'execute: {answer}')


class Beacon(Simple):
    """A non-connectable advertiser, of seven kinds in turn."""

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


class Extended(Simple):
    """Only extended advertising: a payload too long for a legacy packet, on set 3."""

    sid = 3

    def payload(self):
        data = self.name.encode()
        data = bytes([len(data) + 1, AD.COMPLETE_LOCAL_NAME]) + data
        left = self.o.int('size', 600) - len(data)
        while left > 4:  # as many structures as necessary, with counting bytes
            count = min(left - 4, 240)
            data += bytes([count + 3, AD.MANUFACTURER_SPECIFIC_DATA]) + b'\xff\xff' + bytes(i & 255 for i in range(count))
            left -= count + 4
        return data

    async def start(self):
        self.chip.random_address, self.data = self.address, self.payload()
        self.advertising = asyncio.create_task(self.advertise())

    async def advertise(self):
        while True:
            self.chip.send_advertising_pdu(
                Air(self.address, self.data, connectable=False, scannable=False, legacy=False, sid=self.sid))
            await asyncio.sleep(self.interval / 1000)


KINDS = {'linble': Linble, 'echo': Echo, 'big': Big, 'secure': Secure, 'refuser': Refuser, 'dropper': Dropper,
         'vanisher': Vanisher, 'mute': Simple, 'flood': Flood, 'channel': Channel, 'gatt': Gatt, 'central': Central,
         'extended': Extended, 'updatable': Updatable}


def devices(text, band, rng):
    """The devices for KIND[:option=value,...]."""
    kind, _, rest = text.partition(':')
    options = Options(rest)
    if kind == 'beacons':
        return [Beacon(i, options, band, rng) for i in range(options.int('count', 20))]
    if kind not in KINDS:
        raise SystemExit(f'radio: unknown kind of device: {kind}; kinds: beacons, {", ".join(sorted(KINDS))}')
    return [KINDS[kind](kind, options, band, rng)]
