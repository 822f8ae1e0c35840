"""Makes the light form of a picture dark where the reader's system is, so that a plain Markdown image suits both.

Every colour of the light form has a counterpart; rules in a media query replace those of the style sheet, and of attributes.
"""
import re

import palette

COLOUR = re.compile(r'#[0-9a-f]{6}')


def adapt(svg):
    """The light form, with rules for a dark page."""
    pairs = {light: palette.FORMS['dark'][name] for name, light in palette.FORMS['light'].items()}
    rules = []
    for sheet in re.findall(r'<style[^>]*>(.*?)</style>', svg, re.S):
        # No rule of a media query, such as those of a motion, has a colour.
        for selector, declarations in re.findall(r'([^{}]+)\{([^{}]*#[^{}]*)\}', sheet):
            rules.append(f'{selector.strip()}{{{COLOUR.sub(lambda found: pairs[found.group()], declarations)}}}')
    for name in ('fill', 'stroke'):
        for colour in sorted(set(re.findall(rf'\s{name}="(#[0-9a-f]{{6}})"', svg))):
            rules.append(f'[{name}="{colour}"]{{{name}:{pairs[colour]}}}')
        for colour in sorted(set(re.findall(rf'[";]\s*{name}: (#[0-9a-f]{{6}})', svg))):
            rules.append(f'[style*="{name}: {colour}"]{{{name}:{pairs[colour]}!important}}')
    style = f'<style>@media (prefers-color-scheme:dark){{\n{chr(10).join(rules)}\n}}</style>'
    # Last, so that it follows the rules that it replaces.
    end = svg.rindex('</svg>')
    return svg[:end] + style + '\n</svg>\n'
