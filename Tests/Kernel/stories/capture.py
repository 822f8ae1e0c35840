"""--trace: tshark and btmon read the file, recorded with and without privileges."""

import os
import subprocess
import threading

import kernel
from harness import FOLDER, NOBODY, Radio, check, executable, open_to_all, run, run_story, the_end, until


def tshark(path, wanted, *fields):
    """The packets that match a display filter, each as a list of fields."""
    names = [word for field in fields for word in ('-e', field)]
    done = subprocess.run(['tshark', '-r', path, '-Y', wanted, '-T', 'fields', *names], capture_output=True, text=True)
    check(done.returncode == 0, f'tshark: {done.stderr}')
    return [line.split('\t') for line in done.stdout.splitlines()]


def has_the_exchange(path, peer):
    """Checks for a discovery and UART data: requests to the peer, responses and notifications from it."""
    addresses = ('bthci_acl.src.bd_addr', 'bthci_acl.dst.bd_addr')
    packets = tshark(path, 'btatt', 'btatt.opcode', 'btatt.value', *addresses)
    for opcode, value, column in (('0x02', '', 3), ('0x03', '', 2), ('0x52', '0100', 3), ('0x1b', '0140', 2)):
        check(any(packet[0] == opcode and packet[1] == value and packet[column] == peer for packet in packets),
              f'no {opcode} {value} with {peer}: {packets}')
    malformed = tshark(path, '_ws.malformed', 'frame.number')
    check(not malformed, f'malformed: {malformed}')


def exchange(path, *options, wrapper=(), exits=0):
    return run('linble', '-v', '-i', 'hci0', '--trace', path, *options, 'exchange', '0100', wrapper=wrapper, exits=exits,
               within=60)


def everything(radio):
    path = os.path.join(FOLDER, 'monitor.btsnoop')
    peer = radio.address['LINBLE-Z1']
    exchange(path, '-n', 'LINBLE-Z1').says('recording the packets of all adapters')
    has_the_exchange(path, peer.lower())
    # Only the monitor has the kernel's commands.
    check(tshark(path, 'bthci_cmd.opcode == 0x2043 || bthci_cmd.opcode == 0x200d', 'frame.number'), 'no connect')


def own_packets(radio):
    """Without privileges the program can neither power on nor scan, but can connect by address."""
    kernel.up(0)
    path = os.path.join(FOLDER, 'nobody', 'own.btsnoop')
    peer = radio.address['LINBLE-Z1']
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.chmod(FOLDER, 0o755)
    os.chmod(os.path.dirname(path), 0o777)
    open_to_all(os.path.realpath(executable('linble')))
    exchange(path, '-a', peer, '--address-type', 'random', wrapper=NOBODY).says("this program's packets")
    has_the_exchange(path, peer.lower())
    check(not tshark(path, 'bthci_cmd.opcode == 0x2043', 'frame.number'), 'a command that the program could not see')


def btmon_reads(path):
    """Checks the beginning: btmon 5.66 crashes on requests for characteristic declarations."""
    out = subprocess.run(['stdbuf', '-oL', 'btmon', '-r', path], capture_output=True, text=True).stdout
    for text in ('New Index', 'LE Enhanced Connection Complete', 'ATT: Exchange MTU Request'):
        check(text in out, f'btmon shows no "{text}" of {path}:\n{out[-600:]}')


def read_while_recording(radio):
    """tshark prints the packets of an endless scan as they arrive."""
    with subprocess.Popen([executable('ble'), 'scan', '-i', 'hci0', '--watch', '--json', '--trace', '-'],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as scan, \
         subprocess.Popen(['tshark', '-X', 'read_format:Symbian OS btsnoop', '-l', '-r', '-',
                           '-T', 'fields', '-e', 'frame.protocols'],
                          stdin=scan.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
        try:
            scan.stdout.close()
            results = threading.Thread(target=scan.stderr.read, daemon=True)
            results.start()
            seen = []
            thread = threading.Thread(target=lambda: seen.extend(iter(reader.stdout.readline, b'')), daemon=True)
            thread.start()
            until(lambda: len(seen) > 40, 60, 'packets from tshark')
            # When the reader ends, the scan ends quietly.
            reader.kill()
            until(lambda: scan.poll() is not None, 20, 'the end of the scan')
            check(scan.returncode == 141, f'exit {scan.returncode}')
            until(lambda: radio.stat()['scan'] == 0, 5, 'the controller no longer scans')
        finally:
            reader.kill()
            scan.kill()


with Radio('linble') as radio:
    run_story('with privileges everything is recorded', everything, radio)
    run_story('btmon reads it', btmon_reads, os.path.join(FOLDER, 'monitor.btsnoop'))
    run_story('without privileges our own packets are recorded', own_packets, radio)
    run_story('btmon reads that', btmon_reads, os.path.join(FOLDER, 'nobody', 'own.btsnoop'))
    run_story('packets are read while the program runs', read_while_recording, radio)
the_end()
