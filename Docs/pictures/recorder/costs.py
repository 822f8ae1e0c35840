"""Reads the comparison with BlueZ and PureSwift from the table of Docs/Performance.md."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def comparison():
    """The date, the names of the libraries, and for each operation its name, a figure or None for each
    of them, and the figures' texts."""
    with open(os.path.join(ROOT, 'Docs', 'Performance.md')) as file:
        section = file.read().split('\n## Comparison\n', 1)[1]
    date = re.search(r'Measured on (\d{4}-\d\d-\d\d)', section)
    table = re.search(r'\| × floor \|.*?\n\n', section, re.S)
    if not date or not table:
        sys.exit('record: Docs/Performance.md has no table "× floor" with a date in its section Comparison')
    rows = [[cell.strip() for cell in line.strip('|').split('|')] for line in table.group().strip().splitlines()]
    operations = [(row[0], [figure(cell) for cell in row[1:]], [cell.replace('*', '') for cell in row[1:]])
                  for row in rows[2:] if 'PDUs' not in row[0]]
    return date.group(1), rows[0][1:], operations


def figure(cell):
    number = re.match(r'\**([\d.]+)', cell)
    return float(number.group(1)) if number else None
