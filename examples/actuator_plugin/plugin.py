#!/usr/bin/env python3
"""An actuator plugin: ebb decides which nodes go, and the plugin removes them.

    plugin.py SOCKET NODES        a plugin over a cluster of NODES nodes in memory

The protocol is wire/actuator.proto; the rules for a plugin are at its top.  To drive a real cluster, replace
Cluster by another class with the same methods.

Needs Python's grpcio and protobuf, and on PYTHONPATH the code that protoc generates from the protocol:
    protoc -I. --python_out=stubs --grpc_out=stubs \
        --plugin=protoc-gen-grpc="$(command -v grpc_python_plugin)" wire/actuator.proto
"""

import collections
import concurrent.futures
import dataclasses
import signal
import sys
import threading
import time

import grpc
from wire import actuator_pb2 as wire
from wire import actuator_pb2_grpc

KEYS_MAX = 10_000
RECENT_S = 120  # How long the status reports an eviction.
Code = grpc.StatusCode


class Refused(Exception):
    def __init__(self, code, why):
        super().__init__(why)
        self.code = code


@dataclasses.dataclass
class Node:
    uid: str
    pods: list
    soft_taint: bool = False
    hard_taint: bool = False
    gone_at: float = float("inf")


class Cluster:
    """Nodes that lose a pod a second while they drain."""

    def __init__(self, nodes):
        self.nodes = {f"node-{n}": Node(f"uid-{n}", [f"pod-{n}-{p}" for p in range(2)])
                      for n in range(nodes)}

    def find(self, name):
        """Returns the node, or None if it does not exist."""
        node = self.nodes.get(name)
        if node is not None and node.gone_at <= time.time():
            del self.nodes[name]
            return None
        return node

    def soft_taint(self, name, taint):
        self.nodes[name].soft_taint = taint

    def hard_taint(self, name, taint):
        """Keeps new pods off the node.  A real cluster may fail here: then raise Refused(UNAVAILABLE)."""
        if self.find(name) is not None:
            self.nodes[name].hard_taint = taint

    def why_not_movable(self, name):
        """Checks the node's pods as they are now: returns why one of them may not be moved, or ""."""
        unmovable = [pod for pod in self.nodes[name].pods if pod.startswith("static-")]
        return f"pod {unmovable[0]} may not be moved" if unmovable else ""

    def has_pods(self, name):
        return bool(self.nodes[name].pods)

    def evict_one(self, name):
        """Evicts a pod that its disruption budget allows to go; returns the pod's name."""
        return self.nodes[name].pods.pop(0)

    def delete(self, name):
        self.nodes[name].gone_at = time.time() + 1


@dataclasses.dataclass
class Deletion:
    order: wire.DeletionOrder
    phase: int
    since: int
    why: str = ""

    def enter(self, phase, why=""):
        self.phase, self.since, self.why = phase, int(time.time()), why


class Deletions:
    """Every deletion and its phase.  One caller at a time."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.running = {}
        self.results = []
        self.evicted = []
        self.ended = 0

    def begin(self, orders):
        # Checks all orders before it touches the first node.
        for order in orders:
            node = self.cluster.find(order.node)
            if node is None or order.uid not in ("", node.uid):
                raise Refused(Code.NOT_FOUND, f"node {order.node} is not there")
        new = [order for order in orders if order.node not in self.running]
        tainted = []
        try:
            for order in new:
                tainted.append(order.node)
                self.cluster.hard_taint(order.node, True)
        except Refused:
            for name in tainted:
                self.cluster.hard_taint(name, False)
            raise
        for order in new:
            self.running[order.node] = Deletion(order, wire.TAINTED, int(time.time()))

    def find(self, name):
        if name not in self.running:
            raise Refused(Code.NOT_FOUND, f"node {name} is not being deleted")
        return self.running[name]

    def drain(self, name):
        deletion = self.find(name)
        if deletion.phase in (wire.DRAINING, wire.DRAINED):
            return
        if deletion.phase != wire.TAINTED:
            raise Refused(Code.FAILED_PRECONDITION, f"node {name} is not just tainted")
        why = self.cluster.why_not_movable(name)
        if not why and not deletion.order.drain and self.cluster.has_pods(name):
            why = "it was to go empty, and has pods now"
        deletion.enter(wire.FAILED if why else wire.DRAINING, why)

    def delete(self, name):
        deletion = self.find(name)
        if deletion.phase == wire.DELETING:
            return
        if deletion.phase != wire.DRAINED:
            raise Refused(Code.FAILED_PRECONDITION, f"node {name} is not drained")
        self.cluster.delete(name)
        deletion.enter(wire.DELETING)

    def roll_back(self, name, why):
        deletion = self.find(name)
        if deletion.phase in (wire.DRAINING, wire.DELETING):
            raise Refused(Code.FAILED_PRECONDITION, f"node {name} is on its way")
        self.cluster.hard_taint(name, False)
        self.end(name, False, why)

    def end(self, name, ok, why=""):
        deletion = self.running.pop(name)
        self.ended += 1
        self.results.append(wire.DeletionResult(
            id=str(self.ended), node=name, group=deletion.order.group, ok=ok, at=int(time.time()),
            why=why))

    def advance(self):
        """Continues the deletions that have begun; called once a second."""
        for name, deletion in list(self.running.items()):
            if self.cluster.find(name) is None:
                ours = deletion.phase == wire.DELETING
                self.end(name, ours, "" if ours else "another program deleted it")
            elif deletion.phase == wire.DRAINING and self.cluster.has_pods(name):
                self.evicted.append(wire.EvictedPod(
                    namespace="default", name=self.cluster.evict_one(name), at=int(time.time())))
            elif deletion.phase == wire.DRAINING:
                deletion.enter(wire.DRAINED)
        self.evicted = [pod for pod in self.evicted if time.time() - pod.at <= RECENT_S]

    def status(self):
        running = [wire.RunningDeletion(
            node=name, group=each.order.group, drain=each.order.drain, phase=each.phase,
            batch_size=each.order.batch_size, since=each.since, why=each.why)
                   for name, each in self.running.items()]
        return wire.StatusReply(running=running, results=self.results,
                                recent_evictions=self.evicted)


class Plugin(actuator_pb2_grpc.ActuatorServicer):
    def __init__(self, cluster):
        self.lock = threading.Lock()
        self.cluster = cluster
        self.deletions = Deletions(cluster)
        self.keys = collections.OrderedDict()  # Keys of calls that were carried out.

    def once(self, request, context, nodes, call, reply):
        """Carries out a call, unless a call with the same key was carried out before."""
        if not request.key or not all(nodes):
            context.abort(Code.INVALID_ARGUMENT, "a key and names of nodes are needed")
        with self.lock:
            if request.key not in self.keys:
                try:
                    call()
                except Refused as refused:
                    context.abort(refused.code, str(refused))
                self.keys[request.key] = True
                if len(self.keys) > KEYS_MAX:
                    self.keys.popitem(last=False)
        return reply

    def Hello(self, request, context):
        return wire.HelloReply(name="example", version="1", cannot=["grow"])

    def SoftTaint(self, request, context):
        def call():
            if self.cluster.find(request.node) is None:
                raise Refused(Code.NOT_FOUND, f"node {request.node} is not there")
            self.cluster.soft_taint(request.node, request.taint)
        return self.once(request, context, [request.node], call, wire.SoftTaintReply())

    def Begin(self, request, context):
        return self.once(request, context, [order.node for order in request.orders],
                         lambda: self.deletions.begin(request.orders), wire.BeginReply())

    def Drain(self, request, context):
        return self.once(request, context, [request.node],
                         lambda: self.deletions.drain(request.node), wire.DrainReply())

    def Delete(self, request, context):
        return self.once(request, context, [request.node],
                         lambda: self.deletions.delete(request.node), wire.DeleteReply())

    def RollBack(self, request, context):
        return self.once(request, context, [request.node],
                         lambda: self.deletions.roll_back(request.node, request.why),
                         wire.RollBackReply())

    def Status(self, request, context):
        with self.lock:
            return self.deletions.status()

    def Acknowledge(self, request, context):
        with self.lock:
            self.deletions.results = [result for result in self.deletions.results
                                      if result.id not in request.ids]
        return wire.AcknowledgeReply()


def health():
    """Implements grpc.health.v1.Health without generated code: the reply's field 1 is SERVING, which is 1."""
    check = grpc.unary_unary_rpc_method_handler(lambda request, context: b"\x08\x01")
    return grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": check})


def main(socket, nodes):
    plugin = Plugin(Cluster(int(nodes)))
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=4))
    actuator_pb2_grpc.add_ActuatorServicer_to_server(plugin, server)
    server.add_generic_rpc_handlers((health(),))
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    print("serving", flush=True)
    while not stop.wait(1):
        with plugin.lock:
            plugin.deletions.advance()
    server.stop(5).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
