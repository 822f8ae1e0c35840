"""The loss of links and adapters: the program ends in time and prints the reason."""

import os

from harness import FOLDER, Program, Radio, random_file, run_story, the_end


def loses(radio, line, codes, cause):
    """Starts an endless transfer, and interrupts it."""
    data = random_file(8 << 20)
    before = int(radio.ask('count LINBLE-ECHO'))
    with Program('linble', '-i', 'hci0', '-n', 'LINBLE-ECHO', 'send', data, '--echo', os.path.join(FOLDER, 'received'),
                 '--force') as program:
        program.until(lambda: int(radio.ask('count LINBLE-ECHO')) > before + 2000, 30, 'the transfer is in progress')
        radio.ask(line)
        program.finish(*codes, within=20)
        program.says(cause)


def unplugged_during_scan(radio):
    with Program('ble', 'scan', '-i', 'hci0', '--for', '60', '--json') as program:
        program.until(lambda: radio.stat()['scan'] == 1, 20, 'the controller scans')
        radio.ask('unplug 0')
        program.finish(69, 74, within=10)
        program.says(UNPLUGGED)


UNPLUGGED = 'adapter|unplugged|removed|gone|no longer'

with Radio('echo') as radio:
    run_story('the peer ends the link', loses, radio, 'drop LINBLE-ECHO 0x13', (74,), 'disconnect|terminated|ended|closed')
    run_story('the link times out', loses, radio, 'drop LINBLE-ECHO 0x08', (74,), 'time.?out|timed out|supervision|lost')
    run_story('the peer vanishes', loses, radio, 'vanish LINBLE-ECHO 2', (74,), 'time.?out|timed out|supervision|lost')
    radio.ask('show LINBLE-ECHO')
    run_story('the adapter is unplugged during a transfer', loses, radio, 'unplug 0', (69, 74), UNPLUGGED)
with Radio('echo') as radio:
    run_story('the adapter is unplugged during a scan', unplugged_during_scan, radio)
the_end()
