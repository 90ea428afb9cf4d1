"""What the tests of sweeps share."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import ebb

NOW = "2026-03-01T00:00:00Z"


def dump(path: Path, nodes: int = 20, seed: int = 1) -> Path:
    """Writes a generated cluster as a dump."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ebb.generate("company", nodes, seed).export())
    return path


def sweep(clusters: Any, questions: Any, out: Path, **arguments: Any) -> ebb.fleet.Result:
    return ebb.sweep(clusters, questions, out=out, **{"now": NOW, "progress": False, "workers": 2, **arguments})


def keys(table: Any) -> list[tuple[str, str, str]]:
    """Cluster, question and options of each row, sorted: a doubled row is there twice."""
    return sorted((row["cluster"], row["question"], row["options"]) for row in table.to_pylist())


def comparable(table: Any) -> list[dict[str, Any]]:
    """The rows without what differs from run to run."""
    rows = table.drop_columns(["load_seconds", "answer_seconds", "worker", "written"]).to_pylist()
    return sorted(rows, key=lambda row: (row["cluster"], row["question"], row["options"]))


class DeadlyDump(threading.Thread):
    """A dump that kills the worker which reads it, the first `kills` times, and then has the bytes of a cluster.

    It is a FIFO: to open it for writing waits until a worker has opened it for reading, so nothing depends on time.
    Each reader gets a FIFO of its own, under the same path.
    """

    def __init__(self, path: Path, data: bytes | None, kills: int) -> None:
        super().__init__(daemon=True)
        os.mkfifo(path)
        self.path = path
        self.killed: list[int] = []
        self._data = data
        self._kills = kills
        self.start()

    def run(self) -> None:
        while len(self.killed) < self._kills:
            with open(self.path, "wb"):
                reader = self._reader()
                following = self.path.with_name(self.path.name + ".following")
                os.mkfifo(following)
                following.replace(self.path)
                os.kill(reader, signal.SIGKILL)
                self.killed.append(reader)
        if self._data is not None:
            self.path.write_bytes(self._data)

    def _reader(self) -> int:
        others = (int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid())
        readers = [pid for pid in others if has_open(pid, self.path)]
        assert len(readers) == 1, readers
        return readers[0]


def has_open(pid: int, path: Path) -> bool:
    try:
        return any(os.readlink(f"/proc/{pid}/fd/{each}") == str(path) for each in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False
