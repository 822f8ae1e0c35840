"""The compiler's symbol graphs of built modules, and what of them an import of a product's module makes visible."""
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# A line that makes a module, or one declaration of it, visible to who imports the module of the line.
EXPORT = re.compile(r'^@_exported (?:public )?import (?:(?:struct|class|enum|protocol|typealias|func) )?(\w+)(?:\.(\w+))?$', re.M)


def products():
    """The library products, by the manifest, without those whose module is empty as their trait is off; each has one module of its
    own name.
    """
    manifest = subprocess.run(
        ['swift', 'package', 'dump-package'], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    package = json.loads(manifest)
    own = frozenset(t['name'] for t in package['targets'] if t['type'] in ('regular', 'system'))
    # Examples/Gateway builds and tests this one.
    listed = {p['name'] for p in package['products'] if 'library' in p['type']} - {'BluetoothServices'}
    return sorted(listed), own


@functools.cache
def triple():
    """The compiler's target triple."""
    information = subprocess.run(['swift', '-print-target-info'], capture_output=True, text=True, check=True).stdout
    return json.loads(information)['target']['triple']


def search_paths(own, configuration):
    """The compiler's arguments with which it finds built modules."""
    build = os.path.join(ROOT, '.build', configuration)
    maps = [os.path.join(ROOT, 'Sources', name, 'module.modulemap') for name in own]
    maps += [os.path.join(build, name + '.build', 'module.modulemap') for name in own]
    found = ['-I', os.path.join(build, 'Modules')]
    for path in maps:
        if os.path.exists(path):
            found += ['-Xcc', '-fmodule-map-file=' + path]
    return found


@functools.cache
def graphs(module, own, configuration):
    """A module's graphs, from the compiler."""
    arguments = ['swift-symbolgraph-extract', '-module-name', module, *search_paths(own, configuration)]
    with tempfile.TemporaryDirectory() as folder:
        arguments += [
            '-target', triple(), '-minimum-access-level', 'public', '-skip-synthesized-members',
            '-output-dir', folder]
        done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f'{module}: no symbol graph; is it built (swift build -c {configuration})?\n{done.stderr}')
        found = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name)) as file:
                found.append(json.load(file))
        return found


@functools.cache
def exports(module):
    """What a module re-exports, by its sources: each a module, and a declaration's name or None for all of them."""
    found = []
    for folder, _, names in sorted(os.walk(os.path.join(ROOT, 'Sources', module))):
        for name in sorted(names):
            if name.endswith('.swift'):
                with open(os.path.join(folder, name), encoding='utf8') as file:
                    found += EXPORT.findall(file.read())
    return [(exported, name or None) for exported, name in found]


def scopes(module, own, apart=()):
    """The modules of which an import of a module makes declarations visible, each with their names or None for all.

    What a module of `apart` makes visible is left out where it is re-exported as a whole.
    """
    found = {module: None}
    for exported, name in exports(module):
        if exported not in own or name is None and exported in apart:
            continue
        for other, names in scopes(exported, own, apart).items() if name is None else [(exported, {name})]:
            before = found.get(other, set())
            found[other] = None if names is None or before is None else before | names
    return found


def declaring(precise, own):
    """The module of this package that declares what has a mangled name; None for others."""
    length = re.match(r's:(\d+)', precise)
    module = precise[length.end():length.end() + int(length[1])] if length else None
    return module if module in own else None


def all_symbols(module, own, configuration):
    """The symbols of a module's graphs; also those that it adds to other modules' types."""
    for graph in graphs(module, own, configuration):
        yield from graph['symbols']


def home(symbol, module):
    """The module of the type that a symbol of a module extends, or the module."""
    return symbol.get('swiftExtension', {}).get('extendedModule', module)


def symbols(module, own, configuration, apart=()):
    """The symbols that an import of a module makes visible, by their mangled names.

    A type that is re-exported by its name has the members that its own module declares, and those of modules that are visible
    as a whole. What these add to types of the standard library and of other packages is visible as well.
    """
    visible = scopes(module, own, apart)
    whole = scopes(module, own)
    found = {}
    for declaring, names in visible.items():
        for symbol in all_symbols(declaring, own, configuration):
            first, extended = symbol['pathComponents'][0], home(symbol, declaring)
            within = whole.get(extended, set()) if extended in own else None
            if (names is None or first in names) and (within is None or first in within):
                found[symbol['identifier']['precise']] = symbol
            elif names is not None and extended not in own:
                found[symbol['identifier']['precise']] = symbol
    return found


def relationships(visible, own, configuration):
    """The relationships of visible symbols, of all modules."""
    found = {}
    for name in sorted(own):
        # Of other packages' modules and of C nothing is visible by a name of its own.
        if any(declaring(precise, own) == name for precise in visible):
            for graph in graphs(name, own, configuration):
                for relationship in graph['relationships']:
                    if relationship['source'] in visible:
                        found[json.dumps(relationship, sort_keys=True)] = relationship
    return list(found.values())


def merged(module, own, configuration, apart=()):
    """One graph of everything that an import of a module makes visible, as if the module declared it."""
    visible = symbols(module, own, configuration, apart)
    # As extensions of another module they would be documented there.
    symbols_without_origin = [
        {key: value for key, value in symbol.items() if key != 'swiftExtension'} for symbol in visible.values()]
    first = graphs(module, own, configuration)[0]
    return {
        'metadata': first['metadata'], 'module': {**first['module'], 'name': module},
        'symbols': symbols_without_origin, 'relationships': relationships(visible, own, configuration)}
