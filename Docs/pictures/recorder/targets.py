"""The targets and their imports: a graph of what the files below Sources import, drawn by Graphviz."""
import os
import re
import subprocess
from xml.sax.saxutils import escape

import palette

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
SOURCES = os.path.join(ROOT, 'Sources')
# The short description and the kind of each target; a target without one is an error.
KINDS = {'program': 'tint2', 'api': 'tint1', 'host': 'tint5', 'kernel': 'tint3', 'support': 'tint4', 'pure': 'ground'}
TARGETS = {
    'CoreBluetooth': ('program', 'Apple’s API'),
    'CCoreBluetooth': ('program', 'its error codes'),
    'BluetoothGateway': ('program', 'several adapters as one'),
    'LINBLE': ('program', 'UARTs, framers'),
    'LINBLESimulation': ('program', 'a LINBLE on the radio'),
    'BluetoothLE': ('api', 'adapters, scans, connections,\nattributes, channels, traces'),
    'BluetoothKernelHost': ('host', 'the Linux kernel\nas a Bluetooth host'),
    'BluetoothHost': ('host', 'the host seam'),
    'BluetoothLinux': ('kernel', 'AF_BLUETOOTH, epoll'),
    'BluetoothSimulation': ('kernel', 'radio, peers and\nfaults in memory'),
    'BluetoothSockets': ('kernel', 'the kernel seam'),
    'BluetoothLoop': ('support', 'event loop, promises'),
    'BluetoothSystem': ('support', 'files, threads, clock'),
    'CBluetoothSockets': ('support', 'the kernel’s headers'),
    'BluetoothDeviceFile': ('support', 'devices in files'),
    'BluetoothJSON': ('pure', 'JSON values'),
    'BluetoothGATT': ('pure', 'database, server,\nclient procedures'),
    'BluetoothATT': ('pure', 'attribute PDUs'),
    'BluetoothHCI': ('pure', 'commands, events'),
    'BluetoothPackets': ('pure', 'fields, definitions'),
    'BluetoothAdvertising': ('pure', 'AD structures'),
    'BluetoothManagement': ('pure', 'management packets'),
    'BluetoothCapture': ('pure', 'btsnoop, dissection'),
    'BluetoothCryptography': ('pure', 'AES, private addresses'),
    'BluetoothPrimitives': ('pure', 'UUIDs, addresses, cursors'),
}
IMPORT = re.compile(r'^\s*(?:@\w+ |public |package |internal |private |fileprivate )*import (?:\w+ )?(\w+)', re.M)


def imports():
    """The targets that the files of each target import."""
    found = {name: set() for name in sorted(os.listdir(SOURCES)) if os.path.isdir(os.path.join(SOURCES, name))}
    for target in found:
        for folder, _, names in os.walk(os.path.join(SOURCES, target)):
            for name in names:
                if name.endswith('.swift'):
                    with open(os.path.join(folder, name)) as file:
                        found[target].update(set(IMPORT.findall(file.read())) & set(found) - {target})
    unknown = sorted(set(found) ^ set(TARGETS))
    if unknown:
        raise ValueError(f'targets.py has no description of {", ".join(unknown)}, or describes what is not there')
    return found


def direct(graph):
    """The imports that do not follow from others."""
    def reach(name, seen):
        for other in graph[name] - seen:
            seen.add(other)
            reach(other, seen)
        return seen
    return {name: {other for other in others if not any(other in reach(third, set()) for third in others - {other})}
            for name, others in graph.items()}


def described(graph, colours):
    """The graph in Graphviz' language."""
    font = 'Helvetica,Arial,sans-serif'
    lines = [f'digraph {{ rankdir=TB; bgcolor="{colours["page"]}"; pad=.12; ranksep=.42; nodesep=.16; splines=spline; '
             f'node [shape=box style="rounded,filled" fontname="{font}" margin=".1,.06" color="{colours["border"]}" '
             f'fontcolor="{colours["text"]}"]; edge [color="{colours["faint"]}" arrowsize=.6 penwidth=.9];']
    for name, (kind, words) in TARGETS.items():
        small = ''.join(f'<br/><font point-size="10.5" color="{colours["faint"]}">{escape(line)}</font>' for line in words.split('\n'))
        lines.append(f'{name} [label=<<font point-size="13"><b>{name}</b></font>{small}> fillcolor="{colours[KINDS[kind]]}"];')
    lines += [f'{name} -> {other};' for name, others in graph.items() for other in sorted(others)]
    return '\n'.join(lines) + '}'


def architecture(name, folder, programs):
    """The targets and their imports, from the products at the top to the primitives; imports that follow from others are left out."""
    graph = direct(imports())
    forms = {}
    for form, colours in palette.FORMS.items():
        svg = subprocess.run(['dot', '-Tsvg'], input=described(graph, colours), capture_output=True, text=True, check=True).stdout
        svg = re.sub(r'<!--.*?-->\n?', '', svg[svg.index('<svg'):], flags=re.S)
        svg = re.sub(r'<title>.*?</title>\n?', '', svg)
        svg = re.sub(r'<svg width="(\d+)pt" height="(\d+)pt"', r'<svg role="img" aria-labelledby="t" width="\1" height="\2"', svg)
        end = svg.index('>') + 1
        forms[form] = svg[:end] + f'<title id="t">{escape(architecture.__doc__)}</title>' + svg[end:]
    return forms
