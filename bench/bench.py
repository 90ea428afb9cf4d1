#!/usr/bin/env python3
"""Runs the benchmark suite and says how far each row is from its target.

./dev bench builds and then calls this program; --help describes the options.  The rows are those of
ebb_bench (Google Benchmark), and three kinds that need more than one process:
  Process/...   a whole `ebb plan` on a dump: wall time and peak memory;
  Growth/...    cold passes from 500 to 50,000 nodes, and the exponent of the best fit;
  --against REV the same rows of another revision, in turn with those of this one.

Figures are medians over repetitions; `spread` is (max - min) / median.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import flame

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "bench"
DOC = ROOT / "docs" / "performance.md"
DATA = ROOT / "docs" / "performance.json"
GROWTH_SVG = ROOT / "docs" / "growth.svg"
FLAMES = ROOT / "docs" / "flame"

# Cluster Autoscaler's planner (mid 2026) on the same kind of snapshots, which were loaded already, on two
# cores: cold pass and second pass, in milliseconds.
AUTOSCALER_MS = {
    "uniform:400": (1600, 600), "uniform:1000": (5800, 2700), "uniform:5000": (172000, 98000),
    "mixed:1000": (1900, 1400), "mixed:5000": (77000, 54000), "openb": (1500, 450),
}
# Targets of cold and second passes, in milliseconds.
COLD_MS = {
    "uniform:1000": 2, "uniform:5000": 12, "mixed:1000": 3, "mixed:5000": 20, "openb": 1.5,
    "uniform:15000x30": 60, "uniform:100000x30": 1000, "topology:5000": 15, "diverse:1000": 0.7,
    "devices:2000": 100,
}
SECOND_MS = {"topology:5000": 8}
# Verifying a plan may take this many times as long as its pass, or this many milliseconds.
VERIFY_TIMES = 5
VERIFY_MS = 60
# Import of a dump into a snapshot, in milliseconds.
IMPORT_MS = {"terms:10000": 1000}
# One change of a live company of 5,000 nodes, in milliseconds.
CHANGE_MS = {"KnownShape": 2, "NewShape": 5}
GROWTH_SIZES = [500, 1000, 2000, 5000, 10000, 20000, 50000]
GROWTH_POWER_MAX = 1.1

UNIT_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


class Failure(Exception):
    """An error that is shown to the user, in one line."""


# --- rows -------------------------------------------------------------------------------


def row(name, samples, unit, target=None, autoscaler_ms=None, note=""):
    """One line of the table.  `target` is (op, value) in `unit`."""
    samples = [s for s in samples if s is not None]
    median = statistics.median(samples)
    made = {"name": name, "unit": unit, "median": median, "min": min(samples), "max": max(samples)}
    if target:
        made["target"] = list(target)
        made["met"] = median <= target[1] if target[0] == "<=" else median >= target[1]
    if autoscaler_ms:
        made["autoscaler_ms"] = autoscaler_ms
        made["times_autoscaler"] = autoscaler_ms * 1e6 / (median * UNIT_NS[unit])
    if note:
        made["note"] = note
    return made


def plain(name):
    """ebb_bench's name of a row, without the parts that only Google Benchmark needs."""
    return re.sub(r"/(real_time|manual_time|iterations:\d+|repeats:\d+)\b", "",
                  name.removeprefix("BM_"))


def rows_of(name, runs):
    """The rows for one of ebb_bench's benchmarks, from its repetitions."""
    ns = [r["real_time"] * UNIT_NS[r["time_unit"]] for r in runs]
    short = plain(name)
    kind, _, rest = short.partition("/")

    def times(unit, **more):
        return [row(short, [n / UNIT_NS[unit] for n in ns], unit, **more)]

    def percentiles(most):
        """Percentiles of each repetition's timings.  `most`: the targets of p50 and p99, in ms."""
        return [row(f"{short}/{name}", [r[f"{name}_ms"] for r in runs], "ms",
                    ("<=", target) if target else None)
                for name, target in zip(("p50", "p99"), most or (None, None))]

    if kind == "Planner_ColdPass":
        made = times("ms", target=("<=", COLD_MS[rest]) if rest in COLD_MS else None,
                     autoscaler_ms=AUTOSCALER_MS.get(rest, (None, None))[0])
        if rest == "uniform:100000x30":
            made.append(row(short + "/peak memory", [r["peak_rss_MB"] for r in runs], "MB",
                            ("<=", 4000)))
        return made
    if kind == "Planner_Verify":
        return times("ms")
    if kind == "Planner_SecondPass":
        return times("ms", target=("<=", SECOND_MS[rest]) if rest in SECOND_MS else None,
                     autoscaler_ms=AUTOSCALER_MS.get(rest, (None, None))[1])
    if kind == "Snapshot_ForkRevert":
        return times("ns", target=("<=", 10 if rest.startswith("devices") else 50))
    if kind == "Snapshot_Branch":
        return times("us", target=("<=", 10) if rest == "nodes:5000" else None)
    if kind in ("Snapshot_Revert", "Snapshot_Commit"):
        return [row(short, [r["per_change"] * 1e9 for r in runs], "ns", note="a changed pod")]
    if kind == "Snapshot_Memory":
        return [row(short + "/pod", [r["bytes/pod"] for r in runs], "B", ("<=", 300)),
                row(short + "/node", [r["bytes/node"] for r in runs], "B", ("<=", 2048))]
    if kind == "Import_Objects":
        return [row(short, [r["items_per_second"] / 1e3 for r in runs], "k pods/s",
                    (">=", 1000) if rest == "sample_pod/protobuf" else None)]
    if kind == "Live_Fill":
        return [row(short, [r["items_per_second"] / 1e3 for r in runs], "k pods/s",
                    (">=", 1000) if "/protobuf" in rest else None)]
    if kind == "Live_Memory":
        return [row(short + "/pod", [r["bytes/pod"] for r in runs], "B", ("<=", 500)),
                row(short + "/node", [r["bytes/node"] for r in runs], "B", ("<=", 4096))]
    if kind == "Live_Churn":
        return times("ms", target=("<=", 4) if rest == "uniform:5000" else None)
    if kind == "Live_ChurnAndPass":
        return times("ms")
    if kind == "Live_ChurnAndRound":
        return percentiles((15, 25) if rest == "uniform:5000" else None)
    if kind == "Live_ChurnAndStablePlan":
        return percentiles((5, 12) if rest == "uniform:5000" else None)
    if kind == "Live_ChurnAndCertificates":
        return percentiles(None)
    if kind == "Live_CompanyChurn":
        change, _, workload = rest.partition("/")
        return times("ms", target=("<=", CHANGE_MS[change])
                     if change in CHANGE_MS and workload == "company:5000" else None)
    if kind == "Live_OnePod":
        return times("us", target=("<=", 5))
    if kind == "Serve_PlanUnchanged":
        return percentiles((1, None))
    if kind == "Serve_ChurnAndPlan":
        return percentiles((18, 30) if rest in ("uniform:5000", "mixed:5000") else None)
    if kind == "Serve_RoundUnderDeletions":
        return times("ms", target=("<=", 20) if rest == "company:5000" else None)
    if kind == "Serve_Stream":
        return times("s", target=("<=", 1.5))
    if kind in ("Import_Json", "Import_JsonToSnapshot"):
        target = None
        if kind == "Import_Json" and "threads:1" in rest:
            target = (">=", 1500 if "indented" in rest else 600)
        made = [row(short, [r["bytes"] / n * 1e3 for r, n in zip(runs, ns)], "MB/s", target)]
        workload = rest.partition("/")[0]
        if kind == "Import_JsonToSnapshot" and workload in IMPORT_MS:
            made.append(row(short + "/time", [n / UNIT_NS["ms"] for n in ns], "ms",
                            ("<=", IMPORT_MS[workload])))
        return made
    median = statistics.median(ns)
    return times("ns" if median < 1e4 else "us" if median < 1e6 else "ms")


def nanos(r):
    return r["median"] * UNIT_NS[r["unit"]]


def relations(rows):
    """Rows that compare one row with another."""
    by_name = {r["name"]: r for r in rows}
    made = []
    for name, r in by_name.items():
        for kind, share in (("Planner_SecondPass", 10), ("Planner_LaterPass", 10),
                            ("Planner_ChurnPass", 20)):
            cold = by_name.get(name.replace(kind, "Planner_ColdPass"))
            if name.startswith(kind) and cold:
                made.append(row(name + " of cold", [100 * nanos(r) / nanos(cold)], "%",
                                ("<=", share)))
        cold = by_name.get(name.replace("Planner_Verify", "Planner_ColdPass"))
        if name.startswith("Planner_Verify") and cold:
            # A plan that is verified in almost no time need not be compared with its pass.
            most = max(VERIFY_TIMES, VERIFY_MS * 1e6 / nanos(cold))
            made.append(row(name + " of cold", [nanos(r) / nanos(cold)], "x",
                            ("<=", float(f"{most:.3g}"))))
        if re.match(r"Snapshot_(Revert|Commit)/.*/changes:40/", name):
            flat = by_name.get(name.replace("depth:100", "depth:1"))
            small = by_name.get(re.sub(r"nodes:20000", "nodes:400", name))
            if name.endswith("depth:100") and flat:
                made.append(row(name + " of depth:1", [r["median"] / flat["median"]], "x",
                                ("<=", 1.25)))
            if "nodes:20000" in name and name.endswith("depth:10") and small:
                made.append(row(name + " of nodes:400", [r["median"] / small["median"]], "x"))
        small = by_name.get(name.replace("mixed:50000", "mixed:5000"))
        if name.startswith("Live_OnePod") and small and small is not r:
            made.append(row(name + " of mixed:5000", [r["median"] / small["median"]], "x",
                            ("<=", 1.2)))
        one = by_name.get(name.replace("threads:2", "threads:1"))
        alone = by_name.get(re.sub("/beside:[^/]*", "", name))
        if name.startswith("Serve_ChurnAndPlan") and name.endswith("/p99") and alone is not r:
            if alone:
                made.append(row(name + " of alone", [r["median"] / alone["median"]], "x",
                                ("<=", 2)))
        if name.startswith("Import_") and "threads:2" in name and one:
            made.append(row(name + " of one", [r["median"] / one["median"]], "x", (">=", 1.5)))
        binary = by_name.get(re.sub("/json$", "/pb", name))
        if name.startswith("Import_Load") and name.endswith("/json") and binary:
            made.append(row(name + " of pb", [nanos(r) / nanos(binary)], "x", (">=", 10)))
    return made


# --- running ----------------------------------------------------------------------------


def run_bench(binary, args, repetitions, filter_, seconds=None):
    """Runs ebb_bench; returns {name: repetitions}.  Its output goes to stderr.

    `seconds`: the minimum time of a repetition; None: ebb_bench's default.
    """
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [str(binary), *args, f"--benchmark_filter={filter_}",
                   f"--benchmark_repetitions={repetitions}",
                   "--benchmark_report_aggregates_only=false",
                   "--benchmark_display_aggregates_only=true",
                   f"--benchmark_out={out.name}", "--benchmark_out_format=json"]
        stdout, stderr = sys.stderr, None
        if seconds is not None:  # One of many runs; its output is not shown.
            command.append(f"--benchmark_min_time={seconds}")
            stdout = stderr = subprocess.DEVNULL
        result = subprocess.run(command, stdout=stdout, stderr=stderr, cwd=ROOT)
        if result.returncode != 0:
            raise Failure(f"{binary.name} ended with {result.returncode}")
        text = pathlib.Path(out.name).read_text(encoding="utf-8")
    runs = {}
    for each in json.loads(text)["benchmarks"] if text else []:
        if each["run_type"] != "iteration":
            continue
        if each.get("error_occurred"):
            print(f"left out {each['run_name']}: {each.get('error_message')}", file=sys.stderr)
            continue
        runs.setdefault(each["run_name"], []).append(each)
    return runs


def exactly(names):
    """A filter of ebb_bench that matches exactly these rows."""
    return "^(" + "|".join(re.escape(name).replace("\\-", "-") for name in names) + ")$"


def list_rows(binary, args):
    result = subprocess.run([str(binary), *args, "--list"], capture_output=True, text=True, cwd=ROOT)
    if result.returncode != 0:
        raise Failure((result.stderr.strip() or "ebb_bench --list failed").splitlines()[-1])
    return [line for line in result.stdout.splitlines() if line.startswith("BM_")]


def dump_of(ebb, nodes):
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"uniform{nodes}.json"
    if not path.exists():
        subprocess.run([str(ebb), "gen", "uniform", "--nodes", str(nodes), "-o", str(path)],
                       check=True, stderr=subprocess.DEVNULL)
    return path


def process_rows(ebb, repetitions):
    """Rows of a whole process; the file is in the page cache."""
    path = dump_of(ebb, 5000)
    made = []
    for threads in (1, 2):
        walls, peaks = [], []
        for _ in range(repetitions):
            begin = time.monotonic()
            process = subprocess.Popen([str(ebb), "plan", str(path), "--threads", str(threads)],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            walls.append(time.monotonic() - begin)
            peaks.append(usage.ru_maxrss * 1024 / 1e6)
            if status != 0:
                raise Failure(f"ebb plan {path} failed")
        name = f"Process_Plan/uniform:5000/threads:{threads}"
        size = f"{path.stat().st_size / 1e6:.0f} MB of JSON"
        made.append(row(name + "/wall", walls, "s", ("<=", 1), note=size))
        made.append(row(name + "/peak memory", peaks, "MB", ("<=", 300)))
    return made


# --- growth -----------------------------------------------------------------------------


def power(points):
    """The exponent p of time = c * nodes^p, by least squares over logarithms."""
    xs = [math.log(n) for n, _ in points]
    ys = [math.log(t) for _, t in points]
    mx, my = statistics.fmean(xs), statistics.fmean(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def growth(binary, kind, args, repetitions):
    """[(nodes, ms)] of cold passes over clusters of this kind."""
    names = ",".join(f"{kind}:{n}" for n in GROWTH_SIZES)
    runs = run_bench(binary, [*args, "--snapshots", names], repetitions,
                     f"^BM_Planner_ColdPass/{kind}:")
    points = []
    for name, each in runs.items():
        nodes = int(re.search(r":(\d+)", name).group(1))
        points.append((nodes, statistics.median(
            r["real_time"] * UNIT_NS[r["time_unit"]] / 1e6 for r in each)))
    return sorted(points)


def growth_row(kind, points):
    made = row(f"Growth/{kind}", [power(points)], "power", ("<=", GROWTH_POWER_MAX),
               note=f"{points[0][0]:,} to {points[-1][0]:,} nodes")
    made["points"] = points
    return made


def growth_text(curves, width=64, height=14):
    """A plot for the terminal with logarithmic axes."""
    every = [p for points in curves.values() for p in points]
    x0, x1 = (f(math.log(n) for n, _ in every) for f in (min, max))
    y0, y1 = (f(math.log(t) for _, t in every) for f in (min, max))
    grid = [[" "] * width for _ in range(height)]
    for kind, points in curves.items():
        for n, t in points:
            x = round((math.log(n) - x0) / (x1 - x0) * (width - 1))
            y = round((math.log(t) - y0) / (y1 - y0) * (height - 1))
            grid[height - 1 - y][x] = kind[0]
    lines = ["  " + "".join(line).rstrip() for line in grid]
    lines[0] += f"   {math.exp(y1):.3g} ms"
    lines[-1] += f"   {math.exp(y0):.3g} ms"
    lines.append(f"  {'-' * width}")
    lines.append(f"  {math.exp(x0):<10.0f}{'nodes':^{width - 20}}{math.exp(x1):>10.0f}")
    lines.append("  " + ", ".join(f"{k[0]}: {k}, power {power(p):.2f}" for k, p in curves.items()))
    return "\n".join(lines)


def growth_svg(curves):
    width, height, left, bottom = 640, 360, 70, 50
    every = [p for points in curves.values() for p in points]
    x0, x1 = (f(math.log10(n) for n, _ in every) for f in (min, max))
    y0 = math.floor(min(math.log10(t) for _, t in every))
    y1 = math.ceil(max(math.log10(t) for _, t in every))

    def place(n, t):
        return (left + (math.log10(n) - x0) / (x1 - x0) * (width - left - 130),
                height - bottom - (math.log10(t) - y0) / (y1 - y0) * (height - bottom - 20))

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for decade in range(y0, y1 + 1):
        x, y = place(10 ** x0, 10 ** decade)
        end = place(10 ** x1, 1)[0]
        parts.append(f'<path d="M{x:.0f} {y:.1f}H{end:.0f}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{10 ** decade:g} ms</text>')
    for n, _ in max(curves.values(), key=len):
        x = place(n, 1)[0]
        parts.append(f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle">{n:,}</text>')
    parts.append(f'<text x="{left + 200}" y="{height - 8}">nodes (both axes logarithmic)</text>')
    for (kind, points), colour in zip(curves.items(), ("#1f77b4", "#d62728")):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(n, t) for n, t in points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for n, t in points:
            x, y = place(n, t)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
        x, y = place(*points[-1])
        parts.append(f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="{colour}">'
                     f'{kind}: n^{power(points):.2f}</text>')
    return "\n".join(parts) + "\n</svg>\n"


# --- printing ---------------------------------------------------------------------------


def figure(value, unit):
    if unit == "power":
        return f"n^{value:.2f}"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
    return f"{value:,.{digits}f} {unit}"


def cells(r):
    target = met = ""
    if "target" in r:
        op, value = r["target"]
        target = f"{'≤' if op == '<=' else '≥'} {value:g} {r['unit'] if r['unit'] != 'power' else ''}"
        met = "yes" if r["met"] else "no"
    spread = (r["max"] - r["min"]) / r["median"] if r["median"] else 0
    rival = times = ""
    if "autoscaler_ms" in r:
        rival = f"{r['autoscaler_ms'] / 1000:g} s"
        times = f"{r['times_autoscaler']:,.0f}"
    return [r["name"], figure(r["median"], r["unit"]),
            f"{100 * spread:.0f}%" if r["max"] > r["min"] else "", target.strip(), met, rival, times]


HEADINGS = ["row", "median", "spread", "target", "met", "autoscaler", "times"]


def table(rows, headings=HEADINGS, of=cells):
    lines = [headings, *(of(r) for r in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    return "\n".join(
        "  ".join(c.ljust(w) if i == 0 else c.rjust(w)
                  for i, (c, w) in enumerate(zip(line, widths))).rstrip() for line in lines)


def markdown(rows):
    lines = [HEADINGS, ["---"] + ["--:"] * (len(HEADINGS) - 1), *(cells(r) for r in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# --- against another revision -----------------------------------------------------------


def git(*args):
    result = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True)
    if result.returncode != 0:
        raise Failure(f"git {' '.join(args)}: {result.stderr.strip().splitlines()[-1]}")
    return result.stdout.strip()


def build_revision(revision):
    """The ebb_bench of a revision, built in a worktree under build/against/."""
    commit = git("rev-parse", "--short=12", f"{revision}^{{commit}}")
    tree = ROOT / "build" / "against" / commit
    binary = tree / "build" / "release" / "ebb_bench"
    if not tree.exists():
        git("worktree", "prune")
        git("worktree", "add", "--detach", str(tree), commit)
    log = ROOT / "build" / "log" / f"against-{commit}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"== building {revision} ({commit})", file=sys.stderr)
    with open(log, "w", encoding="utf-8") as out:
        for command in (["cmake", "--preset", "release", "-DEBB_TOGETHER=ON"],
                        ["ninja", "-C", "build/release", "ebb_bench"]):
            # Lets ccache share objects between worktrees.
            shared = {**os.environ, "CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}
            if subprocess.run(command, cwd=tree, stdout=out, stderr=out,
                              env=shared).returncode != 0:
                raise Failure(f"{revision} does not build: see {log}")
    return binary, commit


PAIR_SECONDS = 0.03  # A shared machine changes its speed within seconds.


def compared(name, ours, theirs):
    """The statistics of a row, from pairs of runs, one right after the other."""
    ratios = [a / b for a, b in zip(ours, theirs)]
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else 3 * ratios
    return {"name": plain(name), "ours_ns": statistics.median(ours),
            "theirs_ns": statistics.median(theirs), "ratio": middle,
            "ratio_low": low, "ratio_high": high, "pairs": len(ratios)}


def against(binary, other, args, pairs, names):
    """Compares our time with the other's, row by row, in short alternating runs."""
    made = []
    for name in names:
        print(f"{plain(name)}: {pairs} pairs", file=sys.stderr)
        samples = {binary: [], other: []}
        for turn in range(pairs):
            for each in (binary, other) if turn % 2 == 0 else (other, binary):
                runs = run_bench(each, args, 1, exactly([name]), PAIR_SECONDS).get(name, [])
                samples[each] += [r["real_time"] * UNIT_NS[r["time_unit"]] for r in runs[:1]]
            if not samples[binary] or not samples[other]:
                break
        if samples[binary] and samples[other]:
            made.append(compared(name, samples[binary], samples[other]))
        else:
            print(f"only in one of the two: {name}", file=sys.stderr)
    return made


def nanoseconds(ns):
    unit = next(u for u in ("s", "ms", "us", "ns") if ns >= UNIT_NS[u] or u == "ns")
    return figure(ns / UNIT_NS[unit], unit)


def against_cells(r):
    return [r["name"], nanoseconds(r["theirs_ns"]), nanoseconds(r["ours_ns"]), f"{r['ratio']:.3f}",
            f"{r['ratio_low']:.3f}..{r['ratio_high']:.3f} of {r['pairs']}"]


# --- profiles ---------------------------------------------------------------------------


def shortened(symbol):
    """A function's name without namespaces, arguments and template arguments."""
    symbol = re.sub(r"\[(abi:\w+|clone .*?)\]|\(anonymous namespace\)::", "", symbol)
    while True:
        plain = re.sub(r"<[^<>]*>|\([^()]*\)|\{[^{}]*\}", "", symbol)
        if plain == symbol:
            break
        symbol = plain
    return re.sub(r"\b(ebb|absl|debian\d+|std|__cxx11|simdjson|container_internal)::", "", symbol).strip()[:70]


def perf_record(binary, args, name, data, *how, seconds):
    """Profiles a row for `seconds`, including the making of its cluster."""
    if shutil.which("perf") is None:
        raise Failure("--profile needs perf (apt install linux-perf)")
    command = ["perf", "record", "-q", *how, "-o", data, str(binary), *args,
               f"--benchmark_filter=^{re.escape(name)}$", "--benchmark_repetitions=1",
               f"--benchmark_min_time={seconds}"]
    if subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise Failure(f"perf record of {name} failed; may this user profile?")


def flame_graph(binary, args, name):
    """Draws the row as a flame graph that begins at the measured call."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(pathlib.Path(folder) / "perf.data")
        perf_record(binary, args, name, data, "-F", "499", "--call-graph", "dwarf,8192", seconds=2)
        script = subprocess.run(["perf", "script", "-i", data, "--no-inline", "-F", "comm,ip,sym"],
                                capture_output=True, text=True, errors="replace").stdout
    stacks = flame.folded(script, MEASURED, shortened)
    if not stacks:
        raise Failure(f"perf saw nothing of what {name} measures")
    FLAMES.mkdir(exist_ok=True)
    flame_file(plain(name)).write_text(flame.svg(stacks, plain(name)), encoding="utf-8")


def flame_file(row_name):
    return FLAMES / (re.sub(r"[^\w.-]+", "-", row_name) + ".svg")


def profile(binary, args, name, lines=8):
    """Where a row's time is spent: [(percent, function)], from perf's samples."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(pathlib.Path(folder) / "perf.data")
        perf_record(binary, args, name, data, "-F", "2000", seconds=4)
        report = subprocess.run(["perf", "report", "-i", data, "--no-children", "--sort", "sym",
                                 "-g", "none"], capture_output=True, text=True).stdout
    found = {}
    for line in report.splitlines():
        match = re.match(r"\s*([\d.]+)%\s+\[.\]\s+(.*)", line)
        if match:
            symbol = shortened(match.group(2))
            found[symbol] = found.get(symbol, 0) + float(match.group(1))
    return sorted(((round(p, 1), s) for s, p in found.items()), reverse=True)[:lines]


# The functions whose calls the rows measure.
MEASURED = r"^ebb::(Planner::Pass|ReadJson|ReadBytes|ScaleDown::\w+)(\(|$)"

PROFILED = ["BM_Planner_ColdPass/uniform:5000/real_time", "BM_Planner_ColdPass/mixed:5000/real_time",
            "BM_Planner_ColdPass/openb/real_time", "BM_Planner_ColdPass/topology:5000/real_time",
            "BM_Planner_SecondPass/uniform:5000/manual_time",
            "BM_Import_Json/mixed:1000/compact/threads:1/real_time",
            "BM_Import_Json/mixed:1000/indented/threads:1/real_time",
            "BM_Import_JsonToSnapshot/uniform:5000/compact/threads:1/real_time"]


# --- the page ---------------------------------------------------------------------------


def machine():
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    version = subprocess.run(["c++", "--version"], capture_output=True, text=True).stdout
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "memory_gib": round(memory),
            "system": f"{os.uname().sysname} {os.uname().release}",
            "compiler": version.splitlines()[0] if version else "unknown"}


def replaced(page, block, text):
    """The page, with the text between <!-- bench:block --> and <!-- /bench --> replaced."""
    pattern = re.compile(rf"(<!-- bench:{block} -->\n).*?(<!-- /bench -->)", re.S)
    if not pattern.search(page):
        raise Failure(f"{DOC}: has no <!-- bench:{block} --> ... <!-- /bench -->")
    return pattern.sub(lambda m: m.group(1) + text + "\n" + m.group(2), page)


def order(name):
    """Sorts rows of the page by what they measure, then by size."""
    kinds = ["Planner_ColdPass", "Planner_Verify", "Planner_SecondPass", "Planner_LaterPass", "Planner_ChurnPass",
             "Growth", "Import_Json/", "Import_JsonToSnapshot", "Import_Load",
             "Process", "Snapshot_Memory", "Snapshot_Build", "Snapshot",
             "Round"]
    rank = next((i for i, k in enumerate(kinds) if name.startswith(k)), len(kinds))
    return rank, [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)]


def write_page(rows, profiles, where):
    data = {"rows": {}, "profiles": {}}
    if DATA.exists():
        data = json.loads(DATA.read_text(encoding="utf-8"))
    data["machine"] = where
    for r in rows:
        data["rows"][r["name"]] = {**r, "date": datetime.date.today().isoformat()}
    data["profiles"].update(profiles)
    every = sorted(data["rows"].values(), key=lambda r: order(r["name"]))
    for r in every:  # Rounds to four digits, so that noise does not show as a change.
        r.update({k: float(f"{v:.4g}") for k, v in r.items() if isinstance(v, float)})
    text = json.dumps(data, indent=1, ensure_ascii=False)
    DATA.write_text(text + "\n", encoding="utf-8")

    page = DOC.read_text(encoding="utf-8")
    m = data["machine"]
    page = replaced(page, "machine", f"{m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB; "
                                     f"{m['system']}; {m['compiler']}.")
    page = replaced(page, "figures", markdown(every))
    curves = {r["name"].split("/")[1]: r["points"] for r in every if "points" in r}
    if curves:
        GROWTH_SVG.write_text(growth_svg(curves), encoding="utf-8")
    parts = []
    for name, lines in data["profiles"].items():
        file = flame_file(name)
        drawn = f" ([flame graph](flame/{file.name}))" if file.exists() else ""
        parts.append(f"`{name}`{drawn}\n```\n" + "\n".join(f"{p:5.1f}%  {s}" for p, s in lines) + "\n```")
    page = replaced(page, "profiles", "\n".join(parts))
    DOC.write_text(page, encoding="utf-8")


# --- main -------------------------------------------------------------------------------


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__.split("\n\n")[0],
        epilog="Rows: ./dev bench --list.  Left out unless FILTER names it: "
               "Planner_.../uniform:100000x30 (3,000,000 pods).")
    parser.add_argument("filter", nargs="?", default="", metavar="FILTER",
                        help="regular expression on the rows' names (default: all)")
    parser.add_argument("--list", action="store_true", help="print the rows' names and end")
    parser.add_argument("--snapshot", action="append", default=[], metavar="FILE",
                        help="planner rows for a cluster of your own: all that `ebb plan` reads")
    parser.add_argument("--openb", metavar="FOLDER", help="openb's CSV files (default ../shared/data)")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N",
                        help="runs of each row (default 5)")
    parser.add_argument("--against", metavar="REV",
                        help="build that revision too and run both in turn")
    parser.add_argument("--pairs", type=int, default=25, metavar="N",
                        help="with --against: runs of each row and revision (default 25)")
    parser.add_argument("--json", metavar="FILE",
                        help="where the figures go (default build/bench/result.json)")
    parser.add_argument("--docs", action="store_true",
                        help="write the figures into docs/performance.md")
    parser.add_argument("--profile", action="store_true",
                        help="with --docs: also where the time of the main rows goes, as lists and as flame graphs (needs perf)")
    parser.add_argument("--binary", default=str(ROOT / "build/release/ebb_bench"),
                        help=argparse.SUPPRESS)
    parser.add_argument("--self-test", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def wanted(options, name):
    return re.search(options.filter, name) is not None


def run(options):
    try:
        re.compile(options.filter)
    except re.error as error:
        raise Failure(f"FILTER {options.filter!r} is not a regular expression: {error}") from error
    for file in options.snapshot:
        if not os.path.exists(file):
            raise Failure(f"--snapshot {file}: no such file")
    if options.repetitions < 1:
        raise Failure("--repetitions is 1 or more")
    if options.pairs < 1:
        raise Failure("--pairs is 1 or more")
    binary = pathlib.Path(options.binary)
    ebb = binary.parent / "ebb"
    args = []
    if options.openb:
        args += ["--openb", options.openb]
    shared = list(args)
    for file in options.snapshot:
        args += ["--snapshot", os.path.abspath(file)]
    # ebb_bench registers the largest rows only if the filter contains their size.
    named = options.filter if "100000" in options.filter else ""
    rows_here = list_rows(binary, [*args, *([named] if named else [])])
    extra = ["Process_Plan/uniform:5000", "Growth/uniform", "Growth/mixed"]
    mine = [n for n in rows_here if wanted(options, plain(n)) or wanted(options, n)]
    others = [n for n in extra if wanted(options, n)]
    if options.list:
        print("\n".join([plain(n) for n in mine] + others))
        return
    if not mine and not others:
        raise Failure(f"no row matches {options.filter!r}; --list prints their names")
    exact = exactly(mine)
    where = machine()
    print(f"{where['cpu']}, {where['cores']} cores", file=sys.stderr)

    if options.against:
        if not mine:
            raise Failure("--against compares ebb_bench's rows only")
        other, commit = build_revision(options.against)
        made = against(binary, other, args, options.pairs, mine)
        print(table(made, ["row", commit, "here", "ratio", "half of the pairs"], against_cells))
        write_json(options, {"against": commit, "machine": where, "rows": made})
        return

    rows = []
    if mine:
        for name, runs in run_bench(binary, args, options.repetitions, exact).items():
            rows += rows_of(name, runs)
    if any(n.startswith("Process") for n in others):
        rows += process_rows(ebb, options.repetitions)
    curves = {}
    for kind in ("uniform", "mixed"):
        if f"Growth/{kind}" in others:
            curves[kind] = growth(binary, kind, shared, min(options.repetitions, 3))
            rows.append(growth_row(kind, curves[kind]))
    rows += relations(rows)
    if curves:
        print(growth_text(curves) + "\n")
        OUT.mkdir(parents=True, exist_ok=True)
        (OUT / "growth.svg").write_text(growth_svg(curves), encoding="utf-8")
    print(table(sorted(rows, key=lambda r: order(r["name"]))))
    write_json(options, {"revision": git("rev-parse", "--short=12", "HEAD"), "machine": where,
                         "rows": rows})
    if options.docs:
        profiles = {}
        if options.profile:
            for name in PROFILED:
                if name in mine:
                    profiles[plain(name)] = profile(binary, args, name)
                    flame_graph(binary, args, name)
        write_page(rows, profiles, where)


def write_json(options, data):
    path = pathlib.Path(options.json) if options.json else OUT / "result.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path}", file=sys.stderr)


class BenchTest(unittest.TestCase):
    """Checks the computations of this program."""

    def test_pairs_are_compared_each_with_its_own(self):
        row = compared("BM_Planner_ColdPass/x/real_time", [2, 4, 6, 100], [2, 4, 6, 10])
        self.assertEqual((row["ratio"], row["pairs"], row["ours_ns"]), (1, 4, 5))
        self.assertEqual((row["ratio_low"], row["ratio_high"]), (1, 7.75))
        self.assertEqual(compared("BM_x", [3], [2])["ratio"], 1.5)

    def test_a_row_is_matched_by_its_whole_name(self):
        self.assertRegex("BM_a/b:5", exactly(["BM_a/b:5"]))
        self.assertNotRegex("BM_a/b:50", exactly(["BM_a/b:5"]))

    def test_power_finds_the_exponent(self):
        self.assertAlmostEqual(power([(n, 3 * n**1.3) for n in (10, 100, 1000)]), 1.3)

    def test_a_row_has_whether_it_meets_its_target(self):
        self.assertTrue(row("r", [1, 2, 9], "ms", ("<=", 2))["met"])
        self.assertFalse(row("r", [1, 3, 9], "ms", ("<=", 2))["met"])
        self.assertFalse(row("r", [1, 2, 9], "MB/s", (">=", 3))["met"])

    def test_cold_passes_stand_beside_the_autoscaler(self):
        runs = [{"real_time": 2.0, "time_unit": "ms"}]
        made = rows_of("BM_Planner_ColdPass/uniform:1000/real_time", runs)[0]
        self.assertEqual(made["name"], "Planner_ColdPass/uniform:1000")
        self.assertEqual(made["times_autoscaler"], 2900)
        self.assertTrue(made["met"])

    def test_import_of_many_terms_has_a_time_to_keep(self):
        runs = [{"real_time": 1001.0, "time_unit": "ms", "bytes": 8e6}]
        made = rows_of("BM_Import_JsonToSnapshot/terms:10000/compact/threads:1/real_time", runs)
        self.assertEqual([(r["unit"], r.get("met")) for r in made], [("MB/s", None), ("ms", False)])

    def test_a_binary_snapshot_is_compared_with_the_json_of_the_same_cluster(self):
        made = [rows_of(f"BM_Import_Load/mixed:5000/{form}/real_time", [{"real_time": ms, "time_unit": "ms"}])[0]
                for form, ms in (("json", 90.0), ("pb", 10.0))]
        self.assertEqual([(r["name"], r["median"], r["met"]) for r in relations(made)],
                         [("Import_Load/mixed:5000/json of pb", 9.0, False)])

    def test_objects_that_are_read_one_by_one_are_counted(self):
        runs = [{"real_time": 10.0, "time_unit": "ms", "items_per_second": 0.9e6}]
        made = rows_of("BM_Import_Objects/sample_pod/protobuf", runs)[0]
        self.assertEqual((made["unit"], made["median"], made["met"]), ("k pods/s", 900, False))

    def test_rounds_of_a_live_cluster_are_held_to_two_percentiles(self):
        made = rows_of("BM_Live_ChurnAndRound/uniform:5000/iterations:300/manual_time",
                       [{"real_time": 9, "time_unit": "ms", "p50_ms": 8, "p99_ms": 26}])
        self.assertEqual([(r["name"], r["met"]) for r in made],
                         [("Live_ChurnAndRound/uniform:5000/p50", True),
                          ("Live_ChurnAndRound/uniform:5000/p99", False)])

    def test_a_session_beside_a_large_one_is_set_beside_itself_alone(self):
        rows = [row("Serve_ChurnAndPlan/mixed:1000/p99", [10], "ms"),
                row("Serve_ChurnAndPlan/mixed:1000/beside:uniform:15000x30/p99", [21], "ms")]
        made = relations(rows)
        self.assertEqual([(r["name"], r["met"]) for r in made],
                         [(rows[1]["name"] + " of alone", False)])

    def test_second_passes_are_set_beside_cold_ones(self):
        rows = [row("Planner_ColdPass/a", [10], "ms"), row("Planner_SecondPass/a", [2000], "us")]
        made = relations(rows)
        self.assertEqual([(r["name"], r["median"], r["met"]) for r in made],
                         [("Planner_SecondPass/a of cold", 20, False)])

    def test_verification_may_take_five_passes_or_a_while(self):
        for cold, verify, met in ((100, 500, True), (100, 501, False), (3, 59, True), (3, 61, False)):
            rows = [row("Planner_ColdPass/a", [cold], "ms"), row("Planner_Verify/a", [verify], "ms")]
            self.assertEqual([(r["name"], r["met"]) for r in relations(rows)],
                             [("Planner_Verify/a of cold", met)])

    def test_a_flame_graph_has_the_callees_of_its_root_alone(self):
        script = ("ebb\n     1f main\n\n"
                  "ebb\n     2a ebb::Add(int)\n     2b ebb::Planner::Pass(int)\n     2c main\n\n"
                  "ebb\n     3a ebb::Planner::Pass(int)\n     3c main\n\n")
        stacks = flame.folded(script, MEASURED, shortened)
        self.assertEqual(stacks, {("Planner::Pass", "Add"): 1, ("Planner::Pass",): 1})
        picture = flame.svg(stacks, "a row")
        self.assertIn("<title>Add: 50.0%</title>", picture)
        self.assertIn("<title>Planner::Pass: 100.0%</title>", picture)

    def test_only_the_block_of_the_page_is_exchanged(self):
        page = "a\n<!-- bench:x -->\nold\n<!-- /bench -->\nb <!-- bench:y -->\n<!-- /bench -->\n"
        self.assertEqual(replaced(page, "x", "new"), page.replace("old", "new"))
        self.assertRaises(Failure, replaced, page, "z", "new")

    def test_names_of_functions_are_shortened(self):
        self.assertEqual(shortened("ebb::JsonFields::Members<a::b<c>::{lambda(int)#1}>(x, y)"),
                         "JsonFields::Members")
        self.assertEqual(shortened("ebb::(anonymous namespace)::KeyWriter::Text(int)"),
                         "KeyWriter::Text")

    def test_a_growth_picture_shows_every_curve(self):
        curves = {"uniform": [(500, 1.0), (1000, 2.0)], "mixed": [(500, 2.0), (1000, 5.0)]}
        self.assertEqual(growth_svg(curves).count("<polyline"), 2)
        self.assertIn("power 1.00", growth_text(curves))


def main(argv):
    options = parse(argv)
    if options.self_test:
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(BenchTest)
        return 0 if unittest.TextTestRunner(verbosity=0).run(suite).wasSuccessful() else 1
    try:
        run(options)
    except Failure as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
