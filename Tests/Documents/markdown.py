"""The parts of a page that can be wrong: links, code spans and blocks of commands."""
import functools
import os
import re
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A code span; or a link or picture with its mark "!", its text and its address, which may be spread over lines.
LINK = re.compile(r'`[^`]*`|(!?)\[((?:`[^`]*`|[^]`])*)\]\(([^)\s]+)\)')
MARK = re.compile(r'<!-- *((?:not run|varies|run by|run here|file)\b.*?) *-->\s*$')

# The end of a mark for all blocks after it that have none of their own.
EVERY = ': every block'


@dataclass
class Block:
    """A block of code: its first line's number, the language of its fence (nil if it is indented), and the mark before it."""
    page: str
    line: int
    language: str | None
    mark: str | None
    lines: list = field(default_factory=list)

    @property
    def place(self):
        return f'{self.page}:{self.line}'


@dataclass
class Page:
    path: str
    blocks: list = field(default_factory=list)
    prose: list = field(default_factory=list)  # (number, line)

    @property
    def title(self):
        return next(iter(self.headings), '')

    @property
    def headings(self):
        return [re.sub(r'^#+\s+', '', line) for _, line in self.prose if re.match(r'#+\s', line)]

    @property
    def anchors(self):
        return {github(heading) for heading in self.headings}

    @property
    def paragraphs(self):
        """The running text between blocks and blank lines: (number of the first line, text)."""
        found = []
        for number, line in self.prose:
            if found and line.strip() and found[-1][1] and number == found[-1][0] + len(found[-1][1]):
                found[-1][1].append(line)
            else:
                found.append((number, [line] if line.strip() else []))
        return [(number, '\n'.join(lines)) for number, lines in found if lines]

    @property
    def word_count(self):
        """The number of its words, with those of code, and without addresses and the lines of tables."""
        text = '\n'.join([line for _, line in self.prose] + [line for block in self.blocks for line in block.lines])
        text = re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', text)
        text = re.sub(r'<[^>]*alt="([^"]*)"[^>]*>', r'\1', text)
        return len(re.findall(r'\S*\w\S*', re.sub(r'<[^>]*>', '', text)))

    @property
    def spans(self):
        """The code in the running text: (place, text)."""
        for number, line in self.prose:
            for code in re.findall(r'`([^`]+)`', line):
                yield f'{self.path}:{number}', code.replace('\\|', '|')

    @property
    def links(self):
        """The relative links: (place, text, path, fragment)."""
        for first, paragraph in self.paragraphs:
            found = [(link.start(), link[2], link[3]) for link in LINK.finditer(paragraph) if link[3]]
            hidden = re.sub(r'`[^`]*`', lambda span: ' ' * len(span[0]), paragraph)
            found += [(tag.start(), '', tag[1]) for tag in re.finditer(r'(?:src|srcset|href)="([^"]+)"', hidden)]
            for position, text, address in sorted(found):
                if not re.match(r'[a-z]+:', address):
                    path, _, fragment = address.partition('#')
                    yield f'{self.path}:{first + paragraph.count(chr(10), 0, position)}', text, path, fragment


def github(heading):
    """The fragment by which a forge addresses a heading."""
    return re.sub(r'[^\w\- ]', '', heading.replace('`', '').strip().lower()).replace(' ', '-')


def pages():
    """Every page of the repository."""
    return [read(path) for path in files('.md')]


def files(ending, folder='.'):
    """The paths of the repository's files with an ending, in order; those of builds are in hidden folders."""
    found = []
    for place, folders, names in os.walk(os.path.join(ROOT, folder)):
        folders[:] = [name for name in folders if not name.startswith('.')]
        found += [os.path.relpath(os.path.join(place, name), ROOT) for name in names if name.endswith(ending)]
    return sorted(found)


@functools.cache
def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return parse(path, file.read())


def parse(path, text):
    page, block, mark, before, usual = Page(path), None, None, '', None
    for number, line in enumerate(text.split('\n'), 1):
        if block and block.language is not None:
            if line.strip().startswith('```'):
                block = None
            else:
                block.lines.append(line)
        elif block and (line.startswith('    ') or not line.strip()):
            block.lines.append(line[4:])
        elif line.strip().startswith('```'):
            block = Block(path, number, line.strip()[3:], mark or usual)
            page.blocks.append(block)
            mark = None
        elif line.startswith('    ') and not before.strip() and not is_continued(page):
            block = Block(path, number, None, mark or usual, [line[4:]])
            page.blocks.append(block)
            mark = None
        else:
            block = None
            page.prose.append((number, line))
            if line.strip():
                found = MARK.match(line.strip())
                mark = found[1] if found else None
                if mark and mark.endswith(EVERY):
                    mark, usual = None, mark.removesuffix(EVERY)
        before = line
    return page


def is_continued(page):
    """Whether an indented line continues an item of a list."""
    last = next((line for _, line in reversed(page.prose) if line.strip()), '')
    return re.match(r'\s*([-*]|\d+\.)\s', last) is not None
