"""The figures of `make bench`: those that are ratios as bars (SVG), all as a table for README."""

from xml.sax.saxutils import escape

LEFT, WIDTH, STEP, BAR = 430, 300, 26, 16
GOOD, BAD, OTHER = "#4a7c59", "#b4532a", "#8a8f98"
NO_GOAL = "no goal"


def svg(record):
    rows = [row for row in record["rows"] if not row["unit"] and row["value"] < 20]
    most = max([2.0] + [row["value"] for row in rows])
    height = STEP * len(rows) + 60
    scale = WIDTH / most
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 70}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="18" font-weight="bold">brewlogd to its peers (1: equal)</text>',
    ]
    for number, row in enumerate(rows):
        y = 30 + number * STEP
        colour = GOOD if row["reached"] else BAD
        if row["goal"] == NO_GOAL:
            colour = OTHER
        lines += [
            f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(row["name"])}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{row["value"] * scale:.1f}" height="{BAR}" '
            f'fill="{colour}"/>',
            f'<text x="{LEFT + row["value"] * scale + 5:.1f}" y="{y + 12}">{row["value"]:.2f}</text>',
        ]
    at = LEFT + scale
    lines += [
        f'<line x1="{at:.1f}" y1="26" x2="{at:.1f}" y2="{height - 28}" stroke="#444" '
        'stroke-dasharray="3 3"/>',
        f'<text x="8" y="{height - 10}" fill="#555">{escape(record["machine"])}</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def table(record):
    lines = ["| figure | here | spread | to reach | |", "| --- | ---: | --- | --- | --- |"]
    for row in record["rows"]:
        verdict = "" if row["goal"] == NO_GOAL else "reached" if row["reached"] else "**not**"
        lines.append(f"| {row['name']} | {row['value']:,.2f}{row['unit']} | {row['spread']} "
                     f"| {row['goal']} | {verdict} |")
    return "\n".join(lines) + "\n"
