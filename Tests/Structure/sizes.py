"""What Tests/Structure/budget limits: lines of code, the host seam's members, stored closures, weak captures."""
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
MEMBER = re.compile(r'^ *(?:[@\w]+(?:\([^)]*\))? )*(?:func|var|init|subscript)\b', re.M)


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


def lines_of_code(path, mark):
    """The lines of a file that are neither blank nor comments."""
    with open(path, encoding='utf8') as file:
        return sum(bool(row.strip()) and not row.strip().startswith(mark) for row in file)


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
                count = lines_of_code(path, mark)
                found['/'.join(parts[:2])] += count if len(parts) > 1 else 0
                if name.endswith('.swift'):
                    found[top] += count
    return found


def bodies(text, head):
    """The direct content of every declaration that `head` matches, without that of its members."""
    for match in re.finditer(head, text):
        depth, end, kept = 1, match.end(), []
        while depth and end < len(text):
            if depth == 1:
                kept.append(text[end])
            depth += {'{': 1, '}': -1}.get(text[end], 0)
            end += 1
        yield ''.join(kept)


def shapes(texts):
    """The counts that are not of lines, from the blanked text of every file by its path."""
    returning = [text for path, text in texts.items() if path.split(os.sep)[1] in RETURNING and path.startswith('Sources')]
    seam = [text for path, text in texts.items() if path.startswith(os.path.join('Sources', 'BluetoothHost') + os.sep)]
    return {
        'seam-members': sum(len(MEMBER.findall(body)) for text in seam for body in bodies(text, r'protocol \w+[^{]*\{')),
        'stored-closures': sum(
            '->' in match and '{' not in match.split('=')[0] for text in returning for match in CLOSURE.findall(text)),
        'weak-captures': sum(len(re.findall(r'\[weak ', text)) for text in returning),
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
