"""All pictures by name: each is a function that records one and returns the paths of its files."""
import os
import shutil
import sys

import adaptive
import animation
import dissection
import ownership
import palette
import plots
import sessions
import stage
import targets
import walks

# The Debian packages of programs, where they are named differently.
PACKAGES = {'dot': 'graphviz'}


def need(*programs):
    """Ends with the command that installs a program that is missing."""
    for program in programs:
        if not shutil.which(program):
            sys.exit(f'record: {program} is missing; install it with: sudo apt-get install {PACKAGES.get(program, program)}')


def built(folder):
    """The folder of ble and linble, as an absolute path; ends with the command that builds them if they are missing."""
    if not folder or not all(os.path.exists(os.path.join(folder, name)) for name in ('ble', 'linble')):
        sys.exit('record: ble and linble are not built; build them with: swift build -c release, or name their folder: --programs DIR')
    return os.path.abspath(folder)


def save(name, folder, forms):
    """Writes the forms of a picture."""
    paths = []
    for form, text in forms.items():
        paths.append(os.path.join(folder, name + palette.SUFFIXES[form] + '.svg'))
        with open(paths[-1], 'w') as file:
            file.write(adaptive.adapt(text) if form == 'light' else text)
    return paths


def session(play, programs=()):
    """A moving picture of a terminal session."""
    def record(name, folder, binaries):
        need(*programs)
        place = stage.Stage(built(binaries))
        try:
            play(place)
            return save(name, folder, animation.draw(place, play.__doc__))
        finally:
            place.close()
    return record


def still(make, programs=()):
    """A picture that does not move; `make` returns its forms."""
    def record(name, folder, binaries):
        need(*programs)
        return save(name, folder, make(name, folder, lambda: built(binaries)))
    return record


ALL = {
    **{name: session(play, programs=['picocom'] if name == 'bridge' else []) for name, play in sessions.ALL.items()},
    'dissection': still(dissection.dissection, programs=['tshark']),
    'architecture': still(targets.architecture, programs=['dot']),
    'ownership': still(ownership.ownership),
    'walks': still(walks.walks),
    'costs': still(plots.costs),
    'throughput': still(plots.throughput),
}
