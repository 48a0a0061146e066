"""Pictures of results as SVG: named marks on a logarithmic scale, drawn by matplotlib.

The background is transparent and every colour is of middle brightness, so that pages may be light or dark. Text stays text. The
same results make the same file on every day and machine.
"""

from collections import namedtuple

try:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator
except ImportError:  # whoever draws says so first
    matplotlib = None

MISSING = "pictures need matplotlib, Debian's python3-matplotlib: scripts/deps --bench installs it for /usr/bin/python3"
TEXT, LINE = "#737c86", "#8b949e"
ROW, CHARACTER = 0.24, 0.075  # inches
WIDTH, MARGIN, LEGEND_COLUMNS = 9.0, 0.15, 4

# How one series of values looks. `shape` is matplotlib's: o, s, ^, D, |.
Mark = namedtuple("Mark", "name colour shape filled", defaults=("o", True))


def available():
    return matplotlib is not None


def style():
    return {"svg.hashsalt": "retile", "svg.fonttype": "none", "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Verdana"],
            "font.size": 9, "text.color": TEXT, "axes.edgecolor": LINE, "axes.labelcolor": TEXT, "xtick.color": TEXT, "ytick.color": TEXT}


def draw(path, title, label, rows, marks, *, rule=None):
    """Rows of (name, [value or None]), with a mark for each value. `rule`: a value to draw a line at."""
    if matplotlib is None:
        raise RuntimeError(MISSING)
    if not all(mark.name for mark in marks):
        raise ValueError(f"{title}: a mark without a name")
    with matplotlib.rc_context(style()):
        lines = -(-len(marks) // LEGEND_COLUMNS)
        top, bottom, left = 0.44 + 0.2 * lines, 0.5, MARGIN + CHARACTER * max(len(name) for name, _ in rows)
        height = top + ROW * len(rows) + bottom
        figure = Figure(figsize=(WIDTH, height))
        FigureCanvasSVG(figure)
        axes = figure.add_axes((left / WIDTH, bottom / height, (WIDTH - left - MARGIN) / WIDTH, ROW * len(rows) / height))
        axes.patch.set_alpha(0)
        axes.set_xscale("log")
        for k, mark in enumerate(marks):
            points = [(values[k], y) for y, (_, values) in enumerate(rows) if values[k] is not None]
            axes.plot([x for x, _ in points], [y for _, y in points], mark.shape, color=mark.colour, label=mark.name, markersize=11 if mark.shape == "|" else 6,
                      markerfacecolor=mark.colour if mark.filled else "none", markeredgewidth=1.4, alpha=0.9, clip_on=False, zorder=3)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        scale(axes, [value for _, values in rows for value in [*values, rule] if value is not None])
        axes.set_xlabel(label)
        axes.tick_params(length=0)
        axes.grid(color=LINE, alpha=0.3, linewidth=0.6)
        for side in axes.spines.values():
            side.set_visible(False)
        if rule is not None:
            axes.axvline(rule, color=LINE, linewidth=1.2)
        figure.text(MARGIN / WIDTH, 1 - 0.1 / height, title, fontsize=11, fontweight="bold", verticalalignment="top")
        figure.legend(loc="upper left", bbox_to_anchor=(MARGIN / WIDTH, 1 - 0.34 / height), ncols=LEGEND_COLUMNS, frameon=False,
                      borderaxespad=0, borderpad=0, handletextpad=0.2, columnspacing=1.5)
        figure.savefig(path, format="svg", transparent=True, metadata={"Title": title, "Date": None, "Creator": None})


def scale(axes, values):
    """Limits around the values, and as many ticks as there is room for."""
    low, high = min(values) / 1.25, max(values) * 1.25
    subs = (1, 2, 5) if high / low < 200 else (1, 3) if high / low < 5000 else (1,)
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=50))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
