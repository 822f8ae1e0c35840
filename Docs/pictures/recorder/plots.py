"""The plots, with the letters as shapes, so that they look the same everywhere."""
import io
import os
from xml.sax.saxutils import escape

import matplotlib
matplotlib.use('svg')
from matplotlib import pyplot

import costs as table_of_costs
import palette
import throughput as measurement

pyplot.rcParams.update({'svg.fonttype': 'path', 'svg.hashsalt': 'pictures', 'font.family': 'DejaVu Sans', 'font.size': 10.5})


def figure(colours, width, height, panels=1):
    """An empty figure in the colours of a page."""
    drawn, axes = pyplot.subplots(1, panels, figsize=(width, height), squeeze=False)
    for axis in axes[0]:
        axis.set_facecolor(colours['page'])
        axis.tick_params(colors=colours['text'], which='both', length=3)
        for side in ('top', 'right'):
            axis.spines[side].set_visible(False)
        for side in ('bottom', 'left'):
            axis.spines[side].set_color(colours['border'])
        axis.set_axisbelow(True)
        for text in (axis.title, axis.xaxis.label, axis.yaxis.label):
            text.set_color(colours['text'])
    drawn.patch.set_facecolor(colours['page'])
    return drawn, axes[0]


def document(drawn, description):
    """The SVG of a figure."""
    text = io.StringIO()
    drawn.savefig(text, format='svg', metadata={'Date': None, 'Creator': None}, bbox_inches='tight', pad_inches=0.12)
    pyplot.close(drawn)
    svg = text.getvalue()
    svg = svg[svg.index('<svg'):].replace('<svg ', '<svg role="img" aria-labelledby="t" ', 1)
    end = svg.index('>') + 1
    return svg[:end] + f'<title id="t">{escape(description)}</title>' + svg[end:]


def throughput(name, folder, programs):
    """Throughput and round trip over the connection interval, for LE 1M and LE 2M, on the simulated radio."""
    path = os.path.join(folder, 'data', name + '.csv')
    if not os.path.exists(path):
        measurement.measure(path, programs())
    rows, date = measurement.read(path)
    forms = {}
    for form, colours in palette.FORMS.items():
        drawn, (left, right) = figure(colours, 9.2, 3.6, 2)
        for (phy, octets), colour, mark in zip(measurement.LINKS, ('first', 'second', 'third'), 'os^'):
            of_link = [row for row in rows if (row['phy'], row['data_length']) == (phy, octets)]
            left.plot([float(row['interval_ms']) for row in of_link], [int(row['bytes_per_second']) / 1000 for row in of_link],
                      marker=mark, markersize=5, color=colours[colour])
            left.annotate(f'{phy}, data length {octets}', (float(of_link[-1]['interval_ms']), int(of_link[-1]['bytes_per_second']) / 1000),
                          xytext=(0, 8), textcoords='offset points', ha='right', color=colours[colour])
        trips = sorted({(float(row['interval_ms']), float(row['round_trip_ms'])) for row in rows})
        right.plot(*zip(*trips), marker='o', markersize=5, color=colours['first'])
        left.set_ylim(0, 200)
        left.set_title('notifications, kB/s', loc='left', color=colours['text'], fontsize=11)
        right.set_title('round trip of a read, ms', loc='left', color=colours['text'], fontsize=11)
        right.set_yscale('log')
        right.set_yticks([10, 20, 50, 100, 200, 500], ['10', '20', '50', '100', '200', '500'])
        right.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
        for axis in (left, right):
            axis.set_xscale('log')
            axis.set_xticks([float(text) for text in measurement.INTERVALS], measurement.INTERVALS)
            axis.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
            axis.grid(True, axis='y', color=colours['border'], linewidth=0.6)
            axis.set_xlabel('connection interval in ms')
        drawn.text(0.995, -0.005, f'simulated radio, {date}', ha='right', va='top', color=colours['faint'], fontsize=9)
        drawn.tight_layout(w_pad=3)
        forms[form] = document(drawn, throughput.__doc__)
    return forms


def costs(name, folder, programs):
    """Processor time of operations in multiples of the bare system calls: this library, BlueZ and PureSwift."""
    date, libraries, operations = table_of_costs.comparison()
    names = {'here': 'this library'}
    forms = {}
    for form, colours in palette.FORMS.items():
        drawn, (axis,) = figure(colours, 8.6, 5)
        high = 0.8 / len(libraries)
        for column, (library, colour) in enumerate(zip(libraries, ('first', 'second', 'third'))):
            for line, (_, figures, cells) in enumerate(operations):
                value, y = figures[column], line + (column - 1) * high
                if value is None:
                    axis.text(1.03, y, f'{library}: not measured', va='center', color=colours['faint'], fontsize=9)
                    continue
                axis.barh(y, value - 1, high * 0.88, left=1, color=colours[colour], label=names.get(library, library) if line == 0 else None)
                axis.text(value * 1.02, y, cells[column], va='center', color=colours['text'], fontsize=9)
        axis.set_yticks(range(len(operations)), [operation.replace(', sent', ',\nsent') for operation, _, _ in operations])
        axis.invert_yaxis()
        axis.set_xscale('log')
        axis.set_xlim(1, 130)
        ticks = [1, 2, 5, 10, 20, 50, 100]
        axis.set_xticks(ticks, [f'{tick} ×' for tick in ticks])
        axis.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
        axis.grid(True, axis='x', color=colours['border'], linewidth=0.6)
        axis.tick_params(axis='y', length=0)
        axis.set_xlabel('processor time of both ends, in multiples of the bare system calls (1 ×), logarithmic; less is better')
        axis.legend(frameon=False, loc='upper right', labelcolor=colours['text'])
        drawn.text(0.995, 0.0, f'{date}; Docs/Performance.md', ha='right', va='top', color=colours['faint'], fontsize=9)
        drawn.tight_layout()
        forms[form] = document(drawn, costs.__doc__)
    return forms
