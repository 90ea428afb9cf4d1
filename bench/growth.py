#!/usr/bin/env python3
"""How the cost of every command and of every change of a live cluster grows with the cluster.

usage: growth.py EBB [--bench EBB_BENCH] [--kinds K,...] [--sizes N,...] [--runs N] [--only REGEX] [--json FILE]

`./dev bench growth` builds both programs and calls this one.  Each command runs over `ebb gen KIND --seed 1
--nodes N`, one after the other, and costs the CPU time of its process, user and system, beyond that of `ebb --version`:
the best of --runs.  The cost of a change is the median CPU time that ebb_bench reports.  The exponent is the slope of
the least squares line through the logarithms of sizes and costs: 1 means that twice the cluster costs twice as much.
Exponents above 1.1 are marked.  Costs below 5 ms (1 us for a change) do not count.

Exit codes: 0: every command ran, whatever the exponents; 1: a command failed; 2: wrong usage.
"""

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

KINDS = ["company", "mixed", "topology"]
SIZES = [500, 1000, 2000, 5000, 10000, 20000]
POWER_MAX = 1.1
LEAST_S = {"command": 0.005, "change": 1e-6}
NOW = ["--now", "2026-06-01T12:00:00Z"]
CHANGES = ["KnownShape", "NewShape", "Budget", "Node", "Namespace"]


class Failure(Exception):
    """A command that did not do what it should, in one line."""


def cpu_of(command, out):
    """The CPU seconds of a process that writes to the file `out`."""
    with open(out, "wb") as stdout, tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(command, stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            stderr.seek(0)
            said = stderr.read().decode(errors="replace").strip().splitlines()
            raise Failure(f"{' '.join(command)}: exit code {process.returncode}: {said[-1] if said else ''}")
    return usage.ru_utime + usage.ru_stime


class Cluster:
    """The files of one generated cluster, and the commands that are measured over it."""

    def __init__(self, ebb, kind, size, folder):
        self.ebb, self.kind, self.size = ebb, kind, size
        self.folder = pathlib.Path(folder)
        self.dump = self.path("cluster.json")
        self.snapshot = self.path("cluster.pb")
        cpu_of([ebb, "gen", kind, "--seed", "1", "--nodes", str(size), "-o", self.dump], self.path("out"))
        cpu_of([ebb, "import", self.dump, "-o", self.snapshot], self.path("out"))
        cpu_of([ebb, "plan", self.dump, *NOW, "-o", "json"], self.path("plan.json"))
        with open(self.dump, encoding="utf-8") as file:
            items = json.load(file)["items"]
        self.node = next(o["metadata"]["name"] for o in items if o["kind"] == "Node")
        pod = next(o["metadata"] for o in items if o["kind"] == "Pod")
        self.pod = f"{pod.get('namespace', 'default')}/{pod['name']}"
        with open(self.path("change.yaml"), "w", encoding="utf-8") as file:
            file.write(f"objects:\n- kind: Node\n  metadata: {{name: {self.node}}}\n  spec: {{unschedulable: true}}\n")
        with open(self.path("events.json"), "w", encoding="utf-8") as file:
            for item in items:
                file.write(json.dumps({"type": "ADDED", "object": item}) + "\n")

    def path(self, name):
        return str(self.folder / name)

    def commands(self):
        """(name, words after `ebb`), in the order of the table."""
        plan = ["plan", self.dump, *NOW]
        return [
            ("gen", ["gen", self.kind, "--seed", "1", "--nodes", str(self.size), "-o", self.path("gen.json")]),
            ("import", ["import", self.dump, "-o", self.path("import.pb")]),
            ("plan", plan),
            ("plan .pb", ["plan", self.snapshot, *NOW]),
            ("plan -o json", [*plan, "-o", "json"]),
            ("plan --explain", [*plan, "--explain", self.node]),
            ("plan --counterfactual", [*plan, "--explain", self.node, "--counterfactual"]),
            ("plan --trials 5", [*plan, "--trials", "5"]),
            ("plan --state", [*plan, "--state", self.path("state.db")]),
            ("plan --what-if", [*plan, "--what-if", self.path("change.yaml")]),
            ("plan --watch-file", ["plan", "--watch-file", self.path("events.json"), *NOW]),
            ("blockers", ["blockers", self.dump, *NOW]),
            ("frontier", ["frontier", self.dump, *NOW]),
            ("filter", ["filter", self.dump, "--pod", self.pod]),
            ("compare", ["compare", self.path("plan.json"), self.path("plan.json")]),
            ("run --simulate", ["run", "--simulate", "--kind", self.kind, "--nodes", str(self.size), "--hours", "1"]),
        ]

    def cost(self, words, runs):
        costs = []
        for _ in range(runs):
            for state in self.folder.glob("state.db*"):
                state.unlink()
            costs.append(cpu_of([self.ebb, *words], self.path("out")))
        return min(costs)


def changes_of(bench, kind, sizes, runs):
    """{change: {size: median CPU seconds}}, from ebb_bench."""
    snapshots = ",".join(f"{kind}:{size}" for size in sizes)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.json"
        cpu_of([bench, f"Live_CompanyChurn/.*/{kind}:", "--changes-of", snapshots, f"--benchmark_out={out}",
                "--benchmark_out_format=json", f"--benchmark_repetitions={runs}",
                "--benchmark_report_aggregates_only=false"], str(pathlib.Path(folder) / "out"))
        rows = json.loads(out.read_text(encoding="utf-8"))["benchmarks"]
    costs = {}
    for row in rows:
        if row.get("error_occurred"):
            raise Failure(f"{row['name']}: {row.get('error_message')}")
        found = re.match(r"BM_Live_CompanyChurn/(\w+)/\w+:(\d+)", row["name"])
        if not found or row.get("run_type") == "aggregate":
            continue
        of_change = costs.setdefault(found.group(1), {})
        size = int(found.group(2))
        of_change[size] = min(of_change.get(size, math.inf), row["cpu_p50_ms"] / 1e3)
    return costs


def power(points, least=0.0):
    """The exponent of size in cost, by least squares on logarithms; None: fewer than two points count."""
    logs = [(math.log(size), math.log(cost)) for size, cost in points.items() if cost > 0 and cost >= least]
    if len(logs) < 2:
        return None
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def shown(seconds):
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds * 1e6:.1f} us"


def line(row, sizes):
    exponent = "-" if row["power"] is None else f"{row['power']:.2f}"
    if row["power"] is not None and row["power"] > POWER_MAX:
        exponent = f"**{exponent}**"
    costs = [shown(row["seconds"][size]) if size in row["seconds"] else "" for size in sizes]
    return f"| {row['kind']} | {row['what']} | " + " | ".join(costs) + f" | {exponent} |"


def head(sizes):
    names = ["cluster", "command or change", *(f"{size:,}" for size in sizes), "exponent"]
    return f"| {' | '.join(names)} |\n|---|---|{'--:|' * (len(sizes) + 1)}"


def measure(options):
    """Yields a row for each command and each change, as soon as it is measured."""
    wanted = re.compile(options.only)
    start = min(cpu_of([options.ebb, "--version"], os.devnull) for _ in range(options.runs))
    for kind in options.kinds:
        costs = {}
        for size in options.sizes:
            with tempfile.TemporaryDirectory() as folder:
                cluster = Cluster(options.ebb, kind, size, folder)
                for name, words in cluster.commands():
                    if wanted.search(name):
                        costs.setdefault(name, {})[size] = max(0.0, cluster.cost(words, options.runs) - start)
                    if options.progress:
                        print(f"{kind}:{size} {name}", file=sys.stderr)
        for name, seconds in costs.items():
            yield {"kind": kind, "what": name, "seconds": seconds, "power": power(seconds, LEAST_S["command"])}
        names = [name for name in CHANGES if wanted.search(f"change {name}")]
        if not options.bench or not names:
            continue
        changes = changes_of(options.bench, kind, options.sizes, options.runs)
        for name in names:
            if name not in changes:
                raise Failure(f"{options.bench}: has no row for {name}")
            yield {"kind": kind, "what": f"change {name}", "seconds": changes[name],
                   "power": power(changes[name], LEAST_S["change"])}


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ebb")
    parser.add_argument("--bench", help="ebb_bench, for the changes of a live cluster")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=KINDS)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=SIZES)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="commands and changes whose name matches this regular expression")
    parser.add_argument("--json", help="also write the rows to this file")
    parser.add_argument("--progress", action="store_true", help="say on stderr what has been measured")
    return parser.parse_args(argv)


def main(argv):
    options = parse(argv)
    print(head(options.sizes), flush=True)
    rows = []
    try:
        for row in measure(options):
            rows.append(row)
            print(line(row, options.sizes), flush=True)
    except Failure as failure:
        print(f"growth: {failure}", file=sys.stderr)
        return 1
    above = [row for row in rows if row["power"] is not None and row["power"] > POWER_MAX]
    print(f"\n{len(rows)} rows, {len(above)} with an exponent above {POWER_MAX}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
