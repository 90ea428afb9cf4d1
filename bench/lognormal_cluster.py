#!/usr/bin/env python3
"""Writes a cluster of machines of three families whose pods have log-normal requests.

    lognormal_cluster.py NODES SEED CLUSTER.json TYPES.yaml PRICES.yaml

The workload is of the kind that Karpenter's design of its Balanced policy describes: pods with independent log-normal
requests of CPU and memory are packed onto the cheapest machines that fit; then several rounds end pods and add others.
So many nodes are of a type that no longer suits their pods.  TYPES.yaml and PRICES.yaml are for `ebb plan --replace`.
"""

import json
import random
import sys

# Memory for each CPU in GiB, and the price of a CPU.
FAMILIES = {"c7i": (2, 0.0446), "m7i": (4, 0.0504), "r7i": (8, 0.0662)}
SIZES = {"large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16, "8xlarge": 32, "16xlarge": 64}
TYPES = [(f"{family}.{size}", cpus, cpus * memory, cpus * price)
         for family, (memory, price) in FAMILIES.items() for size, cpus in SIZES.items()]
CHURNS = 5


def new_pod(rng):
    cpu = min(max(round(rng.lognormvariate(0, 1) * 2) / 2, 0.25), 16)
    return cpu, min(max(round(rng.lognormvariate(1.5, 1.2)), 1), 120)


class Machine:
    def __init__(self, machine_type):
        self.type, self.cpu, self.memory, self.price = machine_type
        self.pods = []

    def take(self, pod):
        fits = pod[0] <= self.cpu and pod[1] <= self.memory
        if fits:
            self.cpu -= pod[0]
            self.memory -= pod[1]
            self.pods.append(pod)
        return fits

    def end(self, share, rng):
        for pod in rng.sample(self.pods, int(len(self.pods) * share)):
            self.pods.remove(pod)
            self.cpu += pod[0]
            self.memory += pod[1]


def cluster(count, rng):
    machines = []
    while len(machines) < count:
        pod = new_pod(rng)
        # Some machines are larger than their first pod needs, so that others join it.
        if not any(machine.take(pod) for machine in machines[-50:]):
            scale = rng.choice((1, 1, 2, 4))
            fitting = [each for each in TYPES if each[1] >= min(pod[0] * scale, 64)
                       and each[2] >= min(pod[1] * scale, 512)]
            machines.append(Machine(min(fitting, key=lambda each: each[3])))
            machines[-1].take(pod)
    for _ in range(CHURNS):
        for machine in machines:
            machine.end(rng.uniform(0, 0.8), rng)
            for _ in range(rng.randrange(4)):
                machine.take(new_pod(rng))
    return machines


def node(name, machine):
    sizes = {key: f"{value}" for key, value in
             zip(("cpu", "memory", "pods"), (TYPE_OF[machine.type][1],
                                             f"{TYPE_OF[machine.type][2]}Gi", 110))}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": name, "labels": {
                "eks.amazonaws.com/nodegroup": "general", "kubernetes.io/hostname": name,
                "eks.amazonaws.com/capacityType": "ON_DEMAND",
                "node.kubernetes.io/instance-type": machine.type,
                "topology.kubernetes.io/zone": "z1"}},
            "status": {"capacity": sizes, "allocatable": sizes,
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def pod_object(name, on, pod):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs",
                 "controller": True}]},
            "spec": {"nodeName": on, "containers": [{"name": "c", "resources": {
                "requests": {"cpu": f"{int(pod[0] * 1000)}m", "memory": f"{pod[1]}Gi"}}}]},
            "status": {"phase": "Running"}}


TYPE_OF = {each[0]: each for each in TYPES}


def main():
    count, seed, dump, types, prices = sys.argv[1:]
    machines = cluster(int(count), random.Random(int(seed)))
    pods = sum(len(machine.pods) for machine in machines)
    items = [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
              "metadata": {"name": "web", "namespace": "shop", "uid": "rs"},
              "spec": {"replicas": pods}, "status": {"replicas": pods}}]
    for n, machine in enumerate(machines):
        items.append(node(f"n{n}", machine))
        items += [pod_object(f"p{n}-{p}", f"n{n}", pod) for p, pod in enumerate(machine.pods)]
    with open(dump, "w", encoding="utf-8") as file:
        json.dump({"apiVersion": "v1", "kind": "List", "items": items}, file)
    with open(types, "w", encoding="utf-8") as file:
        json.dump({"machineTypes": [
            {"name": name, "groups": ["general"], "offers": [{}],
             "capacity": {"cpu": f"{cpus}", "memory": f"{memory}Gi"}}
            for name, cpus, memory, _ in TYPES]}, file)
    with open(prices, "w", encoding="utf-8") as file:
        json.dump({"currency": "USD", "types": {name: price for name, _, _, price in TYPES}}, file)


main()
