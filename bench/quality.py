#!/usr/bin/env python3
"""How good plans are: nodes that go, beside what no plan exceeds.

    quality.py EBB [--openb NODES.csv PODS.csv] [--budget 5s] [--trials 20] [--json FILE]
               [--docs]
    quality.py --self-test

There is one row for each cluster: how many nodes go in the autoscaler's order, in the best of the four
orders and with a search (`ebb plan --optimize --bound --trials`); the bound and the gap to it; how long
the search took; how many pods move; and how many pods stay pending when a scheduler that does not know
the plan carries it out, median and maximum, in random order and in the plan's order.  Every plan is
verified, as ebb verifies all its plans: a plan that does not pass is an error.

The openb trace, with five shares of ended pods, is included if its files are given (docs/import.md);
the other clusters are generated.  --docs writes the table into docs/better-plans.md and the picture
docs/quality.svg.
"""

import argparse
import datetime
import html
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOC = ROOT / "docs" / "better-plans.md"
PICTURE = ROOT / "docs" / "quality.svg"

ORDERS = ["autoscaler", "input", "fewest-pods", "least-utilized"]
GENERATED = [("mixed", 500), ("mixed", 1000), ("mixed", 5000), ("company", 1000),
             ("diverse", 500), ("topology", 500), ("uniform", 1000)]
OPENB_SHARES = [0.3, 0.4, 0.5, 0.6, 0.7]
HEADINGS = ["cluster", "nodes", "autoscaler", "best order", "searched", "bound", "gap", "seconds",
            "pods moved", "pending, random", "pending, in order"]


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"quality: {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def clusters(ebb, folder, openb):
    """Yields each cluster's name and file."""
    for kind, nodes in GENERATED:
        file = folder / f"{kind}-{nodes}.pb"
        run(ebb, "gen", kind, "--nodes", nodes, "--seed", 1, "-o", file)
        yield f"{kind} {nodes:,}", file
    for share in OPENB_SHARES if openb else []:
        file = folder / f"openb-{share}.pb"
        run(ebb, "import", "openb", "--nodes", openb[0], "--pods", openb[1], "--ended-share", share,
            "-o", file)
        yield f"openb, {share:.0%} ended", file


def plan(ebb, file, *flags):
    words = [ebb, "plan", file, "--assume-complete", "--now", "2026-06-01T12:00:00Z", *flags]
    return json.loads(run(*words, "-o", "json"))["summary"]


def row(ebb, name, file, budget, trials):
    greedy = {order: plan(ebb, file, "--candidate-order", order)["removed"] for order in ORDERS}
    start = time.monotonic()
    plan(ebb, file, "--optimize", "--budget", budget)
    seconds = time.monotonic() - start
    best = plan(ebb, file, "--optimize", "--budget", budget, "--bound", "--trials", trials)
    pending = [best["trials"][order] for order in ("randomOrder", "planOrder")]
    return {
        "cluster": name, "nodes": best["nodes"], "autoscaler": greedy["autoscaler"],
        "best order": max(greedy.values()), "searched": best["removed"],
        "bound": best["bound"]["removed"], "gap": best["bound"]["gap"], "seconds": round(seconds, 2),
        "pods moved": best["movedPods"],
        **{heading: f"{each['pendingMedian']}, {each['pendingMax']}"
           for heading, each in zip(HEADINGS[-2:], pending)}}


def table(rows):
    text = [HEADINGS] + [
        [f"{value:.1%}" if heading == "gap" else f"{value:,}" if isinstance(value, int) else str(value)
         for heading, value in each.items()] for each in rows]
    widths = [max(len(line[i]) for line in text) for i in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(line, widths)))
                     for line in text)


def summary(rows):
    gaps = [each["gap"] for each in rows]
    return f"gap: {statistics.median(gaps):.1%} in the median, {max(gaps):.1%} at most"


# Readable on white and on black.  Text follows the page's colour scheme if the picture can query it.
STYLE = """<style>
text { font: 12px sans-serif; fill: #57606a }
.autoscaler { fill: #4878a8 } .order { fill: #7fb3d5 } .searched { fill: #2e9e5b }
.left { fill: #8b949e; fill-opacity: .35 }
@media (prefers-color-scheme: dark) { text { fill: #adb5bd } }
</style>"""


def picture(rows):
    """One bar per cluster: each planner's nodes as a share of the bound that no plan exceeds."""
    left, width, line, top = 140, 420, 24, 44
    height = top + line * len(rows) + 12
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" '
             f'viewBox="0 0 720 {height}" role="img" aria-label="Nodes that go, of what no plan '
             'exceeds">', STYLE]
    legend = [("autoscaler", "autoscaler's order"), ("order", "best order"),
              ("searched", "searched"), ("left", "no plan has more")]
    for i, (kind, text) in enumerate(legend):
        x = left + 145 * i
        parts.append(f'<rect class="{kind}" x="{x}" y="10" width="12" height="12"/>'
                     f'<text x="{x + 18}" y="20">{text}</text>')
    for number, each in enumerate(rows):
        y = top + line * number
        parts.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">'
                     f'{html.escape(each["cluster"])}</text>')
        at = 0.0
        for kind, key in (("autoscaler", "autoscaler"), ("order", "best order"),
                          ("searched", "searched"), ("left", "bound")):
            to = width * each[key] / max(each["bound"], 1)
            if to > at:
                parts.append(f'<rect class="{kind}" x="{left + at:.1f}" y="{y}" '
                             f'width="{to - at:.1f}" height="16"/>')
            at = max(at, to)
        parts.append(f'<text x="{left + width + 8}" y="{y + 12}">{each["searched"]:,} of '
                     f'{each["bound"]:,}</text>')
    return "\n".join(parts) + "\n</svg>\n"


def replaced(page, block, text):
    """The page, with the text between <!-- quality:block --> and <!-- /quality --> replaced."""
    pattern = re.compile(rf"(<!-- quality:{block} -->\n).*?(<!-- /quality -->)", re.S)
    if not pattern.search(page):
        sys.exit(f"quality: {DOC} has no <!-- quality:{block} --> ... <!-- /quality -->")
    return pattern.sub(lambda m: m.group(1) + text + "\n" + m.group(2), page)


def write_docs(rows, options):
    flags = f"--budget {options.budget} --trials {options.trials}"
    told = (f"`./dev quality --openb NODES.csv PODS.csv --docs` ({flags}), "
            f"{datetime.date.today().isoformat()}, two cores that others worked on too:\n\n"
            f"```\n{table(rows)}\n\n{summary(rows)}\n```")
    DOC.write_text(replaced(DOC.read_text(encoding="utf-8"), "table", told), encoding="utf-8")
    PICTURE.write_text(picture(rows), encoding="utf-8")


class SelfTest(unittest.TestCase):
    ROW = {"cluster": "a & b", "nodes": 2000, "autoscaler": 50, "best order": 60, "searched": 75,
           "bound": 100, "gap": 0.25, "seconds": 1.5, "pods moved": 1234,
           "pending, random": "0, 1", "pending, in order": "0, 0"}

    def test_the_table_has_a_row_a_cluster(self):
        lines = table([self.ROW]).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[1].split("  ")[0], "a & b")
        self.assertIn("25.0%", lines[1])
        self.assertIn("1,234", lines[1])

    def test_bars_end_at_the_bound(self):
        drawn = picture([self.ROW])
        bars = re.findall(r'<rect class="(\w+)" x="([\d.]+)" y="44" width="([\d.]+)"', drawn)
        self.assertEqual([(kind, float(x), float(width)) for kind, x, width in bars],
                         [("autoscaler", 140, 210), ("order", 350, 42), ("searched", 392, 63),
                          ("left", 455, 105)])
        self.assertIn("a &amp; b", drawn)

    def test_a_bar_that_adds_nothing_is_not_drawn(self):
        drawn = picture([{**self.ROW, "best order": 50, "searched": 100}])
        self.assertNotIn('<rect class="order" x="350', drawn)
        self.assertEqual(drawn.count('class="left"'), 1)  # The legend's.

    def test_the_gap_has_its_median_and_its_maximum(self):
        rows = [{**self.ROW, "gap": gap} for gap in (0, 0.01, 0.03)]
        self.assertEqual(summary(rows), "gap: 1.0% in the median, 3.0% at most")

    def test_only_the_block_of_the_page_is_exchanged(self):
        page = "a\n<!-- quality:x -->\nold\n<!-- /quality -->\nb\n"
        self.assertEqual(replaced(page, "x", "new"), page.replace("old", "new"))


def main(argv):
    if argv == ["--self-test"]:
        return unittest.main(argv=["quality"], verbosity=0)
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("ebb", metavar="EBB")
    parser.add_argument("--openb", nargs=2, metavar=("NODES", "PODS"))
    parser.add_argument("--budget", default="5s")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--docs", action="store_true",
                        help="write the table into docs/better-plans.md and docs/quality.svg")
    options = parser.parse_args(argv)
    rows = []
    with tempfile.TemporaryDirectory(prefix="ebb-quality-") as folder:
        for name, file in clusters(options.ebb, pathlib.Path(folder), options.openb):
            print(f"quality: {name}", file=sys.stderr, flush=True)
            rows.append(row(options.ebb, name, file, options.budget, options.trials))
    print(table(rows))
    print("\n" + summary(rows))
    if options.docs:
        write_docs(rows, options)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
