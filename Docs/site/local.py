"""Makes a DocC site that a browser opens from the file system, without a web server."""
import json
import os
import re
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = ('data', 'index')
SCRIPTS = ('local.js', 'search.js')


def make_local(site, front):
    """Changes a site in place: relative addresses, and a twin for each file of data that local.js can load. Its root opens the
    page whose address is `front`."""
    for name in SCRIPTS:
        shutil.copy(os.path.join(HERE, name), site)
    for folder, _, names in os.walk(site):
        up = os.path.relpath(site, folder)
        for name in names:
            path = os.path.join(folder, name)
            within = os.path.relpath(path, site)
            if name.endswith('.json') and (within.split(os.sep)[0] in DATA or os.sep not in within):
                with open(path) as file:
                    text = file.read()
                with open(path + '.js', 'w') as file:
                    file.write(f'passData({json.dumps(within)}, {json.dumps(text)})\n')
            elif name == 'index.html':
                rewrite(path, lambda text: relative(text, up))
            elif within.startswith('js' + os.sep):
                rewrite(path, lambda text: text.replace(
                    'window.location.pathname', '(window.pagePath||window.location.pathname)'))
    # The router shows nothing at the root; what DocC merges has a list of modules below it.
    for folder in (site, os.path.join(site, 'documentation')):
        with open(os.path.join(folder, 'index.html'), 'w') as file:
            file.write('<!doctype html><title>Documentation</title><meta http-equiv="refresh" content="0; url='
                       f'{os.path.relpath(site + front, folder)}/index.html">\n')


def relative(page, up):
    """A page with addresses relative to its folder, from which the site is reached with `up`."""
    page = re.sub(r'\b(src|href)="/(?!/)', rf'\1="{up}/', page)
    return page.replace(
        '<script>var baseUrl = "/"</script>',
        ''.join(f'<script src="{up}/{name}"></script>' for name in SCRIPTS) + '<script>'
        f'var baseUrl = new URL("{up}/", location.href).pathname</script>')


def rewrite(path, change):
    with open(path) as file:
        text = file.read()
    changed = change(text)
    if changed != text:
        with open(path, 'w') as file:
            file.write(changed)
