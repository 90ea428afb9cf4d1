"""A process between the sweep and Ray: `python -m ebb.fleet.ray_process FD`, which RayProcess starts.

Ray ends a process that is connected to it when the cluster is gone, at once and without an exception.  So the process
that has the rows is another one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any

from .errors import SweepError
from .interrupts import SIGNALS
from .local import start_process
from .questions import Question
from .workers import Outcome, Work

_CLOSE_SECONDS = 30.0


class RayProcess:
    """RayWorkers (on_ray.py) of another process; the same arguments."""

    def __init__(
        self,
        count: int | None,
        asked: Sequence[Question],
        version: str,
        memory_max: int | None,
        settings: Mapping[str, Any],
    ) -> None:
        self._given: dict[int, Work] = {}
        self._numbers = 0
        self._cores = self._most = 0
        self._process, self._connection = start_process("ebb.fleet.ray_process")
        self._connection.send((count, list(asked), version, memory_max, dict(settings)))
        self._receive()

    @property
    def cores(self) -> int:
        return self._cores

    def wants(self) -> bool:
        return len(self._given) < self._most

    def busy(self) -> bool:
        return bool(self._given)

    def give(self, work: Work) -> None:
        self._numbers += 1
        self._given[self._numbers] = work
        try:
            self._connection.send((self._numbers, work))
        except ConnectionError:
            pass  # wait() receives that the process has ended.

    def wait(self, seconds: float) -> list[Outcome]:
        return self._receive() if self._connection.poll(seconds) else []

    def close(self) -> None:
        self._connection.close()  # The process cancels its tasks then.
        try:
            self._process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _receive(self) -> list[Outcome]:
        try:
            received = self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise SweepError(
                f"ray: the connection to the cluster was lost: its process ended with code {self._process.wait()}; the rows"
                " until now are written, and the same sweep answers what is missing"
            ) from error
        if isinstance(received, SweepError):
            raise received
        self._cores, self._most, outcomes = received
        return [Outcome(self._given.pop(number), answered, lost) for number, answered, lost in outcomes]


def main(descriptor: int) -> None:
    with Connection(descriptor) as connection:
        team = None
        try:
            from .on_ray import RayWorkers

            # Blocked signals would be blocked in all processes of Ray that start here, which handle SIGTERM.
            _ignore_signals()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            team = RayWorkers(*connection.recv())
            _ignore_signals()  # Ray sets handlers of its own.
            connection.send((team.cores, team.most, []))
            _serve(connection, team)
        except SweepError as error:
            connection.send(error)
        except ConnectionError:
            pass  # The sweep has ended.
        finally:
            if team is not None:
                team.close()


def _ignore_signals() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _serve(connection: Connection, team: Any) -> None:
    """Answers until the sweep closes its end.  A thread receives, so that neither side waits for the other to read."""
    received: SimpleQueue[tuple[int, Work] | None] = SimpleQueue()
    Thread(target=_receive_all, args=(connection, received), daemon=True).start()
    numbers: dict[int, int] = {}  # By id(work).
    said = (team.cores, team.most)
    while True:
        while not received.empty() or not team.busy():
            next_one = received.get()
            if next_one is None:
                return
            numbers[id(next_one[1])] = next_one[0]
            team.give(next_one[1])
        outcomes = [(numbers.pop(id(each.work)), each.answered, each.lost) for each in team.wait(0.2)]
        if outcomes or said != (team.cores, team.most):
            said = (team.cores, team.most)
            connection.send((*said, outcomes))


def _receive_all(connection: Connection, received: SimpleQueue[tuple[int, Work] | None]) -> None:
    try:
        while True:
            received.put(connection.recv())
    except (EOFError, OSError):
        received.put(None)


if __name__ == "__main__":
    main(int(sys.argv[1]))
    os._exit(0)  # What Ray does at the end of Python would wait for a head that is gone.
