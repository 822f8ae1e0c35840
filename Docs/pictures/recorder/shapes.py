"""Draws the characters that terminals draw themselves, since those of fonts leave gaps: lines of boxes, and blocks."""

# The arms of a character: left, right, up, down.
ARMS = {
    '─': 'lr', '│': 'ud', '├': 'rud', '└': 'ru', '┌': 'rd', '┐': 'ld', '┘': 'lu', '┤': 'lud', '┬': 'lrd', '┴': 'lru', '┼': 'lrud',
}
SHADES = {'░': 0.22, '▒': 0.5, '▓': 0.75}


def lines(text, x, y, width, height):
    """A path for box-drawing characters."""
    path = ''
    for index, char in enumerate(text):
        if char not in ARMS:
            raise ValueError(f'the character {char} has no shape in shapes.py')
        left, arms = x + index * width, ARMS[char]
        middle, centre = left + width / 2, y + height / 2
        if 'l' in arms or 'r' in arms:
            begin, end = left if 'l' in arms else middle, left + width if 'r' in arms else middle
            path += f'M{begin:.1f} {centre:g}H{end:.1f}'
        if 'u' in arms or 'd' in arms:
            path += f'M{middle:.1f} {y if "u" in arms else centre:g}V{y + height if "d" in arms else centre:g}'
    return f'<path class="l" d="{path}"/>'


def blocks(text, x, y, width, height, colour):
    """A path for each run of equal block elements."""
    drawn, begin = '', 0
    for index in range(1, len(text) + 1):
        if index < len(text) and text[index] == text[begin]:
            continue
        char, left, long = text[begin], x + begin * width, (index - begin) * width
        # With a little air above, so that the graphs of neighbouring rows stay apart.
        eighths = ord(char) - 0x2580 if '▁' <= char <= '█' else 8
        if char not in SHADES and not '▁' <= char <= '█':
            raise ValueError(f'the character {char} has no shape in shapes.py')
        high = (height - 3) * eighths / 8
        shade = f' opacity="{SHADES[char]}"' if char in SHADES else ''
        drawn += f'<path class="{colour}"{shade} d="M{left:.1f} {y + height - 1.5:g}h{long:.1f}v{-high:.1f}h{-long:.1f}z"/>'
        begin = index
    return drawn
