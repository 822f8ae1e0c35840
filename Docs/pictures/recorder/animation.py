"""Renders the frames of a stage as one SVG, which CSS moves: no script, and one still frame where motion is not wanted."""
import re
from xml.sax.saxutils import escape

import palette
import shapes

CELL, LINE, SIZE, BASE = 8.4, 18, 14, 13.2
PADDING, TITLE, GAP = 12, 26, 12
LOOP = 11
COLOURS = {'red', 'green', 'yellow', 'blue', 'magenta', 'cyan'}


def timeline(frames, longest=2, shortest=0.05):
    """The frames with their times in the loop, and its length: pauses are cut to `longest` seconds, the last frame is held, so
    that the loop takes at least LOOP seconds."""
    kept, now, last = [], 0, None
    for index, (time, frame) in enumerate(frames):
        now += 0 if last is None else min(time - last, longest)
        last = time
        if kept and now - kept[-1][0] < shortest:
            kept[-1] = (kept[-1][0], frame, index)
        else:
            kept.append((now, frame, index))
    return kept, max(now + 3, LOOP)


def pieces(frame):
    """The pieces of a frame that are drawn as a whole: (pane, row, column, text, style)."""
    for number, (runs, cursor) in enumerate(frame):
        for row, column, text, style in runs:
            if style[3]:
                yield number, row, column, ' ' * len(text), ('ground', False)
            colour = 'faint' if style[2] else style[0] if style[0] in COLOURS else 'brown' if style[0] == 'brown' else 'text'
            colour = {'brown': 'yellow'}.get(colour, colour)
            for part in re.finditer(r'[─-╿]+|[▀-▟]+|(?:(?! {2})[^─-▟])+', text):
                piece = part.group()
                if piece.strip():
                    begin = len(piece) - len(piece.lstrip())
                    yield number, row, column + part.start() + begin, piece.strip(), (colour, style[1])
        if cursor:
            yield number, *cursor, '', ('cursor', False)


def draw(stage, description):
    """The SVG in each form."""
    frames, length = timeline(stage.frames)
    still = len(frames) - 1
    if stage.still is not None:
        still = max(number for number, frame in enumerate(frames) if frame[2] <= stage.still or number == 0)
    shown = {}
    for number, (_, frame, _) in enumerate(frames):
        for piece in pieces(frame):
            shown.setdefault(piece, []).append(number)
    groups = {}
    for piece, numbers in shown.items():
        groups.setdefault(tuple(numbers), []).append(piece)
    return {form: document(stage, description, colours, frames, length, still, groups)
            for form, colours in palette.FORMS.items()}


def document(stage, description, colours, frames, length, still, groups):
    tops, top = [], 0
    for pane in stage.panes:
        tops.append(top + (TITLE if len(stage.panes) > 1 else 0) + PADDING)
        top = tops[-1] + pane.rows * LINE + PADDING + GAP
    width, height = 2 * PADDING + max(pane.columns for pane in stage.panes) * CELL + 2, top - GAP + 2
    rules, moves, body = [], [], []
    for key, pieces_of_group in sorted(groups.items(), key=lambda group: group[0]):
        drawn = ''.join(draw_piece(piece, tops) for piece in sorted(pieces_of_group))
        if len(key) == len(frames):
            body.append(drawn)
            continue
        label = f'k{len(rules)}'
        rules.append(f'@keyframes {label}{{{keyframes(key, frames, length)}}}')
        moves.append(f'.{label}{{animation-name:{label}}}')
        body.append(f'<g class="f {label}{" s" if still in key else ""}">{drawn}</g>')
    fills = ''.join(f'.{name}{{fill:{colours[name]}}}' for name in ('text', 'faint', *sorted(COLOURS)))
    style = (
        f'text{{font:{SIZE}px {palette.MONOSPACED};white-space:pre}}{fills}.b{{font-weight:700}}'
        f'.l{{fill:none;stroke:{colours["faint"]};stroke-width:1.2}}'
        f'.cursor{{fill:{colours["faint"]};opacity:.6}}.t{{font:12px {palette.SANS};fill:{colours["faint"]}}}'
        f'.w{{fill:{colours["ground"]};stroke:{colours["border"]}}}'
        f'.f{{visibility:hidden}}.s{{visibility:visible}}\n{chr(10).join(rules)}\n'
        f'@media (prefers-reduced-motion:no-preference){{.f{{animation:{length:.2f}s step-end infinite}}{"".join(moves)}}}')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="-1 -1 {width:.1f} {height:.1f}" '
        f'role="img" aria-labelledby="t"><title id="t">{escape(description)}</title><style>{style}</style>'
        f'{"".join(window(pane, tops[index], width - 2, len(stage.panes) > 1) for index, pane in enumerate(stage.panes))}'
        f'\n{chr(10).join(body)}\n</svg>\n')


def window(pane, top, width, has_title):
    """The border of a pane, and its title if there are several."""
    begin = top - PADDING - (TITLE if has_title else 0)
    height = pane.rows * LINE + top - begin + PADDING
    drawn = f'<rect class="w" x="0" y="{begin}" width="{width:.1f}" height="{height}" rx="7"/>'
    if has_title:
        drawn += (f'<path class="w" d="M0 {begin + TITLE}H{width:.1f}"/>'
                  f'<text class="t" x="{PADDING}" y="{begin + 17}">{escape(pane.title)}</text>')
    return drawn


def keyframes(numbers, frames, length):
    """The rules of a piece that is visible in these frames only."""
    shown, rules, before = set(numbers), [], None
    for number, (time, _, _) in enumerate(frames):
        state = 'visible' if number in shown else 'hidden'
        if state != before:
            rules.append(f'{100 * time / length:.2f}%{{visibility:{state}}}'.replace('.00%', '%'))
        before = state
    return ''.join(rules)


def draw_piece(piece, tops):
    pane, row, column, text, (colour, is_bold) = piece
    x, y = PADDING + column * CELL, tops[pane] + row * LINE
    if colour == 'cursor':
        return f'<rect class="cursor" x="{x:.1f}" y="{y + 1}" width="{CELL}" height="{LINE - 2}"/>'
    if '▀' <= text[0] <= '▟':
        return shapes.blocks(text, x, y, CELL, LINE, colour)
    if '─' <= text[0] <= '╿':
        return shapes.lines(text, x, y, CELL, LINE)
    long = f' textLength="{len(text) * CELL:.1f}"' if len(text) > 1 else ''
    return (f'<text class="{colour}{" b" if is_bold else ""}" x="{x:.1f}" y="{y + BASE:.1f}"{long}>'
            f'{escape(text)}</text>')
