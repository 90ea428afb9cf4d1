"""Workers as tasks of a Ray cluster, each with one core.

A task gets pieces, and its worker reads the dumps itself; only rows come back.  Ray does not repeat tasks itself
(max_retries=0): the sweep does, so that it can narrow down which question a worker is lost with.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

import ray

from .answer import answer
from .errors import SweepError
from .questions import Question
from .workers import Outcome, Work

# Tasks that wait for a core, for each core: enough to hide the way to the sweep and back.
_TASKS_PER_CORE = 4
# With fewer tasks an autoscaler would see no need for more machines.
_TASKS_MIN = 64
_CORES_LOOK_SECONDS = 10.0
# Ray tries to reach a head that does not answer, and ends the process after 60 s.  A head may start again until then.
_HEAD_LOOK_SECONDS = 1.0
_HEAD_GONE_SECONDS = 30.0
_CONNECT_SECONDS = 10.0


class RayWorkers:
    def __init__(
        self,
        count: int | None,
        asked: Sequence[Question],
        version: str,
        memory_max: int | None,
        settings: Mapping[str, Any],
    ) -> None:
        """count: tasks at a time; None: as many as the cluster has cores.

        settings: `address` of a running cluster ("auto": of this machine's); without one, $RAY_ADDRESS or a cluster for this
        process alone, which gets object_store_memory bytes for its object store.
        """
        self._own = not ray.is_initialized()
        if self._own:
            _connect(count, settings)
        self._count = count
        self._cores = 0
        self._looked_at = float("-inf")
        self._setup = ray.put((list(asked), version))
        self._task = ray.remote(_task).options(num_cpus=1, max_retries=0, memory=memory_max)
        self._running: dict[Any, Work] = {}
        self._head = str(ray.get_runtime_context().gcs_address)
        self._head_looked_at = self._head_answered_at = time.monotonic()
        self._is_gone = False

    @property
    def cores(self) -> int:
        if not self._is_gone and time.monotonic() - self._looked_at > _CORES_LOOK_SECONDS:
            self._looked_at = time.monotonic()
            if self._head_answers():
                self._cores = int(_resources().get("CPU", 0))
        return self._cores if self._count is None else self._count

    @property
    def most(self) -> int:
        """How many tasks there may be at a time."""
        return max(_TASKS_MIN, _TASKS_PER_CORE * self.cores) if self._count is None else self._count

    def wants(self) -> bool:
        return len(self._running) < self.most

    def busy(self) -> bool:
        return bool(self._running)

    def give(self, work: Work) -> None:
        self._running[self._task.remote(work, self._setup)] = work

    def wait(self, seconds: float) -> list[Outcome]:
        if time.monotonic() - self._head_looked_at > _HEAD_LOOK_SECONDS:
            self._head_answers()
        running = list(self._running)
        ready, _ = ray.wait(running, num_returns=1, timeout=seconds)
        if ready:
            ready, _ = ray.wait(running, num_returns=len(running), timeout=0)
        return [self._outcome(reference) for reference in ready]

    def close(self) -> None:
        running, self._running = self._running, {}
        if self._is_gone:
            return  # Each call would wait for the head.
        for reference in running:
            ray.cancel(reference, force=True)
        if self._own:
            ray.shutdown()

    def _head_answers(self) -> bool:
        """Raises SweepError if the head has not answered for a time."""
        self._head_looked_at = time.monotonic()
        try:
            _reach(self._head)
        except OSError as error:
            if self._head_looked_at - self._head_answered_at < _HEAD_GONE_SECONDS:
                return False
            self._is_gone = True
            raise SweepError(
                f"ray: the head of the cluster, {self._head}, does not answer: {error}; the rows until now are written,"
                " and the same sweep answers what is missing"
            ) from error
        self._head_answered_at = self._head_looked_at
        return True

    def _outcome(self, reference: Any) -> Outcome:
        work = self._running.pop(reference)
        try:
            return Outcome(work, ray.get(reference))
        except ray.exceptions.RayTaskError as error:
            raise SweepError(
                f"a Ray task failed: {error}; is ebb, with fsspec and pyarrow, installed on every node of the cluster?"
            ) from error
        except ray.exceptions.RayError as error:
            return Outcome(work, None, f"the Ray worker was lost: {type(error).__name__}: {_first_line(error)}")


def _task(work: Work, setup: tuple[list[Question], str]) -> Any:
    return answer(work, *setup)


def _connect(count: int | None, settings: Mapping[str, Any]) -> None:
    address = settings.get("address") or os.environ.get("RAY_ADDRESS")
    own: dict[str, Any] = (
        {}
        if address
        else {"num_cpus": count, "object_store_memory": settings.get("object_store_memory"), "include_dashboard": False}
    )
    if address:
        try:
            _reach(address)
        except OSError as error:
            raise SweepError(f"ray: {address}: nothing answers there: {error}") from error
    try:
        ray.init(address=address or "local", logging_level=logging.WARNING, log_to_driver=False, **own)
    except (ConnectionError, ValueError) as error:
        raise SweepError(f"ray: {address or 'a new cluster'}: {error}") from error


def _reach(address: str) -> None:
    """Raises OSError if nothing answers at an address HOST:PORT.  Other addresses, such as "auto", are not tried."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()


def _resources() -> Mapping[str, float]:
    look: Any = ray.cluster_resources
    found: Mapping[str, float] = look()
    return found


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
