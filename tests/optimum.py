#!/usr/bin/env python3
"""How often `ebb plan --optimize` finds an optimal plan on small clusters.

    optimum.py EBB [CLUSTERS] [--seed S] [--seconds T]      # ./dev optimum
    optimum.py --self-test

The clusters have 8 to 60 nodes, of every kind of `ebb gen` in turn.  For each, a CP-SAT model decides
whether a plan could remove one node more than the searched plan does.  Unlike the bound of the search, the
model knows that a pod is not split and lands on one node, and it knows anti-affinity.  It is built from the
objects of the dump, from what `ebb plan --explain` prints about pods, and from what `ebb filter` prints
about nodes.  It uses nothing of the search.

In the model each pod that moves lands once, on a node that stays.  It respects the room of a node, its pod
slots and its host ports.  It respects each budget by itself: what the plan spends, except for the node that
spends last, is at most what is allowed minus one.  A node does not count for a budget if all of the
budget's pods there are safe to evict, because ebb then does not check the budget.  The model leaves out
spread constraints, affinity between pods, and the order of removals: each of them could only forbid plans.
So "no" proves that the plan is optimal, and "yes" does not prove that it is not.

Exit code: 0, or 1 if fewer than 90% were proven optimal, or if ebb's bound is below a plan.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

KINDS = ["mixed", "company", "diverse", "uniform", "topology", "repelling", "budgets", "excluding"]
NOW = "2026-06-01T12:00:00Z"
EXPENDABLE_BELOW = -10
# Reasons that keep a node whatever else goes.
NO_CANDIDATE = {"NotAutoscaled", "NotUnderutilized", "ScaleDownDisabledAnnotation",
                "ScaleDownUnreadyDisabled", "CurrentlyBeingDeleted", "NodeGroupMinSizeReached",
                "BlockedByOnCompletionPod"}
# Filters whose verdict depends on other pods.  The model has them itself, or leaves them out.
CHANGING = {"NodeResourcesFit", "NodePorts", "PodTopologySpread", "InterPodAffinity"}
SUFFIXES = {"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20,
            "Gi": 2**30, "Ti": 2**40}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"optimum: {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def amount(quantity, resource):
    """In thousandths of cores for cpu, in units for all other resources."""
    number, suffix = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", str(quantity)).groups()
    value = float(number) * SUFFIXES[suffix] * (1000 if resource == "cpu" else 1)
    return round(value)


def requests_of(pod):
    """The requests that the scheduler counts: all containers together, or the largest init container."""
    total = collections.Counter({"pods": 1})
    for container in pod["spec"]["containers"]:
        for resource, quantity in container.get("resources", {}).get("requests", {}).items():
            total[resource] += amount(quantity, resource)
    for container in pod["spec"].get("initContainers", []):
        for resource, quantity in container.get("resources", {}).get("requests", {}).items():
            total[resource] = max(total[resource], amount(quantity, resource))
    for resource, quantity in pod["spec"].get("overhead", {}).items():
        total[resource] += amount(quantity, resource)
    return total


def ports_of(pod):
    return {(port["hostPort"], port.get("protocol", "TCP"))
            for container in pod["spec"]["containers"] for port in container.get("ports", [])
            if port.get("hostPort")}


def selects(selector, labels):
    if selector is None:
        return False
    for key, value in selector.get("matchLabels", {}).items():
        if labels.get(key) != value:
            return False
    for each in selector.get("matchExpressions", []):
        has = each["key"] in labels
        among = has and labels[each["key"]] in each.get("values", [])
        if not {"In": among, "NotIn": not among, "Exists": has,
                "DoesNotExist": not has}[each["operator"]]:
            return False
    return True


def name_of(item):
    return f"{item['metadata'].get('namespace', 'default')}/{item['metadata']['name']}"


class Cluster:
    """The objects of a dump that matter to the model."""

    def __init__(self, path):
        items = json.loads(path.read_text(encoding="utf-8"))["items"]
        # Without pending pods: the plan would choose where they take room before any node goes.
        items = [each for each in items
                 if each["kind"] != "Pod" or each["spec"].get("nodeName")]
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}),
                        encoding="utf-8")
        self.nodes = {each["metadata"]["name"]: each for each in items if each["kind"] == "Node"}
        self.pods = {name_of(each): each for each in items if each["kind"] == "Pod" and self.counts(each)}
        self.budgets = {name_of(each): each for each in items
                        if each["kind"] == "PodDisruptionBudget"}

    @staticmethod
    def counts(pod):
        ended = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        return not ended and pod["spec"].get("priority", 0) >= EXPENDABLE_BELOW

    def is_safe_to_evict(self, pod):
        annotations = self.pods[pod]["metadata"].get("annotations", {})
        return annotations.get("cluster-autoscaler.kubernetes.io/safe-to-evict") == "true"

    def room(self):
        """{node: its free amounts}."""
        free = {}
        for name, node in self.nodes.items():
            free[name] = collections.Counter(
                {resource: amount(quantity, resource)
                 for resource, quantity in node["status"]["allocatable"].items()})
        for pod in self.pods.values():
            free[pod["spec"]["nodeName"]].subtract(requests_of(pod))
        return free

    def budgets_of(self, pod):
        labels = pod["metadata"].get("labels", {})
        return [name for name, budget in self.budgets.items()
                if budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
                and selects(budget["spec"].get("selector"), labels)]

    def excludes(self):
        """For each anti-affinity term: its topology key, the pods that have it, and the pods that it selects."""
        terms = collections.defaultdict(set)
        for name, pod in self.pods.items():
            affinity = pod["spec"].get("affinity", {}).get("podAntiAffinity", {})
            for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution", []):
                if "namespaceSelector" in term:
                    continue
                namespaces = tuple(term.get("namespaces", [])) or (pod["metadata"]["namespace"],)
                key = (term["topologyKey"], namespaces, json.dumps(term.get("labelSelector"), sort_keys=True))
                terms[key].add(name)
        for (key, namespaces, selector), carriers in terms.items():
            about = {name for name, pod in self.pods.items()
                     if pod["metadata"]["namespace"] in namespaces
                     and selects(json.loads(selector), pod["metadata"].get("labels", {}))}
            yield key, carriers, about

    def domains(self, key):
        """The nodes for each value of the label."""
        domains = collections.defaultdict(list)
        for name, node in self.nodes.items():
            value = node["metadata"].get("labels", {}).get(key)
            if value is not None:
                domains[value].append(name)
        return domains


def movers_of(ebb, path, cluster):
    """{node that may go: the pods that then move}."""
    explained = json.loads(run(ebb, "plan", path, "--now", NOW, "--assume-complete", "--explain",
                               ",".join(cluster.nodes), "-o", "json"))
    movers = {}
    for node in explained["nodes"]:
        if node["decision"] == "keep" and node["reason"] in NO_CANDIDATE:
            continue
        own = [pod for pod in node["pods"] if "arrivedFrom" not in pod]
        if any(pod["outcome"] == "blocks" and pod.get("reason") != "NotEnoughPdb" for pod in own):
            continue
        movers[node["node"]] = [f"{pod['namespace']}/{pod['name']}" for pod in own
                                if pod["outcome"] in ("moves", "mayMove", "blocks")]
    return movers


def shape_of(pod):
    """The same for pods that no filter distinguishes."""
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    labels = pod["metadata"].get("labels", {})
    return json.dumps([pod["metadata"]["namespace"], labels, spec], sort_keys=True)


def statics_of(ebb, path, pods):
    """{pod: the nodes that it may run on, as far as that does not change}."""
    answers = {}
    if not pods:
        return answers
    words = [word for pod in pods for word in ("--pod", pod)]
    for result in json.loads(run(ebb, "filter", path, "--assume-complete", *words, "-o", "json"))["results"]:
        answers[result["pod"]] = {
            node["node"] for node in result["nodes"]
            if all(each["fits"] or each["plugin"] in CHANGING for each in node["filters"])}
    return answers


class Model:
    """Whether a given number of nodes can go."""

    def __init__(self, ebb, path, cluster):
        from ortools.sat.python import cp_model  # pylint: disable=import-outside-toplevel
        self.cp_model = cp_model
        self.model = cp_model.CpModel()
        self.cluster = cluster
        self.movers = movers_of(ebb, path, cluster)
        self.goes = {node: self.model.NewBoolVar(node) for node in self.movers}
        shapes = collections.defaultdict(list)
        for pods in self.movers.values():
            for pod in pods:
                shapes[shape_of(cluster.pods[pod])].append(pod)
        self.shapes = {pods[0]: pods for pods in shapes.values()}
        self.lands = {}
        statics = statics_of(ebb, path, list(self.shapes))
        for first, pods in self.shapes.items():
            for node in statics[first]:
                most = self.fit_alone(first, node, len(pods))
                if most > 0:
                    self.lands[first, node] = self.model.NewIntVar(0, most, "")
        self.land_all()
        self.keep_room()
        self.keep_ports()
        self.keep_apart()
        self.keep_budgets()

    def fit_alone(self, pod, node, most):
        room = self.cluster.room_now[node]
        for resource, wanted in requests_of(self.cluster.pods[pod]).items():
            if wanted > 0:
                most = min(most, max(0, room[resource]) // wanted)
        return most

    def stays(self, node):
        return 1 - self.goes[node] if node in self.goes else 1

    def land_all(self):
        of_shape = {pod: first for first, pods in self.shapes.items() for pod in pods}
        for first in self.shapes:
            needed = sum(sum(of_shape[pod] == first for pod in pods) * self.goes[node]
                         for node, pods in self.movers.items())
            self.model.Add(sum(landed for (shape, _), landed in self.lands.items()
                               if shape == first) == needed)

    def by_node(self):
        nodes = collections.defaultdict(list)
        for (first, node), landed in self.lands.items():
            nodes[node].append((first, landed))
        return nodes

    def keep_room(self):
        for node, landed in self.by_node().items():
            room = self.cluster.room_now[node]
            wanted = {first: requests_of(self.cluster.pods[first]) for first, _ in landed}
            for resource in {each for of in wanted.values() for each, much in of.items() if much > 0}:
                taken = sum(wanted[first][resource] * count for first, count in landed
                            if wanted[first][resource] > 0)
                self.model.Add(taken <= max(0, room[resource]) * self.stays(node))

    def keep_ports(self):
        for node, landed in self.by_node().items():
            held = {port for pod in self.cluster.pods.values() if pod["spec"]["nodeName"] == node
                    for port in ports_of(pod)}
            users = collections.defaultdict(list)
            for first, count in landed:
                for port in ports_of(self.cluster.pods[first]):
                    users[port].append(count)
            for port, counts in users.items():
                self.model.Add(sum(counts) <= (0 if port in held else 1))

    def keep_apart(self):
        """No domain holds both a pod with a term and a pod that the term selects, if one of them moved there.

        The later of the two would meet the other at its final place.  A pod that is there now may leave first.
        """
        on = collections.defaultdict(set)
        for name, pod in self.cluster.pods.items():
            on[pod["spec"]["nodeName"]].add(name)
        landed_on = self.by_node()
        for key, carriers, about in self.cluster.excludes():
            # Pods that only have the term, pods that it only selects, and pods that are both; each with
            # the pods that they exclude.
            kinds = [(carriers - about, about), (about - carriers, carriers), (carriers & about, carriers | about)]
            for nodes in self.cluster.domains(key).values():
                there = []
                for of, repelled in kinds:
                    counts = [count for node in nodes for first, count in landed_on[node] if first in of]
                    if not counts:
                        continue
                    if of <= repelled:
                        self.model.Add(sum(counts) <= 1)
                    there.append(self.there(sum(counts)))
                    for node in nodes:
                        if not on[node] & repelled:
                            continue
                        if on[node] & repelled <= set(self.movers.get(node, ())):
                            self.model.AddImplication(there[-1], self.goes[node])
                        else:
                            self.model.Add(there[-1] == 0)
                if len(there) > 1:
                    self.model.AddAtMostOne(there)

    def there(self, count):
        there = self.model.NewBoolVar("")
        self.model.Add(count == 0).OnlyEnforceIf(there.Not())
        return there

    def keep_budgets(self):
        spends = collections.defaultdict(collections.Counter)
        asks = collections.defaultdict(set)  # Nodes that a budget may keep.
        for node, pods in self.movers.items():
            for pod in pods:
                for budget in self.cluster.budgets_of(self.cluster.pods[pod]):
                    spends[budget][node] += 1
                    # A node without such pods spends disruptions without a check of the budget, so it
                    # may go last.
                    if not self.cluster.is_safe_to_evict(pod):
                        asks[budget].add(node)
        for budget, askers in asks.items():
            nodes = {node: spends[budget][node] for node in sorted(askers)}
            allowed = max(0, self.cluster.budgets[budget].get("status", {}).get("disruptionsAllowed", 0))
            spent = sum(count * self.goes[node] for node, count in nodes.items())
            last = self.model.NewIntVar(0, max(nodes.values()), "")  # Spent by the last node.
            self.model.AddMaxEquality(last, [count * self.goes[node] for node, count in nodes.items()])
            any_goes = self.model.NewBoolVar("")
            self.model.AddMaxEquality(any_goes, [self.goes[node] for node in nodes])
            self.model.Add(spent - last <= allowed - 1).OnlyEnforceIf(any_goes)

    def can_go(self, nodes, seconds):
        """True, False, or None if the time was too short to decide."""
        self.model.Add(sum(self.goes.values()) >= nodes)
        solver = self.cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = 2
        solver.parameters.random_seed = 1
        status = solver.Solve(self.model)
        if status in (self.cp_model.OPTIMAL, self.cp_model.FEASIBLE):
            return True
        return False if status == self.cp_model.INFEASIBLE else None


def judge(ebb, folder, kind, nodes, seed, seconds):
    """The results for one cluster: greedy plan, searched plan, bound, and whether one node more could go."""
    path = pathlib.Path(folder) / "cluster.json"
    run(ebb, "gen", kind, "--nodes", nodes, "--seed", seed, "-o", path)
    cluster = Cluster(path)
    cluster.room_now = cluster.room()
    words = ["plan", path, "--now", NOW, "--assume-complete", "-o", "json"]
    greedy = json.loads(run(ebb, *words))["summary"]["removed"]
    plan = json.loads(run(ebb, *words, "--optimize", "--iterations", 200, "--bound"))["summary"]
    searched, bound = plan["removed"], plan["bound"]["removed"]
    if bound < searched:
        sys.exit(f"optimum: {kind} --nodes {nodes} --seed {seed}: bound {bound} < {searched}")
    # The bound is a proof too: model, bound and plan must agree.
    model = Model(ebb, path, cluster)
    if model.can_go(searched, seconds) is False:
        sys.exit(f"optimum: {kind} --nodes {nodes} --seed {seed}: the model says that {searched} nodes cannot go")
    more = model.can_go(searched + 1, seconds)
    if more and bound == searched:
        sys.exit(f"optimum: {kind} --nodes {nodes} --seed {seed}: the model has more nodes than the bound {bound}")
    return greedy, searched, bound, more


def self_test():
    assert amount("1500m", "cpu") == 1500 and amount("2", "cpu") == 2000
    assert amount("1Gi", "memory") == 2**30 and amount("0.5", "cpu") == 500
    assert selects({"matchLabels": {"a": "b"}}, {"a": "b", "c": "d"})
    assert not selects({"matchLabels": {"a": "b"}}, {})
    assert selects({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, {})
    assert not selects(None, {"a": "b"}) and selects({}, {})
    pod = {"spec": {"containers": [{"resources": {"requests": {"cpu": "100m"}}}] * 2,
                    "initContainers": [{"resources": {"requests": {"cpu": "1"}}}]}}
    assert requests_of(pod) == {"cpu": 1000, "pods": 1}
    print("optimum: self-test passed")
    return 0


def main(argv):
    if argv == ["--self-test"]:
        return self_test()
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("ebb", metavar="EBB")
    parser.add_argument("clusters", metavar="CLUSTERS", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=90, help="for each question (90)")
    options = parser.parse_args(argv)
    dice = random.Random(options.seed)
    rows = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory(prefix="ebb-optimum-") as folder:
        for number in range(options.clusters):
            kind = KINDS[number % len(KINDS)]
            nodes, seed = dice.randint(8, 60), dice.randrange(1 << 31)
            greedy, searched, bound, more = judge(options.ebb, folder, kind, nodes, seed,
                                                  options.seconds)
            outcome = {False: "optimal", True: "perhaps not", None: "not known"}[more]
            rows[kind].update({"clusters": 1, outcome: 1, "greedy": greedy, "searched": searched,
                               "bound": bound})
            if outcome != "optimal":
                print(f"{kind} --nodes {nodes} --seed {seed}: {searched} go, the bound is {bound}: "
                      f"{outcome}", flush=True)
    headings = ["clusters", "optimal", "perhaps not", "not known", "greedy", "searched", "bound"]
    rows["all"] = sum(rows.values(), collections.Counter())
    print("  ".join(["kind".ljust(9)] + headings))
    for kind, row in rows.items():
        print("  ".join([kind.ljust(9)] + [str(row[each]).rjust(len(each)) for each in headings]))
    share = rows["all"]["optimal"] / max(1, rows["all"]["clusters"])
    print(f"proven optimal: {share:.1%}")
    return 0 if share >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
