"""The ways of a packet: the block in Docs/Architecture.md, which is read, so that text and picture agree."""
import os
import re
from xml.sax.saxutils import escape

import palette
from ownership import ROOT, SIZE, TINTS, text_width

HEADING = '## The path of a packet'
WIDTH, PANEL, ROW, BOX, TITLE, INSET = 1000, 490, 34, 24, 30, 14


def read():
    """The walks of the block: (name, what goes down, what goes up), each the names above the seam and those below."""
    with open(os.path.join(ROOT, 'Docs', 'Architecture.md')) as file:
        block = file.read().split(HEADING, 1)[1].split('```\n', 2)[1]
    walks = []
    for line in block.splitlines():
        name, arrow, way = re.match(r'^ (.*?) *([↓↑│·]) (.*)$', line).groups()
        if arrow in '↓↑' and name:
            walks.append((name, {'↓': '', '↑': ''}))
        if arrow in '↓↑':
            walks[-1][1][arrow] += way
            last = arrow
        else:
            walks[-1][1][last] += f' {arrow} {way}'
    return [(name, *(halves(ways[arrow]) for arrow in '↓↑')) for name, ways in walks]


def halves(way):
    """The names on either side of the seam, in their order."""
    if not way:
        return [], []
    sides = [[name.strip() for name in side.split('·') if name.strip()] for side in way.split('│')]
    return (sides + [[]])[0], (sides + [[]])[1]


def walks(name, folder, programs):
    """The ways of a packet, from the caller down through the host seam to the kernel's socket, and up again."""
    found = read()
    return {form: draw(colours, found) for form, colours in palette.FORMS.items()}


def draw(colours, found):
    body, top, bottoms = [], 6, [0, 0]
    for number, (name, (down, down_below), (below, up)) in enumerate(found):
        if number % 2 == 0:
            top = max(bottoms) + 10 if number else 6
        left = 4 + (number % 2) * (PANEL + 10)
        above, beneath = max(len(down), len(up)), max(len(down_below), len(below))
        seam = top + TITLE + above * ROW
        height = TITLE + (above + beneath) * ROW + 16
        bottoms[number % 2] = top + height
        body.append(f'<rect class="w" x="{left}" y="{top}" width="{PANEL}" height="{height}" rx="8"/>'
                    f'<text class="l" x="{left + INSET}" y="{top + 20}">{escape(name)}</text>'
                    f'<path class="m" d="M{left} {seam + 2}h{PANEL}"/>')
        # What goes down is on the left, what comes up on the right; the caller is above, the kernel below.
        columns = [(left + INSET, [(entry, top + TITLE + row * ROW) for row, entry in enumerate(down)]
                    + [(entry, seam + 12 + row * ROW) for row, entry in enumerate(down_below)]),
                   (left + PANEL // 2 + 4, [(entry, seam + 12 + (beneath - 1 - row) * ROW) for row, entry in enumerate(below)]
                    + [(entry, seam - ROW - row * ROW) for row, entry in enumerate(up)])]
        for x, entries in columns:
            for row, (entry, y) in enumerate(entries):
                body.append(f'<rect class="{TINTS[0] if y < seam else TINTS[2]}" x="{x}" y="{y}" '
                            f'width="{text_width(entry) + 16:.1f}" height="{BOX}" rx="5"/><text x="{x + 8}" y="{y + 16}">{escape(entry)}</text>')
                if row:
                    before = entries[row - 1][1]
                    start, end = (before + BOX, y) if y > before else (before, y + BOX)
                    tip = -4 if y > before else 4
                    body.append(f'<path class="c" d="M{x + 20} {start}V{end}m-3 {tip}l3 {-tip}l3 {tip}"/>')
    style = (f'text{{font:{SIZE}px {palette.SANS};fill:{colours["text"]}}}.l{{font-weight:700;fill:{colours["faint"]}}}'
             f'.c{{fill:none;stroke:{colours["faint"]};stroke-width:1.2}}.m{{stroke:{colours["faint"]};stroke-dasharray:5 4}}'
             f'.p{{fill:{colours["page"]}}}.w{{fill:{colours["ground"]};stroke:{colours["border"]}}}'
             + ''.join(f'.{tint}{{fill:{colours[tint]};stroke:{colours["border"]}}}' for tint in TINTS))
    high, lines = max(bottoms) + 6, '\n'.join(body)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{high}" viewBox="0 0 {WIDTH} {high}" '
            f'role="img" aria-labelledby="t"><title id="t">{escape(walks.__doc__)}</title><style>{style}</style>\n'
            f'<rect class="p" width="{WIDTH}" height="{high}"/>{lines}\n</svg>\n')
