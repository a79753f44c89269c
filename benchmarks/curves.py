"""Growth curves as SVG: time and peak of memory against rows, columns, classes and workers, both axes logarithmic."""

import math

WIDTH, HEIGHT, MARGIN = 420, 260, 56
COLOURS = ("#1f6fb2", "#c8552b", "#2e8b57", "#7a4fa3")
AXES = (("n", "rows (d = 16, 10 classes)"), ("d", "columns (10,000 rows, 10 classes)"), ("c", "classes (20,000 rows, d = 64)"))


def curves(lines):
    """{file name: (title, SVG)} of what the measurements allow."""
    images = {}
    fits = [line for line in lines if line["what"] == "once"]
    for axis, title in AXES:
        chosen = [(point["kind"], point[axis], point) for point in fits if belongs(point, axis)]
        add(images, f"growth-{axis}-time", "time", "s, CPU", title, chosen, lambda point: point["times"]["cpu_min"])
        add(images, f"growth-{axis}-memory", "memory", "MiB, peak", title, chosen, lambda point: point["peak_after"] / 2**20)
    files = [line for line in lines if line["what"] == "stream"]
    threads = [(f"file, {plural(line['threads'], 'thread')}", line["rows"], line) for line in files]
    add(images, "growth-file-time", "time", "s, wall", "rows in a Parquet file (d = 64)", threads, lambda line: line["wall"])
    add(images, "growth-file-memory", "memory", "MB, peak", "rows in a Parquet file (d = 64)", threads, lambda line: line["peak_mb"])
    for engine in ("dask", "spark"):
        chosen = [line for line in lines if line["what"] == "cluster" and line["engine"] == engine]
        workers = [(plural(line["workers"], "worker"), line["rows"], line) for line in chosen]
        add(images, f"growth-{engine}", "time", "s, wall", f"rows (d = 256), {engine.capitalize()}", workers, lambda line: line["wall"])
    return images


def add(images, name, what, unit, title, points, value):
    """One image of (series, place, line), if there is a line to draw."""
    least = {}
    for who, x, line in points:  # a point may have been measured for two curves
        here = least.setdefault(who, {})
        here[x] = min(value(line), here.get(x, math.inf))
    series = {who: sorted(line.items()) for who, line in least.items()}
    if any(len(line) > 1 for line in series.values()):
        images[f"figures/{name}.svg"] = (f"{what} against {title}", draw(series, title, f"{what} ({unit})"))


def belongs(point, axis):
    if axis == "n":
        return point["d"] == 16 and point["c"] == 10 and point["kind"] in ("fit", "stream")
    if axis == "d":
        return point["n"] == 10_000 and point["c"] == 10 and point["kind"] == "fit"
    return point["n"] == 20_000 and point["d"] == 64 and point["kind"] in ("fit", "stream")


def plural(count, word):
    return f"{count} {word}" + ("s" if count != 1 else "")


def draw(series, x_label, y_label):
    xs = [x for line in series.values() for x, _ in line]
    ys = [y for line in series.values() for _, y in line]
    x_range, y_range = decades(xs), decades(ys)
    place_x = lambda x: MARGIN + (math.log10(x) - x_range[0]) / (x_range[1] - x_range[0]) * (WIDTH - MARGIN - 16)
    place_y = lambda y: HEIGHT - 40 - (math.log10(y) - y_range[0]) / (y_range[1] - y_range[0]) * (HEIGHT - 64)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for k in range(x_range[0], x_range[1] + 1):
        x = place_x(10**k)
        parts.append(f'<line x1="{x:.1f}" y1="24" x2="{x:.1f}" y2="{HEIGHT - 40}" stroke="#ddd"/><text x="{x:.1f}" y="{HEIGHT - 26}" text-anchor="middle">{power(k)}</text>')
    for k in range(y_range[0], y_range[1] + 1):
        y = place_y(10**k)
        parts.append(f'<line x1="{MARGIN}" y1="{y:.1f}" x2="{WIDTH - 16}" y2="{y:.1f}" stroke="#ddd"/><text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{power(k)}</text>')
    for k, (name, line) in enumerate(sorted(series.items())):
        colour = COLOURS[k % len(COLOURS)]
        path = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in sorted(line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.extend(f'<circle cx="{place_x(x):.1f}" cy="{place_y(y):.1f}" r="3" fill="{colour}"/>' for x, y in line)
        parts.append(f'<text x="{MARGIN + 8 + 92 * k}" y="16" fill="{colour}">{name}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{x_label}</text>')
    parts.append(f'<text x="{WIDTH - 16}" y="16" text-anchor="end">{y_label}</text></svg>')
    return "\n".join(parts) + "\n"


def decades(values):
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def power(k):
    return str(10**k) if 0 <= k < 5 else f"{10.0**k:g}" if -4 < k < 0 else f"10{str(k).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
