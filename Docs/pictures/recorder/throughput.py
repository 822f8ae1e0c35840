"""Measures what a link of the simulated radio carries, with ble; the figures are in data/throughput.csv."""
import csv
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile

SERVICE, SOURCE = '8D3A0001-52C1-4F7E-A16B-4E907CF2D5B9', '8D3A0004-52C1-4F7E-A16B-4E907CF2D5B9'
LENGTH = 244
INTERVALS = ['7.5', '15', '30', '50', '100', '200']
LINKS = [('LE 2M', '251'), ('LE 1M', '251'), ('LE 1M', '27')]
# The first second is left out: the settings take effect, and buffers fill.
SETTLING, SECONDS = 1, 4
# Other programs only slow it down: the best run counts.
RUNS = 3


def world():
    """A device that notifies more than any link carries; the excess is dropped before it is sent."""
    values = [{'after': number / 1000, 'hex': '55' * LENGTH} for number in range(8000)]
    return {'devices': [{'name': 'Source', 'services': [
        {'uuid': SERVICE, 'characteristics': [{'uuid': SOURCE, 'properties': ['notify'], 'notifications': values}]}]}]}


def lines(programs, folder, *arguments):
    """The JSON lines of a command."""
    command = [os.path.join(programs, 'ble'), *arguments, '--world', 'world.json', '--json']
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'record: {" ".join(arguments)} ended with {done.returncode}: {done.stderr}')
    return [json.loads(line) for line in done.stdout.splitlines()]


def rate(programs, folder, interval, phy, octets):
    """The bytes of values in a second."""
    settings = ['--interval', interval, '--phy', phy.split()[1].lower()] + (['--data-length', octets] if octets != '27' else [])
    events = lines(programs, folder, 'notify', SOURCE, '--for', str(SECONDS), *settings)
    times = [datetime.datetime.fromisoformat(event['t'].replace('Z', '+00:00')).timestamp()
             for event in events if event['event'] == 'notification']
    times = [time for time in times if time > times[0] + SETTLING]
    return (len(times) - 1) * LENGTH / (times[-1] - times[0])


def round_trip(programs, folder, interval):
    """The median time in milliseconds from a request to its response."""
    events = lines(programs, folder, 'bench', '-n', 'Source', 'latency', '--count', '25', '--interval', interval)
    return next(event['median'] for event in events if event['event'] == 'roundTrip')


def measure(path, programs):
    """Writes the table."""
    with tempfile.TemporaryDirectory() as folder, open(path, 'w') as file:
        with open(os.path.join(folder, 'world.json'), 'w') as described:
            json.dump(world(), described)
        file.write(f'# {datetime.date.today()}, the simulated radio: Docs/pictures/record throughput\n'
                   f'# rate: ble notify {SOURCE} --for {SECONDS} --interval I --phy P --data-length L --json, '
                   f'values of {LENGTH} bytes; the best of {RUNS} runs\n'
                   '# round trip: ble bench -n Source latency --count 25 --interval I --json, the median\n')
        table = csv.writer(file, lineterminator='\n')
        table.writerow(['interval_ms', 'phy', 'data_length', 'bytes_per_second', 'round_trip_ms'])
        for interval in INTERVALS:
            trip = round_trip(programs, folder, interval)
            for phy, octets in LINKS:
                best = max(rate(programs, folder, interval, phy, octets) for _ in range(RUNS))
                table.writerow([interval, phy, octets, round(best), trip])


def read(path):
    """The lines of a table, and its date."""
    with open(path) as file:
        text = file.read().splitlines()
    comments = [line for line in text if line.startswith('#')]
    return list(csv.DictReader(line for line in text if not line.startswith('#'))), comments[0][2:12]
