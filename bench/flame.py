"""Flame graphs: where a profile's samples are, with callers below and callees above.

`folded` reads the output of `perf script -F comm,ip,sym`, `svg` draws the graph.
"""

import html
import re

WIDTH, ROW_HEIGHT, MARGIN = 1200, 18, 10
LEAST_WIDTH = 1.0  # Pixels; narrower functions are left out.


def folded(script, root, shortened):
    """Returns {stack: samples}.  A stack is a tuple of functions, beginning with the outermost one
    that matches the regular expression `root`; samples without such a function are left out.
    `shortened` makes a function's name readable."""
    stacks = {}
    for sample in re.split(r"\n\s*\n", script):
        frames = []
        for line in sample.splitlines():
            match = re.match(r"\s+[0-9a-f]+\s+(.*\S)", line)
            if match:
                frames.append(match.group(1))
        frames.reverse()
        first = next((i for i, frame in enumerate(frames) if re.search(root, frame)), None)
        if first is None:
            continue
        stack = tuple(shortened(frame) or "?" for frame in frames[first:])
        stacks[stack] = stacks.get(stack, 0) + 1
    return stacks


def tree(stacks):
    """Returns (samples, {function: tree}), with callees sorted by name so that similar graphs look similar."""
    total = sum(stacks.values())
    children = {}
    for stack, samples in stacks.items():
        if stack:
            inner = children.setdefault(stack[0], {})
            inner[stack[1:]] = inner.get(stack[1:], 0) + samples
    return total, {name: tree(inner) for name, inner in sorted(children.items())}


def colour(name):
    """A colour for each function, the same in every graph; warm, as is usual for flame graphs."""
    spread = sum(ord(c) * (i % 7 + 3) for i, c in enumerate(name))
    return f"rgb({205 + spread % 50},{90 + spread // 7 % 120},{40 + spread // 3 % 40})"


def svg(stacks, title):
    """The graph as SVG.  Hovering over a function shows its share."""
    total, children = tree(stacks)
    boxes = []
    deepest = 0

    def draw(functions, left, depth):
        nonlocal deepest
        for name, (samples, inner) in functions.items():
            width = (WIDTH - 2 * MARGIN) * samples / max(total, 1)
            if width >= LEAST_WIDTH:
                boxes.append((name, samples, left, depth, width))
                deepest = max(deepest, depth)
                draw(inner, left, depth + 1)
            left += width

    draw(children, MARGIN, 0)
    height = (deepest + 1) * ROW_HEIGHT + 3 * MARGIN + 20
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
             f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{MARGIN}" y="20" font-size="14">{html.escape(title)}, '
             f'{total:,} samples</text>']
    for name, samples, left, depth, width in boxes:
        top = height - MARGIN - (depth + 1) * ROW_HEIGHT
        share = f"{name}: {100 * samples / total:.1f}%"
        letters = int(width / 6.2)
        label = name if len(name) <= letters else name[:letters - 1] + "…" if letters > 3 else ""
        parts.append(f'<g><title>{html.escape(share)}</title>'
                     f'<rect x="{left:.1f}" y="{top}" width="{max(width - 0.5, 0.5):.1f}" '
                     f'height="{ROW_HEIGHT - 1}" rx="1" fill="{colour(name)}"/>'
                     f'<text x="{left + 3:.1f}" y="{top + 13}">{html.escape(label)}</text></g>')
    return "\n".join(parts) + "\n</svg>\n"
