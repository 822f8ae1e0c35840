"""Where the time of tests went: the share of each suite, and the ten slowest tests.

  durations.py FILE    of lines "ok - SUITE: TEST (SECONDS s)", as Tests/Kernel/run prints them
"""
import collections
import re
import sys

SLOWEST = 10


def report(tests):
    """Prints it for tuples of suite, test and seconds."""
    suites = collections.defaultdict(list)
    for suite, _, seconds in tests:
        suites[suite].append(seconds)
    total = sum(seconds for _, _, seconds in tests) or 1
    for suite, seconds in sorted(suites.items(), key=lambda each: -sum(each[1])):
        print(f'{sum(seconds):8.1f} s {100 * sum(seconds) / total:4.0f} %  {suite}: {len(seconds)} tests')
    slowest(tests)


def slowest(tests):
    """Prints the slowest of them."""
    print(f'The {SLOWEST} slowest:')
    for suite, name, seconds in sorted(tests, key=lambda test: -test[2])[:SLOWEST]:
        print(f'{seconds:8.1f} s  {suite}: {name}')


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding='utf8', errors='replace') as lines:
        found = (re.match(r'(?:not )?ok - ([^:]+): (.*) \(([\d.]+) s\)$', line.rstrip()) for line in lines)
        report([(line[1], line[2], float(line[3])) for line in found if line])
