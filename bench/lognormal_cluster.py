#!/usr/bin/env python3
"""Writes a cluster of Karpenter whose pods have log-normal requests.

    lognormal_cluster.py NODES SEED CLUSTER.json TYPES.yaml PRICES.yaml [--policy POLICY]

The workload is that of Karpenter's design of its Balanced policy (designs/balanced-consolidation.md and
designs/scripts/balanced-consolidation-ranking.py in kubernetes-sigs/karpenter): pods with independent log-normal requests
of CPU and memory are packed first-fit, the largest first, onto the cheapest machines of the families c7i, m7i and r7i;
then ten rounds end pods and add others, so that many nodes are of a type that no longer suits their pods.  A pod costs 0,
1 or 10 to disrupt, by its annotation controller.kubernetes.io/pod-deletion-cost.  What differs from that script: its random
numbers are numpy's; its number of nodes is a result, while here NODES of a larger cluster are chosen at random.

TYPES.yaml and PRICES.yaml are for `ebb plan --replace`.  All three files are JSON.
"""

import argparse
import json
import random

# name, CPUs, GiB, USD an hour: on demand, Linux, us-east-1, as in Karpenter's script.
TYPES = [
    ("c7i.large", 2, 4, 0.0893), ("c7i.xlarge", 4, 8, 0.1785), ("c7i.2xlarge", 8, 16, 0.3570),
    ("c7i.4xlarge", 16, 32, 0.7140), ("c7i.8xlarge", 32, 64, 1.4280), ("c7i.12xlarge", 48, 96, 2.1420),
    ("c7i.16xlarge", 64, 128, 2.8560), ("c7i.24xlarge", 96, 192, 4.2840),
    ("m7i.large", 2, 8, 0.1008), ("m7i.xlarge", 4, 16, 0.2016), ("m7i.2xlarge", 8, 32, 0.4032),
    ("m7i.4xlarge", 16, 64, 0.8064), ("m7i.8xlarge", 32, 128, 1.6128), ("m7i.12xlarge", 48, 192, 2.4190),
    ("m7i.16xlarge", 64, 256, 3.2260), ("m7i.24xlarge", 96, 384, 4.8384), ("m7i.48xlarge", 192, 768, 9.6768),
    ("r7i.large", 2, 16, 0.1323), ("r7i.xlarge", 4, 32, 0.2646), ("r7i.2xlarge", 8, 64, 0.5292),
    ("r7i.4xlarge", 16, 128, 1.0584), ("r7i.8xlarge", 32, 256, 2.1168), ("r7i.12xlarge", 48, 384, 3.1750),
    ("r7i.16xlarge", 64, 512, 4.2336), ("r7i.24xlarge", 96, 768, 6.3500), ("r7i.48xlarge", 192, 1536, 12.7008),
]
TYPE_OF = {each[0]: each for each in TYPES}
CHURNS = 10
POOL = "general"
ZONE = "us-east-1a"


class Pod:
    def __init__(self, rng):
        self.cpu = min(max(round(rng.lognormvariate(0, 1) * 2) / 2, 0.25), 16)
        self.memory = min(max(round(rng.lognormvariate(1.5, 1.2)), 1), 120)
        self.disruption_cost = rng.choice((0, 1, 1, 1, 1, 1, 10))


class Machine:
    def __init__(self, machine_type):
        self.type, self.cpu, self.memory, _ = machine_type
        self.pods = []

    def take(self, pod):
        fits = pod.cpu <= self.cpu and pod.memory <= self.memory
        if fits:
            self.cpu -= pod.cpu
            self.memory -= pod.memory
            self.pods.append(pod)
        return fits

    def end(self, share, rng):
        for pod in rng.sample(self.pods, int(len(self.pods) * share)):
            self.pods.remove(pod)
            self.cpu += pod.cpu
            self.memory += pod.memory


def packed(pods):
    machines = []
    for pod in sorted(pods, key=lambda pod: pod.cpu * pod.memory, reverse=True):
        if not any(machine.take(pod) for machine in machines):
            machines.append(Machine(min((each for each in TYPES if each[1] >= pod.cpu and each[2] >= pod.memory),
                                        key=lambda each: each[3])))
            machines[-1].take(pod)
    return machines


def churn(machines, rng):
    for machine in machines:
        if len(machine.pods) > 1:
            machine.end(rng.uniform(0, 0.8), rng)
        for _ in range(rng.randrange(4)):
            machine.take(Pod(rng))
    return [machine for machine in machines if machine.pods]


def cluster(count, rng):
    """Returns `count` machines."""
    pods = 3 * count
    while True:
        machines = packed(Pod(rng) for _ in range(pods))
        for _ in range(CHURNS):
            machines = churn(machines, rng)
        if len(machines) >= count:
            return rng.sample(machines, count)
        pods = pods * 5 // 4


def nodepool(policy):
    condition = {"status": "True", "reason": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": POOL, "uid": POOL},
            "spec": {"disruption": {"consolidationPolicy": policy, "consolidateAfter": "0s",
                                    "budgets": [{"nodes": "100%"}]},
                     "template": {"spec": {"expireAfter": "Never", "nodeClassRef": CLASS, "requirements": [
                         {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                         {"key": "node.kubernetes.io/instance-type", "operator": "In",
                          "values": [each[0] for each in TYPES]},
                         {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [ZONE]}]}}},
            "status": {"conditions": [{"type": kind, **condition} for kind in (
                "Ready", "ValidationSucceeded", "NodeClassReady")]}}


CLASS = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}


def node_objects(name, type_name):
    """Returns the NodeClaim and the Node of a machine."""
    _, cpus, memory, _ = TYPE_OF[type_name]
    amounts = {"cpu": f"{cpus}", "memory": f"{memory}Gi", "pods": "110"}
    provider_id = f"aws:///{ZONE}/i-{name}"
    labels = {"karpenter.sh/nodepool": POOL, "karpenter.sh/capacity-type": "on-demand",
              "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true",
              "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
              "node.kubernetes.io/instance-type": type_name, "topology.kubernetes.io/zone": ZONE}
    condition = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    claim = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
             "metadata": {"name": name, "uid": f"claim-{name}", "labels": labels,
                          "creationTimestamp": "2026-01-01T00:00:00Z"},
             "spec": {"expireAfter": "Never", "nodeClassRef": CLASS, "requirements": []},
             "status": {"nodeName": name, "providerID": provider_id, "capacity": amounts, "allocatable": amounts,
                        "conditions": [{"type": kind, "reason": kind, **condition} for kind in (
                            "Launched", "Registered", "Initialized", "Consolidatable")]}}
    node = {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": f"node-{name}", "labels": labels},
            "spec": {"providerID": provider_id},
            "status": {"capacity": amounts, "allocatable": amounts,
                       "conditions": [{"type": "Ready", "status": "True"}]}}
    return [claim, node]


def pod_object(name, on, pod):
    metadata = {"name": name, "namespace": "shop", "uid": name, "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}]}
    if pod.disruption_cost != 1:
        # Karpenter's cost of an eviction is 1 and this number divided by 2^27.
        metadata["annotations"] = {
            "controller.kubernetes.io/pod-deletion-cost": f"{(pod.disruption_cost - 1) * 2**27}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"nodeName": on, "containers": [{"name": "c", "image": "c", "resources": {
                "requests": {"cpu": f"{int(pod.cpu * 1000)}m", "memory": f"{pod.memory}Gi"}}}]},
            "status": {"phase": "Running"}}


def objects(machines, policy):
    pods = sum(len(machine.pods) for machine in machines)
    items = [nodepool(policy), {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "shop", "uid": "rs"},
        "spec": {"replicas": pods}, "status": {"replicas": pods}}]
    for n, machine in enumerate(machines):
        items += node_objects(f"n{n}", machine.type)
        items += [pod_object(f"p{n}-{p}", f"n{n}", pod) for p, pod in enumerate(machine.pods)]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def write_files(count, seed, dump, types, prices, policy="WhenEmptyOrUnderutilized"):
    write(dump, objects(cluster(count, random.Random(seed)), policy))
    write(types, {"machineTypes": [
        {"name": name, "groups": [POOL], "offers": [{"capacityType": "on-demand"}],
         "capacity": {"cpu": f"{cpus}", "memory": f"{memory}Gi"}} for name, cpus, memory, _ in TYPES]})
    write(prices, {"currency": "USD", "types": {name: price for name, _, _, price in TYPES}})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int)
    parser.add_argument("seed", type=int)
    for name in ("cluster", "types", "prices"):
        parser.add_argument(name)
    parser.add_argument("--policy", default="WhenEmptyOrUnderutilized",
                        choices=("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"))
    args = parser.parse_args()
    write_files(args.nodes, args.seed, args.cluster, args.types, args.prices, args.policy)


if __name__ == "__main__":
    main()
