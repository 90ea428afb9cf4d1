"""What several tests use: clusters, and the program that the wheel carries."""

import json
import pathlib

import pytest

import ebb

NOW = 1_780_315_200  # 2026-06-01T12:00:00Z
PROGRAM = pathlib.Path(ebb.__file__).parent / "bin" / "ebb"


def node(name, cpu="4", **labels):
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"},
            "capacity": {"cpu": cpu, "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name, on, cpu="500m"):
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-web", "controller": True}
            ],
        },
        "spec": {"nodeName": on, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": "Running"},
    }


def replica_set():
    return {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {"name": "web", "namespace": "default", "uid": "uid-web"},
        "spec": {"replicas": 2},
        "status": {"replicas": 2},
    }


def dump_of(*objects):
    return {"kind": "List", "apiVersion": "v1", "items": list(objects)}


def small_dump():
    """Two nodes, each half free; one can go."""
    return dump_of(node("a"), node("b"), replica_set(), pod("p", "a"), pod("q", "b"))


# A dump of a few objects lacks kinds of objects; that is not what these tests are about.
SMALL = {"now": NOW, "options": {"assume_complete": True}}


@pytest.fixture
def small():
    with ebb.Cluster.load(small_dump(), **SMALL) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def company():
    with ebb.generate("company", nodes=60, seed=1, options={"now": NOW}) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def company_file(tmp_path_factory, company):
    path = tmp_path_factory.mktemp("dump") / "company.pb"
    company.export(path)
    return path


@pytest.fixture(scope="session")
def large():
    """A cluster that gives a search something to do."""
    with ebb.generate("company", nodes=400, seed=1, options={"now": NOW}) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def large_file(tmp_path_factory, large):
    path = tmp_path_factory.mktemp("dump") / "large.pb"
    large.export(path)
    return path


def as_json(value):
    return json.dumps(value).encode()
