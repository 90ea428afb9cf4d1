#!/usr/bin/env python3
"""ebb beside Karpenter's own consolidation, on the clusters of lognormal_cluster.py.

    karpenter_compare.py EBB [--nodes 100,300,1000] [--seeds 1,2,3] [--threads N]
    karpenter_compare.py EBB --record RECORDER [...]
    karpenter_compare.py EBB --check RECORDER [--clusters 50]
    karpenter_compare.py EBB --self-test

The first form prints a table: cost per hour, evictions and time of Karpenter, as recorded in bench/karpenter, and of ebb with
several settings.  Every plan of ebb is carried out here on the objects of the cluster: a node that would hold more than it
has is an error, and the cost is summed from what is left.  --record runs Karpenter again for clusters without a record:
RECORDER is built by `go build -tags record -o RECORDER .` in go/karpenter.  --check makes plans for small random clusters and
asks Karpenter whether it could carry them out.
"""

import argparse
import collections
import copy
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lognormal_cluster  # noqa: E402

RECORDS = pathlib.Path(__file__).resolve().parent / "karpenter"
POLICIES = ("WhenEmptyOrUnderutilized", "Balanced")
# So many iterations at most, so that the same plan is found on any machine.
SEARCH = ["--optimize", "--objective", "cost", "--iterations", "10"]

Row = collections.namedtuple("Row", "name cost evicted bought removed cpu elapsed")


class Files:
    """A cluster's files in a folder."""

    def __init__(self, folder, nodes, seed):
        self.cluster, self.types, self.prices = (str(pathlib.Path(folder) / f"{nodes}-{seed}-{name}.json")
                                                 for name in ("cluster", "types", "prices"))
        lognormal_cluster.write_files(nodes, seed, self.cluster, self.types, self.prices)


def milli(quantity):
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1000


def gib(quantity):
    assert quantity.endswith("Gi"), quantity
    return int(quantity[:-2])


def requests(pod):
    amounts = pod["spec"]["containers"][0]["resources"]["requests"]
    return milli(amounts["cpu"]), gib(amounts["memory"])


def of_kind(cluster, kind):
    return [item for item in cluster["items"] if item["kind"] == kind]


def cost(cluster):
    return sum(lognormal_cluster.TYPE_OF[node["metadata"]["labels"]["node.kubernetes.io/instance-type"]][3]
               for node in of_kind(cluster, "Node"))


def overfull(cluster):
    """Returns the nodes that hold more than they have, and the pods' unknown nodes."""
    free = {}
    for node in of_kind(cluster, "Node"):
        has = node["status"]["allocatable"]
        free[node["metadata"]["name"]] = [milli(has["cpu"]), gib(has["memory"]), int(has["pods"])]
    wrong = set()
    for pod in of_kind(cluster, "Pod"):
        on = pod["spec"]["nodeName"]
        if on not in free:
            wrong.add(on)
            continue
        for i, amount in enumerate((*requests(pod), 1)):
            free[on][i] -= amount
        if min(free[on]) < 0:
            wrong.add(on)
    return sorted(wrong)


def carry_out(cluster, plan):
    """Returns the cluster after the plan, and the number of evictions."""
    cluster = copy.deepcopy(cluster)
    for bought in plan.get("replace", {}).get("buy", []):
        cluster["items"] += lognormal_cluster.node_objects(bought["node"], bought["machineType"])
    pods = {pod["metadata"]["name"]: pod for pod in of_kind(cluster, "Pod")}
    evicted = 0
    for removed in plan["remove"]:
        for pod in removed["pods"]:
            pods[pod["name"]]["spec"]["nodeName"] = pod["to"]
            evicted += 1
    gone = {removed["node"] for removed in plan["remove"]}
    cluster["items"] = [item for item in cluster["items"]
                        if item["kind"] not in ("Node", "NodeClaim") or item["metadata"]["name"] not in gone]
    wrong = overfull(cluster)
    if wrong:
        sys.exit(f"karpenter_compare: the plan cannot be carried out: {', '.join(wrong)}")
    return cluster, evicted


def run(words):
    """Returns standard output, and the seconds of the processor and by the clock."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(words, stdout=output, stderr=subprocess.PIPE, text=True)
        with process.stderr as stream:
            errors = stream.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"karpenter_compare: {' '.join(words)}: {errors}")
        output.seek(0)
        return output.read(), usage.ru_utime + usage.ru_stime, time.monotonic() - began


def ebb_plan(ebb, cluster_path, files, flags):
    text, cpu, elapsed = run([ebb, "plan", cluster_path, "--assume-complete", "--prices", files.prices, *flags,
                              "-o", "json"])
    return json.loads(text), cpu, elapsed


def replace(files, *flags):
    return ["--replace", "--machine-types", files.types, *flags]


def ebb_row(name, ebb, files, flags, rounds=1):
    """Plans and carries out, up to `rounds` times, until a plan does nothing."""
    with open(files.cluster, encoding="utf-8") as file:
        cluster = json.load(file)
    path, total = files.cluster, Row(name, cost(cluster), 0, 0, 0, 0.0, 0.0)
    for number in range(rounds):
        plan, cpu, elapsed = ebb_plan(ebb, path, files, flags)
        cluster, evicted = carry_out(cluster, renamed(plan, number))
        bought = plan.get("replace", {}).get("buy", [])
        total = Row(name, cost(cluster), total.evicted + evicted, total.bought + len(bought),
                    total.removed + len(plan["remove"]), total.cpu + cpu, total.elapsed + elapsed)
        if not plan["remove"]:
            break
        path = f"{files.cluster}.next"
        lognormal_cluster.write(path, cluster)
    return total


def renamed(plan, number):
    """Gives the new nodes of each round names of their own."""
    if number == 0:
        return plan
    names = {bought["node"]: f"{bought['node']}-{number}" for bought in plan.get("replace", {}).get("buy", [])}
    for bought in plan.get("replace", {}).get("buy", []):
        bought["node"] = names[bought["node"]]
    for removed in plan["remove"]:
        for pod in removed["pods"]:
            pod["to"] = names.get(pod["to"], pod["to"])
    return plan


def lower_bound(cluster):
    """What no set of machines undercuts: the pods' requests at the best prices of a CPU and a GiB under which no machine
    is worth more than it costs."""
    amounts = [requests(pod) for pod in of_kind(cluster, "Pod")]
    cpu, memory = sum(each[0] for each in amounts) / 1000, sum(each[1] for each in amounts)
    types = [each[1:] for each in lognormal_cluster.TYPES]
    prices = [(min(price / cpus for cpus, _, price in types), 0), (0, min(price / gibs for _, gibs, price in types))]
    for cpus, gibs, price in types:
        for other_cpus, other_gibs, other in types:
            both = cpus * other_gibs - other_cpus * gibs
            if both:
                prices.append(((price * other_gibs - other * gibs) / both, (cpus * other - other_cpus * price) / both))
    return max(a * cpu + b * memory for a, b in prices
               if min(a, b) >= 0 and all(a * cpus + b * gibs <= price + 1e-9 for cpus, gibs, price in types))


def record_path(nodes, seed, policy):
    return RECORDS / f"{nodes}-{seed}-{policy}.json"


def karpenter_row(nodes, seed, policy):
    path = record_path(nodes, seed, policy)
    if not path.exists():
        return None
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    name = f"Karpenter, {policy}" + ("" if record["end"] == "nothing more" else f" ({record['end']})")
    return Row(name, record["cost_left"], record["evicted"], record["bought"], record["removed"],
               record["cpu_seconds"], record["seconds"])


def record(recorder, files, nodes, seed, limit):
    RECORDS.mkdir(exist_ok=True)
    for policy in POLICIES:
        path = record_path(nodes, seed, policy)
        if not path.exists():
            run([recorder, "-consolidate", files.cluster, "-types", files.types, "-prices", files.prices,
                 "-policy", policy, "-limit", limit, "-o", str(path)])


def ebb_rows(ebb, files, evictions):
    """The settings that are compared.  `evictions` are Karpenter's, or None."""
    rows = [("only remove", [], 1)]
    if evictions:
        rows += [("search, evictions as Karpenter", [*SEARCH, "--max-evictions", f"{evictions}"], 1),
                 ("search, half of them", [*SEARCH, "--max-evictions", f"{evictions // 2}"], 1)]
    rows += [("`--replace`", replace(files), 1),
             ("`--replace --min-score 0.5`", replace(files, "--min-score", "0.5"), 1),
             ("`--replace --max-new-nodes 32`", replace(files, "--max-new-nodes", "32"), 1),
             ("the same, up to five times", replace(files, "--max-new-nodes", "32"), 5)]
    return [ebb_row(name, ebb, files, flags, rounds) for name, flags, rounds in rows]


def compare(ebb, files, nodes, seed):
    """Returns the rows of one cluster: what is, Karpenter's, ebb's, the bound."""
    with open(files.cluster, encoding="utf-8") as file:
        cluster = json.load(file)
    karpenter = [row for row in (karpenter_row(nodes, seed, policy) for policy in POLICIES) if row]
    return [Row("do nothing", cost(cluster), 0, 0, 0, 0.0, 0.0), *karpenter,
            *ebb_rows(ebb, files, karpenter[0].evicted if karpenter else None),
            Row("lower bound", lower_bound(cluster), None, None, None, None, None)]


def mean(rows):
    """The mean of rows of several seeds with the same name."""
    def of(field):
        values = [getattr(row, field) for row in rows]
        return None if None in values else statistics.fmean(values)
    return Row(rows[0].name, *(of(field) for field in Row._fields[1:]))


def table(rows):
    """Returns the lines of a Markdown table."""
    nothing = rows[0].cost

    def number(value, digits):
        return "" if value is None else f"{value:,.{digits}f}"
    lines = ["| | USD an hour | saved | evicted | bought | removed | CPU time | elapsed |",
             "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        seconds = ["" if value is None or row is rows[0] else f"{value:,.1f} s" for value in (row.cpu, row.elapsed)]
        lines.append(f"| {row.name} | {row.cost:,.2f} | {1 - row.cost / nothing:.1%} | {number(row.evicted, 0)} | "
                     f"{number(row.bought, 0)} | {number(row.removed, 0)} | {seconds[0]} | {seconds[1]} |")
    return lines


def advantages(clusters, share):
    """Returns, cluster by cluster, how much less ebb's cheapest row with at most this share of Karpenter's evictions costs."""
    found = []
    for rows in clusters:
        karpenter = next(row for row in rows if row.name.startswith("Karpenter"))
        ebb = [row.cost for row in rows[1:-1]
               if not row.name.startswith("Karpenter") and row.evicted <= share * karpenter.evicted]
        found.append(1 - min(ebb) / karpenter.cost if ebb else None)
    return found


def verdict(clusters):
    lines = []
    for share, words in ((1, "no more evictions than Karpenter"), (0.5, "at most half of its evictions")):
        found = advantages(clusters, share)
        text = ", ".join("no plan" if each is None else f"{each:.1%}" for each in found)
        lines.append(f"With {words}, ebb's cheapest plan costs less by (cluster by cluster): {text}")
    return lines


def check(ebb, recorder, clusters, folder):
    """Asks Karpenter whether it could carry out ebb's plans for clusters of 30 to 60 nodes."""
    arguments = []
    for seed in range(clusters):
        files = Files(folder, random.Random(seed).randint(30, 60), seed)
        for most in ("1", "8"):
            plan, _, _ = ebb_plan(ebb, files.cluster, files, replace(files, "--max-new-nodes", most))
            arguments += [files.cluster, f"{files.cluster}.{most}.plan"]
            lognormal_cluster.write(arguments[-1], plan)
    text, _, _ = run([recorder, "-check", "-types", files.types, "-prices", files.prices, *arguments])
    alone = sum(json.loads(line.split(" ", 2)[2])["as_chosen"].get("fits", False) for line in text.splitlines())
    print(f"Karpenter accepts all {len(arguments) // 2} plans. If it chooses the places itself, the pods of {alone} find room.")


class KarpenterCompareTest(unittest.TestCase):
    EBB = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.files = Files(folder.name, 30, 1)
        with open(self.files.cluster, encoding="utf-8") as file:
            self.cluster = json.load(file)

    def test_the_records_are_of_the_cluster_that_is_generated_today(self):
        for policy in POLICIES:
            with open(record_path(30, 1, policy), encoding="utf-8") as file:
                recorded = json.load(file)
            self.assertEqual(recorded["nodes"], len(of_kind(self.cluster, "Node")))
            self.assertEqual(recorded["pods"], len(of_kind(self.cluster, "Pod")))
            self.assertAlmostEqual(recorded["cost"], cost(self.cluster), 3)

    def test_a_node_that_holds_too_much_is_found(self):
        self.assertEqual(overfull(self.cluster), [])
        for pod in of_kind(self.cluster, "Pod"):
            pod["spec"]["nodeName"] = "n0"
        self.assertEqual(overfull(self.cluster), ["n0"])

    def test_a_pod_on_a_node_that_went_is_found(self):
        with self.assertRaises(SystemExit):
            carry_out(self.cluster, {"remove": [{"node": "n0", "pods": []}]})

    def test_nothing_is_below_the_lower_bound(self):
        bound = lower_bound(self.cluster)
        rows = compare(self.EBB, self.files, 30, 1)
        self.assertEqual(rows[-1].cost, bound)
        for row in rows[:-1]:
            self.assertGreaterEqual(row.cost, bound, row.name)

    def test_only_plans_with_few_enough_evictions_are_compared(self):
        def row(name, cost_left, evicted):
            return Row(name, cost_left, evicted, 0, 0, 0.0, 0.0)
        rows = [row("do nothing", 100, 0), row("Karpenter, A", 50, 20), row("Karpenter, B", 10, 1),
                row("much", 20, 21), row("as many", 40, 20), row("half", 45, 10), row("lower bound", 1, None)]
        self.assertEqual([round(advantages([rows], share)[0], 6) for share in (1, 0.5)], [0.2, 0.1])
        self.assertEqual(advantages([rows], 0.1), [None])

    def test_ebb_is_five_percent_cheaper_with_as_many_evictions_as_karpenter(self):
        karpenter = karpenter_row(30, 1, POLICIES[0])
        row = ebb_row("", self.EBB, self.files, [*SEARCH, "--max-evictions", f"{karpenter.evicted}"])
        self.assertLessEqual(row.evicted, karpenter.evicted)
        self.assertLessEqual(row.cost, 0.95 * karpenter.cost)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ebb")
    parser.add_argument("--nodes", default="100,300,1000")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--record", metavar="RECORDER")
    parser.add_argument("--limit", default="40m", help="with --record: longest time of a run of Karpenter")
    parser.add_argument("--check", metavar="RECORDER")
    parser.add_argument("--clusters", type=int, default=50, help="with --check")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        KarpenterCompareTest.EBB = args.ebb
        unittest.main(argv=sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder:
        if args.check:
            check(args.ebb, args.check, args.clusters, folder)
            return
        for nodes in map(int, args.nodes.split(",")):
            rows = []
            for seed in map(int, args.seeds.split(",")):
                files = Files(folder, nodes, seed)
                if args.record:
                    record(args.record, files, nodes, seed, args.limit)
                if record_path(nodes, seed, POLICIES[0]).exists():
                    rows.append(compare(args.ebb, files, nodes, seed))
            if not rows:
                sys.exit(f"karpenter_compare: bench/karpenter has no record of {nodes} nodes; see --record")
            print(f"\n{nodes:,} nodes, mean of {len(rows)} clusters:" if len(rows) > 1 else f"\n{nodes:,} nodes:")
            print("\n".join(table([mean(column) for column in zip(*rows)]) + [""] + verdict(rows)), flush=True)


if __name__ == "__main__":
    main()
