"""Runs files of stories in this guest, each in a process of its own, forked from this one: importing Bumble takes seconds.

  radio guest.py [-w WORD] FILE...    WORD selects the stories with it in their name

Exits with 1 if one of the files does not exit with 0."""

import argparse
import os
import runpy
import sys
import traceback

# What the files use that takes long to import.
import serial  # noqa: F401
import virtual_radio  # noqa: F401

HERE = os.path.dirname(os.path.abspath(__file__))


def run(file, words):
    """Runs a file as python would; returns its exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        sys.argv = [os.path.join(HERE, file + '.py'), *words]
        runpy.run_path(sys.argv[0], run_name='__main__')
        code = 0
    except SystemExit as end:
        code = end.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


parser = argparse.ArgumentParser('guest.py', usage=__doc__)
parser.add_argument('-w', dest='words', action='append', default=[])
parser.add_argument('files', nargs='+')
arguments = parser.parse_args()
sys.exit(any([run(file, arguments.words) for file in arguments.files]))
