"""A virtual radio band: N virtual controllers for this kernel (/dev/vhci) and virtual devices, all in one process.

  radio [-n N] [--profile legacy|extended] [--dual-mode] [--no-address] [--ready FILE] [--control SOCKET] [--seed S] [--verbose] [DEVICE...]

Each kernel controller appears as hciK, with addresses from 00:AA:01:00:00:01.
  --profile extended   (default) a 5.x controller, with which Linux uses the extended commands
  --profile legacy     a 4.2 controller
  --dual-mode          a controller with BR/EDR, like most dongles: Linux starts it with LE disabled
  --no-address         a controller without a public address: Linux does not power it on without a static one

DEVICE is  KIND[:option=value,...]  with KIND one of
  linble    a LINBLE (LINBLE-Z1) with a microcontroller that speaks the sample command protocol; split=1 splits its responses
            at random; samples=N and period=SECONDS configure the sensor events
  echo      (LINBLE-ECHO) notifies on 27ADC9CB what is written to 27ADC9CC
  big       a large database: services=N (20) with chars=N (5) each, long values, descriptors
  secure    like echo, but every value requires encryption.  pair=justworks|passkey|numeric|keyboard (justworks), sc=0|1 (1),
            bond=0|1 (1), passkey= the six digits displayed by the device (123456)
  beacons   count=N (20) non-connectable advertisers with various payloads
  refuser   disconnects every link as soon as it is up (reason=0x3e)
  dropper   like echo, and disconnects after=SECONDS (1.0) (reason=0x13)
  vanisher  like echo, and falls silent after=SECONDS (1.0); the link is lost timeout=SECONDS (2.0) later
  mute      accepts a link, then never responds
  flood     like echo; after a subscription it notifies (or indicates) size=N (20) numbered bytes every=SECONDS (0.001),
            count=N (1000) times
  gatt      a server with one of everything: included and secondary services, equal UUIDs, 128-bit UUIDs, all standard
            descriptors, values of all critical lengths, every property, refusals, Service Changed;
            hanging=1 adds a value whose reads are never answered
  extended  uses only extended advertising, non-connectable: its name and size=N (600) bytes in total, on set 3
  updatable takes firmware by the Simple Management Protocol: buffer=N (512) bytes a message; lose=N ends its link after the
            N-th message of an upload
  central   driven through the control socket; pair=, sc=, passkey= as for secure
Devices with attributes accept  hash=msb: the Database Hash most significant byte first;
  wrong=zero|own|next|end: a value handle of 0, of its own declaration or in the next service; the last service ends too early
Every kind accepts  name=, address=, public=1 (a public address; otherwise static random), interval=MS (100), rssi=DBM (-50), mtu=N.
Addresses are generated from --seed by default, and thus the same in every run.

--ready FILE    written once everything is on the air: a line NAME ADDRESS public|random for each device
--control PATH  a Unix stream socket; one line in, one line out ("ok ..." or "error ..."):
  list                       the devices on the air, as in the ready file
  drop NAME [REASON]         ends its links with an HCI reason (0x13 remote user, 0x08 supervision timeout, 0x3e not established)
  vanish NAME [SECONDS]      it falls silent; its links are lost SECONDS (2) later with reason 0x08
  hide NAME | show NAME      it stops / resumes advertising; show also ends a silence
  rssi NAME DBM              sets its RSSI
  notify NAME HEX [UUID]     sends a notification, of an echo's characteristic or of the first one with that UUID
  indicate NAME HEX [UUID]   the same as an indication; answers once it is confirmed
  database NAME              every attribute: HANDLE TYPE VALUE;...  in hexadecimal, - for a dynamic value
  links NAME                 the number of its links
  taken NAME                 the number of links that it has had
  begun NAME                 the interval, latency and supervision timeout of the CONNECT_IND of its last link, in the
                             packet's units
  late NAME [OPCODE SECONDS] delays its responses and confirmations with this opcode (hexadecimal); none without one
  held NAME                  the number of those delayed since
  ask NAME read|confirm UUID it starts to read the characteristic of its central, or requests its indications
  calm                       ends all links immediately and shows every device; answers once no controller has a link
  unplug K | plug [ADDRESS]  hciK disappears / a new controller appears, with the next address by default
  mute K scan|reset          hciK reports no advertisement until the scan is switched off, or until it is reset
  hang K | wake K            hciK answers no command and sends no event / does again
  fail K CODE                hciK reports Hardware Error with a code
  room K LINKS [STATUS]      hciK refuses to connect beyond so many links, with this status, 0x09 by default
  race K                     the next link of hciK comes up when its attempt is cancelled, which is too late
  count NAME                 the number of bytes written to an echo
  call NAME scan NAME | connect ADDRESS public|random [own=public] | pair | encrypt | find | read UUID
            | descriptors UUID UUID | write UUID HEX | command UUID HEX | long UUID HEX | subscribe UUID | listen UUID
            | confirm UUID | unsubscribe UUID | got | close | update FILE
                             an action of a central; scan returns an address and the data advertised, descriptors the
                             properties and the descriptor's value of every characteristic with the first UUID; a command
                             has no response, a long write uses prepared writes, confirm requests indications; listen
                             relies on the subscription of an earlier link; update uses smpclient
  call NAME state            the bytes that an updatable device has, the uploads that have begun, 1 if the image is tested,
                             the restarts
  pairing NAME yes | no | never | enter NUMBER | shown | forget    the answers of the device's user from now on, the number
                             entered, the number displayed; forget deletes all keys
  pairing NAME oob [HEX] | no-oob    it makes out-of-band data, and answers with them as AD structures; it receives such
                             data of its next peers; it has none any more
  stat                       the state of each controller: hci0:links=0,scan=0,adv=0 ...
  quit
"""

import argparse
import asyncio
import errno
import logging
import os
import random

from band import Band
from bumble.transport.file import open_file_transport
from controller import Chip
from devices import devices


class VirtualRadio:
    def __init__(self, args):
        self.args, self.band, self.rng = args, Band(), random.Random(args.seed)
        self.plugged, self.adapters, self.devices = 0, {}, []  # adapters: kernel index -> (chip, transport)

    async def plug(self, address=None):
        """Adds a controller to the kernel, and returns its name."""
        self.plugged += 1
        address = address or ('00:00:00:00:00:00' if self.args.no_address else f'00:AA:01:00:00:{self.plugged:02X}')
        transport = await open_file_transport('/dev/vhci')
        file = transport.sink.transport.get_extra_info('pipe').fileno()

        def send(packet):
            try:
                os.write(file, packet)
            except OSError as error:
                # The kernel accepts nothing from a controller that is down; it stays plugged in nevertheless.
                if error.errno != errno.ENXIO:
                    raise

        transport.sink.on_packet = send
        chip = Chip('hci', self.args.profile, dual_mode=self.args.dual_mode, link=self.band, host_source=transport.source,
                    host_sink=transport.sink, public_address=address)
        number = asyncio.get_running_loop().create_future()

        def received(data):
            if data[:1] == b'\xff':
                number.set_result(int.from_bytes(data[2:4], 'little'))
            else:
                transport.source.parser.feed_data(data)

        transport.source.data_received = received
        transport.sink.on_packet(b'\xff\x00')
        index = await number
        chip.name = f'hci{index}'
        self.adapters[index] = chip, transport
        return chip.name

    async def unplug(self, index):
        chip, transport = self.adapters.pop(index)
        chip.unplug()
        await transport.close()

    async def start(self):
        for _ in range(self.args.n):
            await self.plug()
        for text in self.args.device:
            self.devices += devices(text, self.band, self.rng)
        for device in self.devices:
            await device.start()
        if self.args.control:
            await asyncio.start_unix_server(self.serve, self.args.control)
        if self.args.ready:
            with open(self.args.ready + '.new', 'w') as file:
                file.writelines(device.line() + '\n' for device in self.devices)
            os.rename(self.args.ready + '.new', self.args.ready)
        print('READY', flush=True)

    def find(self, name):
        for device in self.devices:
            if device.name == name:
                return device
        raise LookupError(f'no device {name}')

    async def calm(self):
        for chip in [device.chip for device in self.devices] + [chip for chip, _ in self.adapters.values()]:
            chip.calm()
        while any(chip.le_connections for chip, _ in self.adapters.values()):
            await asyncio.sleep(0.01)

    async def command(self, words):
        match words:
            case ['list']: return '; '.join(device.line() for device in self.devices)
            case ['drop', name, *reason]: self.find(name).chip.cut(int(reason[0], 0) if reason else 0x13)
            case ['vanish', name, *seconds]: self.find(name).chip.vanish(float(seconds[0]) if seconds else 2.0)
            case ['hide', name]: self.find(name).chip.hidden = True
            case ['show', name]:
                chip = self.find(name).chip
                chip.hidden = chip.silent = False
            case ['rssi', name, dbm]: self.find(name).chip.rssi = int(dbm)
            case ['notify', name, data, *uuid]: await self.find(name).tell('notify', bytes.fromhex(data), *uuid)
            case ['indicate', name, data, *uuid]: await self.find(name).tell('indicate', bytes.fromhex(data), *uuid)
            case ['database', name]: return ';'.join(self.find(name).attributes())
            case ['links', name]: return len(self.find(name).chip.le_connections)
            case ['taken', name]: return self.find(name).taken
            case ['begun', name]: return ' '.join(str(number) for number in self.find(name).chip.begun)
            case ['late', name, *late]: self.find(name).hold(*late)
            case ['held', name]: return self.find(name).held
            case ['ask', name, what, uuid]: return await self.find(name).ask(what, uuid)
            case ['calm']: await self.calm()
            case ['count', name]: return self.find(name).written_bytes
            case ['call', name, *rest]: return await self.find(name).call(*rest)
            case ['pairing', name, *rest]: return await self.find(name).pairing(*rest)
            case ['unplug', index]: await self.unplug(int(index))
            case ['plug', *address]: return await self.plug(*address)
            case ['mute', index, cure]: self.adapters[int(index)][0].mute = {'scan': 'scan', 'reset': 'reset'}[cure]
            case ['hang', index]: self.adapters[int(index)][0].hanging = True
            case ['wake', index]: self.adapters[int(index)][0].hanging = False
            case ['fail', index, code]: self.adapters[int(index)][0].raw_event(0x10, bytes([int(code, 0)]))
            case ['room', index, links, *status]:
                self.adapters[int(index)][0].room = int(links), int(status[0], 0) if status else 0x09
            case ['race', index]: self.adapters[int(index)][0].racing = True
            case ['stat']:
                return ' '.join(f'{chip.name}:links={len(chip.le_connections)},scan={int(chip.le_scan_enable)}'
                                f',adv={int(chip.is_advertising)},init={int(chip.pending_le_connection is not None)}' for chip, _ in self.adapters.values())
            case ['quit']: asyncio.get_running_loop().call_later(0.1, os._exit, 0)
            case _: raise ValueError('unknown command')

    async def serve(self, reader, writer):
        while line := await reader.readline():
            try:
                answer = await self.command(line.decode().split())
                answer = 'ok' if answer is None else f'ok {answer}'
            except Exception as error:
                answer = f'error {error!r} {error}'
            writer.write(answer.strip().encode() + b'\n')
            await writer.drain()
        writer.close()


def options(words=None):
    parser = argparse.ArgumentParser('radio', usage=__doc__)
    parser.add_argument('-n', type=int, default=1)
    parser.add_argument('--profile', choices=['legacy', 'extended'], default='extended')
    parser.add_argument('--dual-mode', action='store_true')
    parser.add_argument('--no-address', action='store_true')
    parser.add_argument('--ready')
    parser.add_argument('--control')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--seconds', type=float, default=10**9, help='exit after this time')
    parser.add_argument('--verbose', action='store_true')
    parser.add_argument('device', nargs='*')
    return parser.parse_args(words)


async def main(args):
    logging.basicConfig(level=logging.DEBUG if args.verbose else logging.ERROR)
    radio = VirtualRadio(args)
    await radio.start()
    await asyncio.sleep(args.seconds)


if __name__ == '__main__':
    asyncio.run(main(options()))
