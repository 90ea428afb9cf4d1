"""ebb.sweep on Ray: the same rows as without it, on one node and on two."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ray = pytest.importorskip("ray")

from ebb.fleet import Generated, SweepError, read
from sweep_support import DeadlyDump, comparable, dump, has_open, keys, sweep

pytestmark = pytest.mark.ray

# A cluster of Ray on this machine needs little for sweeps: rows are small, and dumps do not go through it.
OBJECT_STORE_BYTES = 100 << 20
QUESTIONS = {"today": {}, "thresholds": {"grid": {"scale_down_utilization_threshold": [0.3, 0.6]}}}


@pytest.fixture(scope="module")
def one_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
        ray.init(
            address="local",
            num_cpus=2,
            object_store_memory=OBJECT_STORE_BYTES,
            include_dashboard=False,
            log_to_driver=False,
            runtime_env=environment,
        )
        yield
        ray.shutdown()


def test_rows_are_those_of_a_local_sweep(one_node: None, tmp_path: Path) -> None:
    paths = [str(dump(tmp_path / f"{seed}.pb", seed=seed)) for seed in range(3)]
    clusters = [*paths, Path(paths[0]).read_bytes(), Generated("mixed", 10), str(tmp_path / "not-there.pb")]
    local = sweep(clusters, QUESTIONS, tmp_path / "local")
    on_ray = sweep(clusters, QUESTIONS, tmp_path / "ray", where="ray")
    assert (on_ray.answered, on_ray.errors) == (local.answered, local.errors) == (18, 3)
    assert comparable(on_ray.table()) == comparable(local.table())
    assert on_ray.table()["worker"].to_pylist() != local.table()["worker"].to_pylist()
    again = sweep(clusters, QUESTIONS, tmp_path / "local", where="ray")
    assert (again.answered, again.had_row) == (3, 15)


def test_a_killed_ray_worker_loses_no_row_and_doubles_none(one_node: None, tmp_path: Path) -> None:
    deadly = DeadlyDump(tmp_path / "deadly.pb", dump(tmp_path / "whole.pb").read_bytes(), kills=1)
    clusters = [str(deadly.path), *(Generated("uniform", 5, seed) for seed in range(60))]
    result = sweep(clusters, {"today": {}}, tmp_path / "out", where="ray")
    assert len(deadly.killed) == result.workers_lost == 1
    assert (result.answered, result.errors) == (61, 0)
    assert len(set(keys(result.table()))) == result.table().num_rows == 61


def test_a_question_with_which_ray_workers_are_lost_is_a_row(one_node: None, tmp_path: Path) -> None:
    deadly = DeadlyDump(tmp_path / "deadly.pb", None, kills=2)
    result = sweep([str(deadly.path), Generated("uniform", 5)], {"today": {}}, tmp_path / "out", where="ray", retries=1)
    rows = {row["cluster"]: row for row in result.table().to_pylist()}
    assert rows["uniform-5-1"]["error"] is None
    assert rows["deadly"]["error_kind"] == "WorkerLost" and "2 times" in rows["deadly"]["error"]


def test_an_unknown_setting_of_ray_is_an_error(one_node: None, tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="ray: unknown field 'adress'"):
        sweep(Generated("uniform", 5), {"today": {}}, tmp_path / "out", where="ray", ray={"adress": "auto"})


_ENVIRONMENT = {**os.environ, "RAY_AUTH_MODE": "disabled", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
_ON_TWO_NODES = """
import sys
from pathlib import Path
from sweep_support import sweep
out, address, *clusters = sys.argv[1:]
result = sweep(clusters, {"today": {}}, Path(out), where="ray", workers=None, ray={"address": address})
print(result.answered, result.errors)
"""


class _RayNode:
    """`ray start` as a child of this process, until the end of the block."""

    def __init__(self, *arguments: str) -> None:
        command = [
            str(Path(sys.executable).parent / "ray"),
            "start",
            "--block",
            "--num-cpus=1",
            "--disable-usage-stats",
        ]
        command += [f"--object-store-memory={OBJECT_STORE_BYTES}", *arguments]
        self._process = subprocess.Popen(
            command, env=_ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def __enter__(self) -> None:
        assert self._process.stdout is not None
        printed = []
        for text in self._process.stdout:
            printed.append(text)
            if "Ray runtime started" in text:
                return
        raise AssertionError("".join(printed))

    def __exit__(self, *_: object) -> None:
        self._process.terminate()  # Ends the node's processes too.
        self._process.communicate()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _raylet_of(pid: int) -> int:
    """The parent of a worker of Ray is the raylet of its node."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class _HeldDumps(threading.Thread):
    """Dumps that have bytes only when each of them has a reader."""

    def __init__(self, paths: list[Path], data: bytes) -> None:
        super().__init__(daemon=True)
        self.paths = paths
        self.raylets: set[int] = set()
        self._data = data
        for path in paths:
            os.mkfifo(path)
        self.start()

    def run(self) -> None:
        files = [open(path, "wb") for path in self.paths]  # noqa: SIM115: each waits for its reader.
        for path in self.paths:
            others = (int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid())
            self.raylets.update(_raylet_of(pid) for pid in others if has_open(pid, path))
        for file in files:
            with file:
                file.write(self._data)


def test_two_nodes_answer_at_the_same_time(tmp_path: Path) -> None:
    address = f"127.0.0.1:{_free_port()}"
    head = _RayNode(
        "--head", f"--port={address.rpartition(':')[2]}", "--node-ip-address=127.0.0.1", "--include-dashboard=false"
    )
    with head, _RayNode(f"--address={address}", "--node-ip-address=127.0.0.1"):
        held = _HeldDumps([tmp_path / "a.pb", tmp_path / "b.pb"], dump(tmp_path / "whole.pb").read_bytes())
        command = [sys.executable, "-c", _ON_TWO_NODES, str(tmp_path / "out"), address, *map(str, held.paths)]
        ended = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, check=False)
        assert ended.stdout.split() == ["2", "0"], ended.stderr
        # Each node has one core, and both dumps were read at once.
        assert len(held.raylets) == 2


def test_an_address_where_nothing_answers_is_an_error_at_once(tmp_path: Path) -> None:
    # In a process of its own: this one may be connected.
    address = f"127.0.0.1:{_free_port()}"
    command = [sys.executable, "-c", _ON_TWO_NODES, str(tmp_path / "out"), address, str(tmp_path / "a.pb")]
    ended = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, check=False)
    assert f"SweepError: ray: {address}: nothing answers there" in ended.stderr


_WITH_PROGRESS = """
import sys
from ebb.fleet import progress
from ebb.sweep_command import main
progress._LINES_SECONDS = 0.0
sys.exit(main(sys.argv[1:]))
"""


def _until(process: subprocess.Popen[str], said: str) -> str:
    """Reads stderr until it has this text."""
    assert process.stderr is not None
    printed = ""
    while said not in printed:
        text = process.stderr.readline()
        assert text, printed
        printed += text
    return printed


def test_rows_are_written_when_the_head_is_gone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never.pb")  # It has no writer, so the sweep does not end by itself.
    address = f"127.0.0.1:{_free_port()}"
    spec = tmp_path / "sweep.yaml"
    clusters = "[{generate: uniform, nodes: 5, seeds: 1-40}, never.pb]"
    spec.write_text(
        f"clusters: {clusters}\nquestions: {{today: {{}}}}\nwhere: ray\nray: {{address: '{address}'}}\nout: results\n"
    )
    head = _RayNode(
        "--head", f"--port={address.rpartition(':')[2]}", "--node-ip-address=127.0.0.1", "--include-dashboard=false"
    )
    with head:
        process = subprocess.Popen(
            [sys.executable, "-c", _WITH_PROGRESS, str(spec)],
            env=_ENVIRONMENT,
            stderr=subprocess.PIPE,
            text=True,
        )
        printed = _until(process, "40 of 41 answers")
    printed += process.communicate()[1]
    assert process.returncode == 1
    # Ray ends the process that is connected, or that process sees first that the head is gone.
    assert "ebb: ray: the connection to the cluster was lost" in printed or "does not answer" in printed
    assert read(tmp_path / "results").num_rows == 40


def test_a_signal_to_the_group_writes_the_rows_of_a_sweep_on_ray(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never.pb")  # It has no writer, so the sweep does not end by itself.
    spec = tmp_path / "sweep.yaml"
    clusters = "[{generate: uniform, nodes: 5, seeds: 1-40}, never.pb]"
    ray_settings = f"workers: 1\nwhere: ray\nray: {{object-store-memory: {OBJECT_STORE_BYTES}}}"
    spec.write_text(f"clusters: {clusters}\nquestions: {{today: {{}}}}\n{ray_settings}\nout: results\n")
    process = subprocess.Popen(
        [sys.executable, "-c", _WITH_PROGRESS, str(spec)],
        env={name: value for name, value in _ENVIRONMENT.items() if name != "RAY_ADDRESS"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    printed = _until(process, "40 of 41 answers")
    os.killpg(process.pid, signal.SIGINT)
    os.killpg(process.pid, signal.SIGINT)
    printed += process.communicate()[1]
    assert process.returncode == 130, printed
    assert "ebb: interrupted (SIGINT); the rows until now are written, 40 of this sweep" in printed
    assert read(tmp_path / "results").num_rows == 40
