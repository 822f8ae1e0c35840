"""`linble bridge`: pyserial on a port that outlives links, cut in mid-transfer, and the adapter."""

import json
import os
import random
import threading
import time

import serial

from harness import FOLDER, Program, Radio, check, run_story, the_end, until

PORT = f'{FOLDER}/ttyBLE'
# The number of times that the link is cut; CUTS=20 before a release.
CUTS = int(os.environ.get('CUTS', '3'))
NAME = 'LINBLE-ECHO'


class Bridge(Program):
    """A bridge to the device that echoes, and the events that it prints."""

    def __init__(self, *options):
        super().__init__('linble', 'bridge', '--json', '-i', 'hci0', '-n', NAME, '--pty', PORT, *options)
        self.until(lambda: self.events('bridging'), 30, 'the port is open')

    def events(self, name):
        lines = self.out.splitlines(keepends=True)
        return [each for each in (json.loads(line) for line in lines if line.endswith('\n')) if each['event'] == name]

    def await_link(self, number):
        self.until(lambda: len(self.events('online')) >= number, 90, f'link {number}')

    def stop(self):
        """Stops it as a service manager does; returns the counts."""
        self.terminate()
        self.finish(0, within=10)
        self.check(not os.path.lexists(PORT), 'the link remains')
        return self.events('ended')[0]


class Transfer:
    """A program that writes random bytes to the port, and reads what comes back, until it is told to end."""

    def __init__(self):
        self.sent, self.got, self.writes, self.reads = bytearray(), bytearray(), True, True
        self.port = serial.Serial(PORT, 115200, timeout=0.2)
        self.threads = [threading.Thread(target=body, daemon=True) for body in (self.write, self.read)]
        for thread in self.threads:
            thread.start()

    def write(self):
        while self.writes:
            piece = os.urandom(256)
            # Blocks while the bridge's buffer is full.
            self.port.write(piece)
            self.sent += piece

    def read(self):
        while self.reads:
            self.got += self.port.read(4096)

    def end(self):
        """Ends writing, waits until the last bytes have come back, and closes the port."""
        self.writes = False
        self.threads[0].join()
        mark = bytes(32)
        self.port.write(mark)
        self.sent += mark
        until(lambda: self.got.endswith(mark), 60, f'the last bytes: {len(self.got)} of {len(self.sent)} came back')
        self.reads = False
        self.threads[1].join()
        self.port.close()

    def gaps(self):
        """The numbers of bytes missing at each place; fails if a byte came twice or in another order."""
        gaps, sent, got = [], bytes(self.sent), bytes(self.got)
        here = there = 0
        while here < len(got):
            same = len(os.path.commonprefix([got[here:here + 4096], sent[there:there + 4096]]))
            if same:
                here, there = here + same, there + same
                continue
            # Random bytes: these are nowhere else.
            found = sent.find(got[here:here + 16], there)
            check(found >= 0, f'byte {here} of {len(got)} was not sent after byte {there} of {len(sent)}')
            gaps.append(found - there)
            there = found
        return gaps


def links_are_cut(radio, profile):
    chance = random.Random(profile)
    before = int(radio.ask(f'count {NAME}'))
    # Paced, so that a link of the seconds that do not count as a failure carries little.
    with Bridge('--buffer', '4096', '--pace', '4000') as bridge:
        transfer = Transfer()
        for number in range(1, CUTS + 1):
            bridge.await_link(number)
            began = int(radio.ask(f'count {NAME}'))
            time.sleep(5 + 2 * chance.random())
            bridge.until(lambda: int(radio.ask(f'count {NAME}')) > began, 30, 'the transfer is in progress')
            radio.ask(f'drop {NAME} {chance.choice(["0x08", "0x13"])}')
            bridge.until(lambda: len(bridge.events('offline')) >= number, 30, f'the end of link {number}')
        bridge.await_link(CUTS + 1)
        transfer.end()
        counts = bridge.stop()
        gaps = transfer.gaps()
        arrived = int(radio.ask(f'count {NAME}')) - before
        bridge.check(len(gaps) <= CUTS, f'{len(gaps)} gaps after {CUTS} cuts: {gaps}')
        bridge.check(counts['sent'] == len(transfer.sent), f'{len(transfer.sent)} bytes were written: {counts}')
        bridge.check(len(transfer.sent) - arrived <= counts['unconfirmed'], f'{arrived} of {len(transfer.sent)} arrived: {counts}')
        bridge.check(counts['received'] == len(transfer.got) and counts['unread'] == 0, f'{len(transfer.got)} bytes were read: {counts}')
        bridge.check(counts['unconfirmed'] == sum(each['lost'] for each in bridge.events('offline')), f'{counts}')


def an_absent_device_is_waited_for(radio):
    radio.ask(f'hide {NAME}')
    with Bridge() as bridge, serial.Serial(PORT, 115200, timeout=90) as port:
        port.write(b'early')
        bridge.until(lambda: radio.stat()['scan'] == 1, 30, 'it scans')
        radio.ask(f'show {NAME}')
        bridge.check(port.read(5) == b'early', 'the echo')
        check(bridge.stop()['unconfirmed'] == 0, 'nothing was lost')


def the_adapter_comes_back(radio):
    with Bridge() as bridge, serial.Serial(PORT, 115200, timeout=120) as port:
        bridge.await_link(1)
        radio.ask('unplug 0')
        bridge.until(lambda: bridge.events('offline'), 30, 'the end of the link')
        bridge.until(lambda: any(each['for'] == 'adapter' for each in bridge.events('waiting')), 30, 'it waits')
        port.write(b'meanwhile')
        # The same adapter again.
        radio.ask('plug 00:AA:01:00:00:01')
        bridge.await_link(2)
        bridge.check(port.read(9) == b'meanwhile', 'the echo')
        bridge.stop()


for profile in ('extended', 'legacy'):
    with Radio('echo', profile=profile) as radio:
        run_story(f'{profile}: {CUTS} links are cut', links_are_cut, radio, profile)
        run_story(f'{profile}: an absent device is waited for', an_absent_device_is_waited_for, radio)
        run_story(f'{profile}: the adapter comes back', the_adapter_comes_back, radio)
the_end()
