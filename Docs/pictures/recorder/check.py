"""Checks the recorded files, without any package."""
import getpass
import os
import re
import socket
from xml.etree import ElementTree

LARGEST = 150_000


def main(folder, names):
    """Prints what is wrong; returns the exit status."""
    found = sorted(name[:-4] for name in os.listdir(folder) if name.endswith('.svg') and '~' not in name)
    problems = [f'there is no picture {name}; pictures: {" ".join(found)}' for name in names if name not in found]
    for name in names or found:
        for file in (f'{name}.svg', f'{name}~dark.svg'):
            problems += [f'{file}: {problem}' for problem in problems_of(os.path.join(folder, file))]
    print('\n'.join(problems) if problems else f'{len(names or found)} pictures, both forms of each')
    return 1 if problems else 0


def problems_of(path):
    if not os.path.exists(path):
        return ['is missing']
    with open(path) as file:
        text = file.read()
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        return [f'is not well-formed: {error}']
    found = []
    if len(text) > LARGEST:
        found.append(f'has {len(text) // 1000} kB, more than {LARGEST // 1000}')
    if re.search(r'<script|\bon\w+=|href="(?!#)', text):
        found.append('has a script or a reference to another file')
    if not any(element.tag.endswith('}title') for element in root):
        found.append('has no title')
    for name in (socket.gethostname(), getpass.getuser(), os.path.expanduser('~'), '/tmp/pictures'):
        if re.search(rf'(?<![\w-]){re.escape(name)}(?![\w-])', ' '.join(root.itertext())):
            found.append(f'shows {name}, a name of this machine')
    return found
