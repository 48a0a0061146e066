"""Pictures as SVG: marks on a logarithmic scale."""

import math


def decades(low, high):
    """1, 10, 100, .. from low to high."""
    out = []
    while low <= high * 1.0001:
        out.append(low)
        low *= 10
    return out


def svg(path, title, rows, low, high, unit, legend, *, ticks=None, per_line=None, spacing=120, rule=None):
    """Rows of (name, [value or None]) as marks; legend: (text, colour) per value. `rule`: a value to draw a line at."""
    left, width, step = 300, 460, 22
    per_line = per_line or len(legend)
    lines = math.ceil(len(legend) / per_line)
    top = 58 + 18 * (lines - 1)
    height = top + step * len(rows) + 34

    def x(value):
        return left + width * (math.log10(min(max(value, low), high)) - math.log10(low)) / (math.log10(high) - math.log10(low))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 40}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="100%" height="100%" fill="white"/><text x="10" y="20" font-size="14">{title}</text>']
    begin = left if lines == 1 else 18
    for k, (text, colour) in enumerate(legend):
        at, line = begin + spacing * (k % per_line), 18 * (k // per_line)
        out.append(f'<circle cx="{at}" cy="{38 + line}" r="5" fill="{colour}"/><text x="{at + 9}" y="{42 + line}">{text}</text>')
    for tick in ticks or decades(low, high):
        out.append(f'<line x1="{x(tick):.1f}" y1="{top - 8}" x2="{x(tick):.1f}" y2="{height - 26}" stroke="#ddd"/>'
                   f'<text x="{x(tick):.1f}" y="{height - 10}" text-anchor="middle">{tick:g}{unit}</text>')
    if rule is not None:
        out.append(f'<line x1="{x(rule):.1f}" y1="{top - 8}" x2="{x(rule):.1f}" y2="{height - 26}" stroke="#666"/>')
    for k, (name, values) in enumerate(rows):
        y = top + step * k + 6
        out.append(f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{name}</text>')
        for (_, colour), value in zip(legend, values):
            if value is not None:
                out.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="5" fill="{colour}" fill-opacity="0.8"/>')
    path.write_text("\n".join(out + ["</svg>"]) + "\n")
