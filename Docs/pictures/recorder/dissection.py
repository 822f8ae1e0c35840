"""A capture of ble, as tshark dissects it: the list of packets, the tree of one, and its bytes."""
import os
import re
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

import palette

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
WORLD = os.path.join(ROOT, 'Examples', 'CoreBluetoothCentral', 'world.json')
COLUMNS = [('No.', '%m', 4), ('Time', '%t', 9), ('Protocol', '%p', 8), ('Info', '%i', 84)]
CELL, LINE, SIZE, PADDING = 7.2, 17, 12, 10
PACKETS = 12


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'record: {" ".join(command)} ended with {done.returncode}: {done.stderr}')
    return done.stdout


def capture(programs):
    """The packets of the list, the number of the one that is opened, and its tree and bytes."""
    with tempfile.TemporaryDirectory() as folder:
        run(folder, os.path.join(programs, 'ble'), 'notify', '-n', 'Pulse-Z1', '2A37', '--count', '3', '--world', WORLD,
            '--trace', 'session.btsnoop')
        read = ['tshark', '-n', '-r', 'session.btsnoop']
        columns = ','.join(f'"{name}","{kind}"' for name, kind, _ in COLUMNS)
        listed = run(folder, *read, '-Y', 'btatt', '-T', 'tabs', '-o', f'gui.column.format:{columns}')
        packets = [[field.strip() for field in line.split('\t')] for line in listed.splitlines()][-PACKETS:]
        opened = [packet[0] for packet in packets if 'Handle Value Notification' in packet[-1]][-1]
        text = run(folder, *read, '-V', '-x', '-Y', f'frame.number=={opened}', '-O', 'btl2cap,btatt')
    tree, data = text.strip().split('\n\n', 1)
    return packets, opened, tree.splitlines(), data.strip().splitlines()


def dissection(name, folder, programs):
    """A capture of ble in tshark's words: ATT requests, responses and notifications; of a heart rate notification, the tree and the bytes."""
    packets, opened, tree, data = capture(programs())
    return {form: draw(colours, packets, opened, tree, data) for form, colours in palette.FORMS.items()}


def text(x, y, words, style='text'):
    return (f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" textLength="{len(words) * CELL:.1f}">{escape(words)}</text>'
            if len(words) > 1 else f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>') if words else ''


def draw(colours, packets, opened, tree, data):
    width = 2 * PADDING + sum(cells + 2 for _, _, cells in COLUMNS) * CELL
    body, y = [], 0

    def row(begin, fields, style='text'):
        x = begin
        for field, (_, _, cells) in zip(fields, COLUMNS):
            shown = field if len(field) <= cells else field[:cells - 1].rstrip() + '…'
            body.append(text(x, y + 12.5, shown, style))
            x += (cells + 2) * CELL

    def rule():
        nonlocal y
        body.append(f'<path class="r" d="M0 {y + 6}H{width:.0f}"/>')
        y += 12

    y = 8
    row(PADDING, [name for name, _, _ in COLUMNS], 'faint')
    y += LINE
    for packet in packets:
        if packet[0] == opened:
            body.append(f'<rect class="o" x="4" y="{y}" width="{width - 8:.1f}" height="{LINE}" rx="3"/>')
        row(PADDING, packet)
        y += LINE
    rule()
    for number, line in enumerate(tree):
        depth = (len(line) - len(line.lstrip())) // 4
        x = PADDING + depth * 2 * CELL
        deeper = number + 1 < len(tree) and len(tree[number + 1]) - len(tree[number + 1].lstrip()) > depth * 4
        if deeper:
            body.append(f'<path class="a" d="M{x:.1f} {y + 6}h8l-4 5z"/>')
        elif depth == 0:
            body.append(f'<path class="a" d="M{x + 2:.1f} {y + 4}v8l5-4z"/>')
        is_value = re.match(r'\s*(Value|Heart Rate|Opcode)', line) is not None
        body.append(text(x + 2 * CELL, y + 12.5, line.strip(), 'first' if is_value else 'text'))
        y += LINE
    rule()
    for line in data:
        body.append(text(PADDING, y + 12.5, line.rstrip(), 'faint'))
        y += LINE
    y += 6
    style = (f'text{{font:{SIZE}px {palette.MONOSPACED};white-space:pre}}'
             + ''.join(f'.{name}{{fill:{colours[name]}}}' for name in ('text', 'faint', 'first'))
             + f'.a{{fill:{colours["faint"]}}}.r{{stroke:{colours["border"]}}}.o{{fill:{colours["selected"]}}}'
             f'.w{{fill:{colours["ground"]};stroke:{colours["border"]}}}')
    lines = '\n'.join(part for part in body if part)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2:.0f}" height="{y + 2}" viewBox="-1 -1 {width + 2:.1f} {y + 2}" '
            f'role="img" aria-labelledby="t"><title id="t">{escape(dissection.__doc__)}</title><style>{style}</style>\n'
            f'<rect class="w" width="{width:.1f}" height="{y}" rx="7"/>\n{lines}\n</svg>\n')
