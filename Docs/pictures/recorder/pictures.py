"""All pictures by name: each is a function that records one and returns the paths of its files."""
import os
import shutil
import sys

import animation
import dissection
import palette
import plots
import sessions
import stage
import targets

# The Debian packages of programs, where they are named differently.
PACKAGES = {'dot': 'graphviz'}


def need(*programs):
    """Ends with the command that installs a program that is missing."""
    for program in programs:
        if not shutil.which(program):
            sys.exit(f'record: {program} is missing; install it with: sudo apt-get install {PACKAGES.get(program, program)}')


def save(name, folder, forms):
    """Writes the forms of a picture."""
    paths = []
    for form, text in forms.items():
        paths.append(os.path.join(folder, name + palette.SUFFIXES[form] + '.svg'))
        with open(paths[-1], 'w') as file:
            file.write(text)
    return paths


def session(play, longest=2, hold=3, programs=()):
    """A moving picture of a terminal session."""
    def record(name, folder, binaries):
        need(*programs)
        place = stage.Stage(os.path.abspath(binaries))
        try:
            play(place)
            return save(name, folder, animation.draw(place, name, play.__doc__, longest=longest, hold=hold))
        finally:
            place.close()
    return record


def still(make, programs=()):
    """A picture that does not move; `make` returns its forms."""
    def record(name, folder, binaries):
        need(*programs)
        return save(name, folder, make(name, folder, os.path.abspath(binaries)))
    return record


ALL = {
    **{name: session(play, programs=['picocom'] if name == 'bridge' else []) for name, play in sessions.ALL.items()},
    'dissection': still(dissection.dissection, programs=['tshark']),
    'architecture': still(targets.architecture, programs=['dot']),
    **{name: still(make) for name, make in plots.ALL.items()},
}
