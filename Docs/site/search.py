"""Makes the full-text index that search.js searches: the text of every page of a site, in its sections."""
import json
import os

import catalogue
from links import documents


def make_index(site):
    """Writes search-index.js, a script, since a page of the file system cannot fetch data."""
    kinds = {catalogue.address(path): kind(path) for path in catalogue.names()}
    # What several products have is found in the first.
    order = [catalogue.SITE, *map(str.lower, catalogue.products())]
    found = [(order.index(path.split('/')[2]), path, page) for path, page in documents(site).items() if path != '/documentation']
    pages = [entry(path, page, kinds.get(path)) for _, path, page in sorted(found, key=lambda item: item[:2])]
    with open(os.path.join(site, 'search-index.js'), 'w') as file:
        file.write(f'passIndex({json.dumps(pages, ensure_ascii=False, separators=(",", ":"))})\n')


def kind(path):
    """What a page is to a reader. The guide comes first, before tables of its contents, code, and what is about the project."""
    if path in catalogue.curation():
        return 'Contents'
    return 'Guide' if path.startswith('Docs/Guide/') else 'About' if path.endswith('.md') else 'Program'


def entry(path, page, kind):
    """A page's title, its kind, its address, and its sections: anchor, heading and text."""
    metadata = page['metadata']
    names = ' '.join(module['name'] for module in metadata.get('modules', ()))
    sections = [['', '', text(page.get('abstract', []), page)]]
    for section in page.get('primaryContentSections', ()):
        for part in section.get('content', ()):
            if part['type'] == 'heading':
                sections.append([part['anchor'], part['text'], ''])
            else:
                sections[-1][2] += ' ' + text(part, page)
        for parameter in section.get('parameters', ()):
            sections[-1][2] += f' {parameter["name"]} {text(parameter["content"], page)}'
    sections = [[anchor, heading, ' '.join(body.split())] for anchor, heading, body in sections]
    return [metadata['title'], kind or f'{names} {metadata.get("roleHeading", "")}'.strip(), path, sections]


INLINE = {'text', 'codeVoice', 'emphasis', 'strong', 'reference', 'link', 'image', 'strikethrough'}
INNER = ('name', 'term', 'inlineContent', 'content', 'items', 'rows', 'definition')


def text(part, page):
    """The text of a part of a page's content, with a space after each block."""
    if isinstance(part, list):
        return ''.join(text(each, page) for each in part)
    if not isinstance(part, dict):
        return ''
    if part.get('type') == 'reference':
        return page['references'].get(part['identifier'], {}).get('title', '')
    code = part.get('code', '')
    own = part.get('text', '') + (' '.join(code) if isinstance(code, list) else code)
    return own + ''.join(text(part.get(key), page) for key in INNER) + ('' if part.get('type') in INLINE else ' ')
