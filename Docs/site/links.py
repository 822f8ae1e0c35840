"""Finds the links of a DocC site that lead nowhere."""
import json
import os
import re

# The addresses within a page that no heading has: its sections.
SECTIONS = {'topics', 'see-also', 'declarations', 'parameters', 'return-value', 'discussion', 'overview', 'relationships', 'mentions',
            'Discussion', 'Overview', 'app-top', ''}


def documents(site):
    """The pages of a site by their addresses, as DocC writes them for its scripts."""
    found = {}
    for folder, _, names in os.walk(os.path.join(site, 'data')):
        for name in names:
            if name.endswith('.json'):
                path = os.path.join(folder, name)
                with open(path) as file:
                    found['/' + os.path.relpath(path, os.path.join(site, 'data')).removesuffix('.json')] = json.load(file)
    return found


def complete(site, titles):
    """Adds what DocC forgets: the references of links in the text of a group of topics, to pages whose titles are given by address."""
    for path, page in documents(site).items():
        references = page.get('references', {})
        named = {part['identifier'] for part in parts(page.get('topicSections', [])) if part.get('type') == 'reference'}
        missing = (named - references.keys()) & titles.keys()
        for address in sorted(missing):
            references[address] = {
                'type': 'link', 'identifier': address, 'url': address, 'title': titles[address],
                'titleInlineContent': [{'type': 'text', 'text': titles[address]}]}
        if missing:
            with open(os.path.join(site, 'data', path.lstrip('/') + '.json'), 'w') as file:
                json.dump(page, file)


def dead(site):
    """A line for each link that leads nowhere, and for each that is still Markdown."""
    pages = documents(site)
    anchors = {path: {part.get('anchor') for part in parts(page) if part.get('type') == 'heading'} for path, page in pages.items()}
    found = []
    for path, page in sorted(pages.items()):
        references = page.get('references', {})
        for reference in references.values():
            for address in addresses(reference):
                where, _, fragment = address.partition('#')
                where = where.rstrip('/') or path
                if re.match(r'[a-z]+:', address):
                    continue
                if not where.startswith('/documentation'):
                    if not os.path.isfile(os.path.join(site, where.lstrip('/'))):
                        found.append(f'{path}: there is no {address}')
                elif where not in pages:
                    found.append(f'{path}: there is no page {where}')
                elif fragment not in SECTIONS and fragment not in anchors[where]:
                    found.append(f'{path}: {where} has no heading #{fragment}')
        content = [page.get(name) for name in ('abstract', 'primaryContentSections', 'topicSections', 'sections')]
        for part in parts(content):
            if part.get('type') == 'reference' and part.get('identifier') not in references:
                found.append(f'{path}: the reference {part.get("identifier")} leads nowhere')
            markup = re.search(r'\[[^\]]+\]\([^)\s]+\)|<doc:[^>]+>', part['text']) if part.get('type') == 'text' else None
            if markup:
                found.append(f'{path}: "{markup[0]}" is no link')
    return found


def addresses(reference):
    """The addresses that a reference of a page leads to: of a page, a link, the variants of a picture."""
    if reference.get('type') in ('topic', 'link', 'section') and 'url' in reference:
        yield reference['url']
    for variant in reference.get('variants', ()):
        yield variant.get('url', '') if isinstance(variant, dict) else ''


def parts(value):
    """Every object within a value of JSON."""
    if isinstance(value, dict):
        yield value
        value = value.values()
    if isinstance(value, (list, type({}.values()))):
        for each in value:
            yield from parts(each)
