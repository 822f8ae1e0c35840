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


REEXPORTED = '-experimental-allowed-reexported-modules='


def products():
    """The library products, by the manifest; each has one module of its own name."""
    manifest = subprocess.run(
        ['swift', 'package', 'dump-package'], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    package = json.loads(manifest)
    own = frozenset(t['name'] for t in package['targets'] if t['type'] in ('regular', 'system'))
    return sorted(p['name'] for p in package['products'] if 'library' in p['type']), own


@functools.cache
def triple():
    """The compiler's target triple."""
    information = subprocess.run(['swift', '-print-target-info'], capture_output=True, text=True, check=True).stdout
    return json.loads(information)['target']['triple']


@functools.cache
def graphs(module, own, configuration, *further):
    """A module's graphs, from the compiler."""
    build = os.path.join(ROOT, '.build', configuration)
    maps = [os.path.join(ROOT, 'Sources', name, 'module.modulemap') for name in own]
    maps += [os.path.join(build, name + '.build', 'module.modulemap') for name in own]
    arguments = ['swift-symbolgraph-extract', '-module-name', module, '-I', os.path.join(build, 'Modules')]
    for path in maps:
        if os.path.exists(path):
            arguments += ['-Xcc', '-fmodule-map-file=' + path]
    with tempfile.TemporaryDirectory() as folder:
        arguments += [
            '-target', triple(), '-minimum-access-level', 'public', '-skip-synthesized-members', *further,
            '-output-dir', folder]
        done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f'{module}: no symbol graph; is it built (swift build -c {configuration})?\n{done.stderr}')
        found = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name)) as file:
                found.append(json.load(file))
        return found


def extract(module, own, configuration, *further):
    """The symbols of a module's graphs."""
    for graph in graphs(module, own, configuration, *further):
        yield from graph['symbols']


@functools.cache
def members(module, own, configuration):
    """The symbols of a module inside of its types, by the type's name."""
    found = {}
    for symbol in extract(module, own, configuration):
        if len(symbol['pathComponents']) > 1:
            found.setdefault(symbol['pathComponents'][0], []).append(symbol)
    return found


@functools.cache
def extensions(module, own, configuration):
    """The symbols that a module adds to types of the standard library and of other packages."""
    return [
        symbol for symbol in extract(module, own, configuration)
        if symbol.get('swiftExtension', {}).get('extendedModule', module) not in own]


def symbols(module, own, configuration):
    """The symbols that an import of a module makes visible.

    Of a type that is re-exported by its name the compiler leaves out what extensions add: that is in the graph of the
    module that declares the type, whose name begins the type's mangled one. What that module adds to other types is
    visible as well.
    """
    declaring_modules = set()
    reexported = REEXPORTED + ','.join(sorted(own - {module}))
    for symbol in extract(module, own, configuration, reexported):
        yield symbol
        mangled = re.match(r's:(\d+)', symbol['identifier']['precise'])
        if len(symbol['pathComponents']) == 1 and mangled:
            start = mangled.end()
            declaring = symbol['identifier']['precise'][start:start + int(mangled.group(1))]
            if declaring in own and declaring != module:
                declaring_modules.add(declaring)
                yield from members(declaring, own, configuration).get(symbol['pathComponents'][0], [])
    for declaring in sorted(declaring_modules):
        yield from extensions(declaring, own, configuration)


def merged(module, own, configuration):
    """One graph of everything that an import of a module makes visible, as if the module declared it."""
    visible = {symbol['identifier']['precise']: symbol for symbol in symbols(module, own, configuration)}
    relationships = {}
    for name in sorted(own):
        # Of other packages' modules and of C nothing is visible by a name of its own.
        if name != module and not declares(name, visible):
            continue
        further = [REEXPORTED + ','.join(sorted(own - {module}))] if name == module else []
        for graph in graphs(name, own, configuration, *further):
            for relationship in graph['relationships']:
                if relationship['source'] in visible:
                    relationships[json.dumps(relationship, sort_keys=True)] = relationship
    # As extensions of another module they would be documented there.
    symbols_without_origin = [
        {key: value for key, value in symbol.items() if key != 'swiftExtension'} for symbol in visible.values()]
    first = graphs(module, own, configuration)[0]
    return {
        'metadata': first['metadata'], 'module': {**first['module'], 'name': module},
        'symbols': symbols_without_origin, 'relationships': list(relationships.values())}


def declares(module, visible):
    """Whether a module declares visible symbols: its name begins their mangled names."""
    return any(precise.startswith(f's:{len(module)}{module}') for precise in visible)
