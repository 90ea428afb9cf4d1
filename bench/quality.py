#!/usr/bin/env python3
"""How good plans are: nodes that go, beside what no plan exceeds.

    quality.py EBB [--openb NODES.csv PODS.csv] [--budget 5s] [--trials 20] [--json FILE]

A row a cluster: nodes that go in the autoscaler's order, in the best of the four orders and
with a search (`ebb plan --optimize --bound --trials`); the bound and the gap to it; how long
the search took; pods that move; and how many stay pending when a scheduler that does not know
the plan carries it out, in the median and at most, in random order and in the plan's.  Every
plan is verified, as all plans of ebb are: one that is not is an error.

The openb trace, at five shares of ended pods, is there where its files are given
(docs/import.md); the other clusters are generated.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

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
    """Name and file of each."""
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
        "bound": best["bound"]["nodes"], "gap": best["bound"]["gap"], "seconds": round(seconds, 2),
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


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("ebb", metavar="EBB")
    parser.add_argument("--openb", nargs=2, metavar=("NODES", "PODS"))
    parser.add_argument("--budget", default="5s")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(argv)
    rows = []
    with tempfile.TemporaryDirectory(prefix="ebb-quality-") as folder:
        for name, file in clusters(options.ebb, pathlib.Path(folder), options.openb):
            print(f"quality: {name}", file=sys.stderr, flush=True)
            rows.append(row(options.ebb, name, file, options.budget, options.trials))
    print(table(rows))
    gaps = [each["gap"] for each in rows]
    print(f"\ngap: {statistics.median(gaps):.1%} in the median, {max(gaps):.1%} at most")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
