"""100 KiB to a LINBLE and back, without loss or reordering, and a few bytes from the main loop."""

import os

from harness import FOLDER, Radio, check, random_file, run, run_story, the_end


def there_and_back():
    sent, received = random_file(100 * 1024), os.path.join(FOLDER, 'received')
    run('linble', '-i', 'hci0', '-n', 'LINBLE-ECHO', 'send', sent, '--echo', received, '--force', within=180)
    sent, received = open(sent, 'rb').read(), open(received, 'rb').read()
    same = len(os.path.commonprefix([sent, received]))
    check(sent == received, f'{len(received)} of {len(sent)} bytes were echoed, and they differ at {same}')


def on_the_main_loop():
    """The main actor's loop waits for the sockets."""
    program = run('SmallPrograms', 'LINBLE-ECHO', wrapper=('env', 'SMALL_PROGRAM=UART', 'SMALL_MAIN_LOOP=1'), within=60)
    program.check(program.out == '[97]\n[97, 97]\n[97, 97, 97]\n', 'not the bytes that it sent')


with Radio('echo') as radio:
    run_story('100 KiB there and back', there_and_back)
    run_story('a program whose main actor runs on the event loop', on_the_main_loop)
the_end()
