"""Assembles a DocC catalogue: a product's own, and for BluetoothLE the pages of the guide.

The pages link to each other, and to pictures, as files, so that they can be read where they are. DocC has addresses of its own.
"""
import os
import re
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GUIDE = os.path.join(ROOT, 'Docs', 'Guide')
PICTURES = os.path.join(ROOT, 'Docs', 'pictures')
HOME = 'BluetoothLE'


def assemble(module, folder):
    """Makes the catalogue of a product in a folder; returns its path."""
    catalogue = os.path.join(folder, module + '.docc')
    shutil.copytree(os.path.join(ROOT, 'Sources', module, module + '.docc'), catalogue)
    if module == HOME:
        for page in pages():
            with open(os.path.join(catalogue, os.path.basename(page)), 'w') as file:
                file.write(converted(page))
        for name in pictures():
            shutil.copy(os.path.join(PICTURES, name), catalogue)
    return catalogue


def pages():
    """The pages of the guide; their names differ, since DocC knows no folders."""
    found = [os.path.join(d, name) for d, _, names in os.walk(GUIDE) for name in names if name.endswith('.md')]
    names = [os.path.basename(page) for page in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        sys.exit(f'two pages of the guide are named {twice[0]}')
    return sorted(found)


def pictures():
    """The files of the pictures: NAME.svg, and NAME~dark.svg, which DocC shows in its dark mode."""
    return sorted(name for name in os.listdir(PICTURES) if name.endswith('.svg'))


def converted(page):
    """A page's text, with the addresses of DocC."""
    lines, is_code = [], False
    with open(page) as file:
        for line in file:
            if line.startswith('```'):
                is_code = not is_code
            lines.append(line if is_code else re.sub(r'(!?)\[([^\]]+)\]\(([^)\s]+)\)', lambda m: link(page, m), line))
    return ''.join(lines)


def link(page, match):
    """A link in the address of DocC; what is not in the guide is named as a file of the repository. A picture has its name alone."""
    is_picture, text, address = match.groups()
    if re.match(r'[a-z]+:', address):
        return match.group(0)
    path, _, fragment = address.partition('#')
    target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    if is_picture:
        if os.path.dirname(target) != PICTURES or os.path.basename(target) not in pictures():
            sys.exit(f'{page}: there is no picture {address} in Docs/pictures')
        return f'![{text}]({os.path.basename(target)})'
    if not target.startswith(GUIDE + os.sep):
        return f'{text} (`{os.path.relpath(target, ROOT)}`)'
    name = os.path.splitext(os.path.basename(target))[0]
    return f'[{text}](doc:{name}{"#" + heading(target, fragment) if fragment else ""})'


def heading(page, fragment):
    """The address of a heading in DocC, given that of GitHub."""
    with open(page) as file:
        for line in file:
            found = re.match(r'#+\s+(.*)', line)
            if found and github(found.group(1)) == fragment:
                return re.sub(r'[^\w-]+', '', re.sub(r'\s+', '-', found.group(1).replace('`', '').strip()))
    sys.exit(f'{page}: there is no heading #{fragment}')


def github(text):
    """The fragment by which a forge addresses a heading."""
    return re.sub(r'[^\w\- ]', '', text.replace('`', '').strip().lower()).replace(' ', '-')
