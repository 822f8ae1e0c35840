"""What Tests/Structure/budget limits.

Counted are lines of code, the members of the host seam, the public declarations of BluetoothLE and BluetoothGateway with the
cases of their enumerations, without what they re-export, and in BluetoothLE, BluetoothGateway and BluetoothKernelHost weak
captures and stored closures, besides the program's handlers (of a type that public API of the same file takes) and those of
folders named Support.
"""
import collections
import os
import re

# By a file's ending, or its first line: what begins a comment.
COMMENTS = {'.swift': '//', '.c': '//', '.h': '//', '.js': '//', '.py': '#', 'python3': '#', 'bash': '#', 'sh': '#', 'node': '//'}
# The targets above and below the host seam whose components return what their owner has to do.
RETURNING = ('BluetoothLE', 'BluetoothGateway', 'BluetoothKernelHost')
CLOSURE = re.compile(
    r'^ {4,8}(?:(?:public|package|internal|private|fileprivate|nonisolated|lazy)(?:\(set\))? )*(?:let|var) \w+: *'
    r'(?:\(*@|\(\(|\([^)\n]*\)[^\n=]*->)[^\n]*', re.M)
PUBLIC = re.compile(r'^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public|open) (?!import)(?=[\w()]+ |init|subscript)', re.M)
MEMBER = re.compile(r'^ *(?:[@\w]+(?:\([^)]*\))? )*(func|var|init|subscript)\b ?(\w*)', re.M)


def comment_mark(path):
    """What begins a comment in a file of code; None in other files."""
    ending = os.path.splitext(path)[1]
    if ending or os.path.islink(path):
        return None if os.path.islink(path) else COMMENTS.get(ending)
    with open(path, 'rb') as file:
        first = file.readline(100)
    if not first.startswith(b'#!'):
        return None
    return COMMENTS.get(re.split(r'[/ ]', first.decode('utf8', 'replace').strip())[-1])


def lines_of_code(rows, mark):
    """The number of lines that are neither blank nor comments."""
    return sum(bool(row.strip()) and not row.strip().startswith(mark) for row in rows)


def lines(root):
    """The lines of code of each target, in all languages, and of each top folder, in Swift."""
    found = collections.Counter()
    for top in ('Sources', 'Examples', 'Tests'):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [name for name in folders if not name.startswith('.')]
            parts = os.path.relpath(folder, root).split(os.sep)
            for name in names:
                path = os.path.join(folder, name)
                mark = comment_mark(path)
                if mark is None:
                    continue
                with open(path, encoding='utf8') as file:
                    count = lines_of_code(file, mark)
                found['/'.join(parts[:2])] += count if len(parts) > 1 else 0
                if name.endswith('.swift'):
                    found[top] += count
    return found


def declared(text, keyword):
    """The name and the direct content of every declaration with this keyword."""
    head = rf'\b{keyword} (\w+)[^{{]*{{'
    return zip(re.findall(head, text), bodies(text, head))


def bodies(text, head):
    """The direct content of every declaration that `head` matches, without that of its members."""
    for match in re.finditer(head, text):
        depth, end, kept = 1, match.end(), []
        while depth and end < len(text):
            after = depth + {'{': 1, '}': -1}.get(text[end], 0)
            if 1 in (depth, after):
                kept.append(text[end])
            depth, end = after, end + 1
        yield ''.join(kept)


def seam(texts):
    """The members of the host seam: of its protocols, and the closures of its structs."""
    for path, text in sorted(texts.items()):
        if path.startswith(os.path.join('Sources', 'BluetoothHost') + os.sep):
            for name, body in declared(text, 'protocol'):
                yield from (f'{name}.{member or kind}' for kind, member in MEMBER.findall(body))
            for name, body in declared(text, 'struct'):
                yield from (f'{name}.{member}' for member, _ in closures(body))


def closures(text):
    """The stored closures of a text: their names and types."""
    for found in CLOSURE.findall(text):
        names, _, kind = found.partition(' = ')[0].partition(':')
        if '->' in found and '{' not in kind:
            yield names.split()[-1], kind.strip()


def public(text):
    """The number of public declarations of a text, and of the cases of its public enumerations."""
    return len(PUBLIC.findall(text)) + sum(
        len(re.findall(r'^\s*(?:indirect )?case [^:\n]*$', body, re.M)) for body in bodies(text, r'public (?:indirect )?enum [^{]*\{'))


def takes(text, kind):
    """Whether public API in a text takes a closure of a type."""
    bare = re.sub(r'^\(+(?=[@(])|\)?\?$', '', kind)
    return any(bare in match.group() for match in re.finditer(r'\bpublic (?:\w+ )*(?:func|init)\b[^{}]*', text))


def is_returning(path):
    """Whether a file is one of those targets'."""
    return path.startswith('Sources') and path.split(os.sep)[1] in RETURNING


def shapes(texts):
    """The counts that are not of lines, from the blanked text of every file by its path."""
    return {
        'public-declarations': sum(
            public(text) for path, text in texts.items()
            if path.startswith(('Sources/BluetoothLE/', 'Sources/BluetoothGateway/'))),
        'seam-members': sum(1 for _ in seam(texts)),
        'stored-closures': sum(
            not takes(text, kind) for path, text in texts.items() if is_returning(path) and 'Support' not in path.split(os.sep)
            for _, kind in closures(text)),
        'weak-captures': sum(len(re.findall(r'\[weak ', text)) for path, text in texts.items() if is_returning(path)),
    }


def limits(path):
    """The limits that the budget names."""
    found = {}
    with open(path, encoding='utf8') as file:
        for row in file:
            words = row.partition('#')[0].split()
            if words:
                found[words[0]] = int(words[1])
    return found
