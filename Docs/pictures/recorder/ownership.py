"""Who owns whom: the nested boxes of the block in Docs/Architecture.md, which is read, so that text and picture agree."""
import os
import re
from xml.sax.saxutils import escape

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

import palette

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
HEADING = '## Handles, session, components, host'
WIDTH, LABEL, SIZE, GAP, INSET, LEAF, TITLE = 1000, 104, 12, 7, 8, 24, 21
FONT = FontProperties(family='DejaVu Sans')
TINTS = ['tint2', 'tint1', 'tint4', 'tint5', 'tint3']


class Box:
    """A component: what it owns is inside; `is_created` if another one creates it for other owners."""

    def __init__(self, name, is_created=False):
        self.name, self.is_created, self.inside = name, is_created, []

    def lay_out(self, limit):
        """Sets the size, and the places of the boxes inside, within a width."""
        self.width, self.height = text_width(self.name, bool(self.inside)) + 2 * INSET, LEAF
        if self.inside:
            inner, self.height = flow(self.inside, INSET, TITLE + 2, limit - 2 * INSET)
            self.width = max(self.width, inner + 2 * INSET)
            self.height += INSET


def text_width(text, is_bold=False):
    return TextPath((0, 0), text, size=SIZE, prop=FONT).get_extents().width * (1.14 if is_bold else 1) + 2


def flow(boxes, left, top, limit):
    """Places boxes in rows; returns the width of the widest row, and the bottom."""
    x, y, high, widest = 0, top, 0, 0
    for box in boxes:
        lead = 16 if box.is_created else 0
        box.lay_out(limit)
        if x and x + lead + box.width > limit:
            x, y, high = 0, y + high + GAP, 0
        box.x, box.y = left + x + lead, y
        x, high = x + lead + box.width + GAP, max(high, box.height)
        widest = max(widest, x - GAP)
    return widest, y + high


def read():
    """The sections of the block: (label, boxes), and the words between them."""
    with open(os.path.join(ROOT, 'Docs', 'Architecture.md')) as file:
        block = file.read().split(HEADING, 1)[1].split('```\n', 2)[1]
    sections, between = [], []
    for line in block.splitlines():
        relation = re.match(r'^ +│ +(.*)', line)
        labelled = re.match(r'^ (\S.*?) {2,}(\S.*)', line)
        if relation:
            between.append(relation.group(1))
        elif labelled:
            sections.append((labelled.group(1), [labelled.group(2)]))
        else:
            sections[-1][1].append(line.strip())
    return [(label, boxes('\n'.join(lines))) for label, lines in sections], between


def boxes(text):
    """The boxes of a section's text."""
    top, open_boxes, is_created = [], [], False
    for token in re.findall(r'[{}─·\n]|[^{}─·\n]+', text):
        token = token.strip(' ')
        if token == '{':
            open_boxes.append((open_boxes[-1].inside if open_boxes else top)[-1])
        elif token == '}':
            open_boxes.pop()
        elif token == '─':
            is_created = True
        elif token and token not in '·\n':
            (open_boxes[-1].inside if open_boxes else top).append(Box(token, is_created))
            is_created = False
    if open_boxes:
        raise ValueError(f'a brace of the block is not closed: {text}')
    return top


def ownership(name, folder, programs):
    """Who owns whom: handles, the session, its components, the host seam and the kernel's host, each box inside its owner."""
    sections, between = read()
    y, placed = 6, []
    for label, inside in sections:
        _, bottom = flow(inside, LABEL, y + INSET, WIDTH - LABEL - INSET)
        placed.append((label, y, bottom + INSET - y, inside))
        y = bottom + INSET + 26
    return {form: draw(colours, placed, between, y - 20) for form, colours in palette.FORMS.items()}


def draw(colours, placed, between, height):
    body = []

    def box(item, left, top, depth):
        x, y = left + item.x, top + item.y
        body.append(f'<rect class="{TINTS[depth % len(TINTS)]}" x="{x:.1f}" y="{y:.1f}" width="{item.width:.1f}" height="{item.height:.1f}" rx="5"/>')
        if item.is_created:
            body.append(f'<path class="c" d="M{x - 17:.1f} {y + 12:.1f}h14m-4-3.5l4 3.5l-4 3.5"/>')
        style = ' class="b"' if item.inside else ''
        body.append(f'<text{style} x="{x + INSET:.1f}" y="{y + 16:.1f}">{escape(item.name)}</text>')
        for inner in item.inside:
            box(inner, x, y, depth + 1)

    for number, (label, top, high, inside) in enumerate(placed):
        body.append(f'<rect class="w" x="1" y="{top}" width="{WIDTH - 2}" height="{high:.1f}" rx="8"/>'
                    f'<text class="l" x="12" y="{top + 24}">{escape(label)}</text>')
        for item in inside:
            box(item, 0, 0, 0)
        if number < len(between):
            body.append(f'<path class="c" d="M{LABEL + 10} {top + high + 2:.1f}v22m-3.5-4l3.5 4l3.5-4"/>'
                        f'<text class="s" x="{LABEL + 22}" y="{top + high + 17:.1f}">{escape(between[number])}</text>')
    style = (f'text{{font:{SIZE}px {palette.SANS};fill:{colours["text"]}}}.b{{font-weight:700}}.l{{font-weight:700;fill:{colours["faint"]}}}'
             f'.s{{fill:{colours["faint"]};font-style:italic}}.c{{fill:none;stroke:{colours["faint"]};stroke-width:1.2}}'
             f'.p{{fill:{colours["page"]}}}.w{{fill:{colours["ground"]};stroke:{colours["border"]}}}'
             + ''.join(f'.{name}{{fill:{colours[name]};stroke:{colours["border"]}}}' for name in TINTS))
    lines = '\n'.join(body)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" '
            f'role="img" aria-labelledby="t"><title id="t">{escape(ownership.__doc__)}</title><style>{style}</style>\n'
            f'<rect class="p" width="{WIDTH}" height="{height:.0f}"/>{lines}\n</svg>\n')
