"""Assembles the DocC catalogues of the site: those of the products, and one of the pages and the small programs.

The pages link to each other, to pictures and to programs as files, so that they can be read where they are. DocC has addresses of
its own. A package index sees each product alone, without pages and without the types that it re-exports. So a product's catalogue
and its documentation comments name these as code, and in the topics after "Re-exported:"; here they become links.
"""
import functools
import glob
import os
import re
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'Tests', 'Documents'))
import markdown

SITE = 'swift-bluetooth-le'
FRONT = 'Docs/README.md'
# The page whose links to code are pages as well.
PROGRAMS = 'Examples/Small/README.md'
# The names of pages whose files' names occur twice.
NAMES = {FRONT: SITE, PROGRAMS: 'SmallPrograms', 'Tests/README.md': 'Tests', 'SECURITY.md': 'Vulnerabilities'}
# The titles of pages whose own are those of others.
TITLES = {'README.md': '# README', 'SECURITY.md': '# Security reports'}
PICTURES = ('Docs/pictures', 'Docs/pictures/badges')
# The pages show what belongs to them in tables of their own.
WITHOUT_TOPICS = '@Options {\n    @TopicsVisualStyle(hidden)\n}\n'


def source(module):
    """The path of a product's own catalogue."""
    return os.path.join(ROOT, 'Sources', module, module + '.docc')


def product(module, folder, graph):
    """Makes the catalogue of a product with a symbol graph in a folder, and the links of the graph's comments; returns its path."""
    catalogue = os.path.join(folder, module + '.docc')
    shutil.copytree(source(module), catalogue)
    known = reexported(module, graph)
    shown = {name for symbol in graph['symbols'] for name in symbol['pathComponents']}
    for name in os.listdir(catalogue):
        with open(os.path.join(catalogue, name)) as file:
            text = file.read()
        with open(os.path.join(catalogue, name), 'w') as file:
            file.write(linked(with_topics(text), known))
    for symbol in graph['symbols']:
        if 'docComment' in symbol:
            # A new value: other products share the old one.
            lines = [{**line, 'text': without_hidden(linked(line['text'], known), shown)} for line in symbol['docComment']['lines']]
            symbol['docComment'] = {**symbol['docComment'], 'lines': lines}
    return catalogue


def reexported(module, graph):
    """The links of the types that a product re-exports, and of their members, by their names in code."""
    own = f's:{len(module)}{module}'
    types = {symbol['pathComponents'][0] for symbol in graph['symbols']
             if len(symbol['pathComponents']) == 1 and not symbol['identifier']['precise'].startswith(own)}
    paths = [symbol['pathComponents'] for symbol in graph['symbols'] if symbol['pathComponents'][0] in types]
    return {'.'.join(path): '/'.join(path) for path in paths}


def without_hidden(text, shown):
    """A text in which the links to types that a product does not show, though it shows their neighbours, are code."""
    def code(link):
        return '`' + link[1].replace('/', '.') + '`' if link[1].partition('/')[0] in types() - shown else link[0]

    return re.sub(r'``([^`]+)``', code, text)


@functools.cache
def types():
    """The names of all types of the package."""
    texts = []
    for path in glob.glob(os.path.join(ROOT, 'Sources', '**', '*.swift'), recursive=True):
        with open(path) as file:
            texts.append(file.read())
    return set(re.findall(r'\b(?:struct|class|enum|protocol|actor) ([A-Z]\w*)', '\n'.join(texts)))


def with_topics(text):
    """A product's text whose groups of topics list what is re-exported."""
    groups = re.split(r'(?m)^(?=### )', text)
    for number, group in enumerate(groups):
        found = re.search(r'(?m)^Re-exported: ([^.]*)\.\n', group)
        if found:
            items = ''.join(f'- ``{name}``\n' for name in re.findall(r'`(\w+)`', found[1]))
            rest = group.replace(found[0], '').rstrip()
            groups[number] = rest + ('\n' if rest.endswith('``') else '\n\n') + items + '\n'
    return ''.join(groups)


def linked(text, known):
    """A product's text in which the code spans that name pages and re-exported declarations are links."""
    def link(span):
        if span[1] in known:
            return f'``{known[span[1]]}``'
        return f'[{markdown.read(span[1]).title}]({address(span[1])})' if span[1] in names() else span[0]

    return re.sub(r'(?<!`)`([^`\s]+)`(?!`)', link, text)


def titles():
    """The titles of the pages by their addresses."""
    return {address(path): markdown.read(path).title for path in names() if path.endswith('.md')}


def pages(folder):
    """Makes the catalogue of the pages, of which the front page is the root; returns its path."""
    catalogue = os.path.join(folder, SITE + '.docc')
    os.mkdir(catalogue)
    topics = curation()
    for path, name in names().items():
        text = converted(path) if path.endswith('.md') else listing(path)
        title, _, rest = text.partition('\n')
        title = TITLES.get(path, title)
        if path == FRONT:
            title += '\n\n@Metadata {\n    @TechnologyRoot\n}'
        if path in topics:
            title += '\n\n' + WITHOUT_TOPICS
            rest += '\n## Topics\n'
            for group, members in topics[path]:
                rest += f'\n### {group}\n\n' + ''.join(f'- <doc:{names()[member]}>\n' for member in members)
        with open(os.path.join(catalogue, name + '.md'), 'w') as file:
            file.write(title + '\n' + rest)
    for path in pictures().values():
        shutil.copy(os.path.join(ROOT, path), catalogue)
    return catalogue


@functools.cache
def names():
    """The names of the pages in DocC, which knows no folders, by their paths."""
    found = {}
    paths = [path for path in markdown.files('.md') if os.path.dirname(path) in ('', 'Docs') or path.startswith('Docs/Guide/')]
    for path in paths + [path for path in NAMES if path not in paths] + programs():
        stem, ending = os.path.splitext(os.path.basename(path))
        name = NAMES.get(path, stem if ending == '.md' else 'Program-' + stem)
        if name.lower() in map(str.lower, found.values()):
            sys.exit(f'{path}: another page has the name {name}')
        found[path] = name
    return found


def programs():
    """The files of code that are pages."""
    return list(dict.fromkeys(path for path in targets(PROGRAMS) if path.endswith(('.swift', '.json'))))


def targets(page):
    """The paths that a page links to, in order."""
    return [target(page, path) for _, _, path, _ in markdown.read(page).links]


def target(page, path):
    return os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page


def address(path):
    """The address of a page in the site."""
    return f'/documentation/{SITE.lower()}' + ('' if path == FRONT else '/' + names()[path].lower())


def products():
    """The names of the products, in the order of the front page."""
    found = [re.fullmatch(r'Sources/(\w+)/\1\.docc/\1\.md', path) for path in targets(FRONT)]
    return [match[1] for match in found if match]


@functools.cache
def pictures():
    """The paths of the pictures by their names: NAME.svg, and NAME~dark.svg, which DocC shows in its dark mode."""
    return {name: f'{folder}/{name}' for folder in PICTURES for name in os.listdir(os.path.join(ROOT, folder)) if name.endswith('.svg')}


def curation():
    """The groups of pages that belong to a page, with their titles: to the front page by its headings, to others by their folders."""
    groups, heading, placed = [], '', {FRONT}
    for first, paragraph in markdown.read(FRONT).paragraphs:
        if paragraph.startswith('## '):
            heading = paragraph.removeprefix('## ')
            groups.append((heading, []))
        for link in markdown.LINK.finditer(paragraph):
            path = target(FRONT, (link[3] or '').partition('#')[0])
            if path in names() and path not in placed and groups:
                groups[-1][1].append(path)
                placed.add(path)
    found = {PROGRAMS: [('The programs', programs())]}
    placed |= set(programs())
    for parent in names():
        within = [path for path in names() if os.path.dirname(path) == parent.removesuffix('.md') and path not in placed]
        if within:
            order = targets(parent)
            found[parent] = [('Pages', sorted(within, key=lambda path: order.index(path) if path in order else len(order)))]
            placed |= set(within)
    groups = [group for group in groups if group[1]]
    groups[-1][1].extend(path for path in names() if path not in placed)
    return {FRONT: groups, **found}


def listing(path):
    """A page that shows a file of code, introduced by the first paragraph of its head."""
    with open(os.path.join(ROOT, path)) as file:
        code = file.read()
    head = re.match(r'(?:// .+\n)*', code)[0].replace('// ', '')
    stem, ending = os.path.splitext(os.path.basename(path))
    title = stem if ending == '.swift' else stem + ending
    return f'# {title}\n\n{head}\nThe file is `{path}`.\n\n```{ending[1:]}\n{code.rstrip()}\n```\n'


def converted(path):
    """A page's text, with the addresses of DocC."""
    with open(os.path.join(ROOT, path)) as file:
        lines = file.read().split('\n')
    for first, paragraph in reversed(markdown.read(path).paragraphs):
        changed = re.sub(r'<picture>.*?<img ([^>]*)>.*?</picture>', picture, paragraph, flags=re.S)
        changed = markdown.LINK.sub(lambda found: link(path, found) if found[3] else found[0], changed)
        lines[first - 1:first + paragraph.count('\n')] = changed.split('\n')
    return '\n'.join(lines)


def picture(tag):
    """A picture of HTML as one of Markdown."""
    values = dict(re.findall(r'(\w+)="([^"]*)"', tag[1]))
    return f'![{values["alt"]}]({values["src"]})'


def link(page, found):
    """A link in the address of DocC; what is not a page is named as a file of the repository. A picture has its name alone."""
    is_picture, text, whole = found.groups()
    if re.match(r'[a-z]+:', whole):
        return found[0]
    path, _, fragment = whole.partition('#')
    path = target(page, path)
    if is_picture:
        if path not in pictures().values():
            sys.exit(f'{page}: there is no picture {path}')
        return f'![{text}]({os.path.basename(path)})'
    if path in names():
        return f'[{text}](doc:{names()[path]}{"#" + heading(path, fragment) if fragment else ""})'
    if path.startswith('Sources/') and path.endswith('.md'):
        return f'[{text}](/documentation/{os.path.basename(path)[:-3].lower()})'
    return f'`{path}`' if text.strip('`') in (path, os.path.basename(path)) else f'{text} (`{path}`)'


def heading(path, fragment):
    """The address of a heading in DocC, given that of a forge."""
    for found in markdown.read(path).headings:
        if markdown.github(found) == fragment:
            return re.sub(r'[^\w-]+', '', re.sub(r'\s+', '-', found.replace('`', '').strip()))
    sys.exit(f'{path}: there is no heading #{fragment}')
