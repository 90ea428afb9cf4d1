"""Workers as tasks of a Ray cluster, each with one core.

A task gets pieces, and its worker reads the dumps itself; only rows come back.  Ray does not repeat tasks itself
(max_retries=0): the sweep does, so that it can narrow down which question a worker is lost with.
"""

from __future__ import annotations

import logging
import os
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

    @property
    def cores(self) -> int:
        if time.monotonic() - self._looked_at > _CORES_LOOK_SECONDS:
            self._looked_at = time.monotonic()
            self._cores = int(_resources().get("CPU", 0))
        return self._cores if self._count is None else self._count

    def wants(self) -> bool:
        most = max(_TASKS_MIN, _TASKS_PER_CORE * self.cores) if self._count is None else self._count
        return len(self._running) < most

    def busy(self) -> bool:
        return bool(self._running)

    def give(self, work: Work) -> None:
        self._running[self._task.remote(work, self._setup)] = work

    def wait(self, seconds: float) -> list[Outcome]:
        running = list(self._running)
        ready, _ = ray.wait(running, num_returns=1, timeout=seconds)
        if ready:
            ready, _ = ray.wait(running, num_returns=len(running), timeout=0)
        return [self._outcome(reference) for reference in ready]

    def close(self) -> None:
        for reference in self._running:
            ray.cancel(reference, force=True)
        self._running.clear()
        if self._own:
            ray.shutdown()

    def _outcome(self, reference: Any) -> Outcome:
        work = self._running.pop(reference)
        try:
            return Outcome(work, ray.get(reference))
        except ray.exceptions.RayTaskError as error:
            raise SweepError(
                f"a Ray task failed: {error}; is ebb[sweep] installed on every node of the cluster?"
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
    try:
        ray.init(address=address or "local", logging_level=logging.WARNING, log_to_driver=False, **own)
    except (ConnectionError, ValueError) as error:
        raise SweepError(f"ray: {address or 'a new cluster'}: {error}") from error


def _resources() -> Mapping[str, float]:
    look: Any = ray.cluster_resources
    found: Mapping[str, float] = look()
    return found


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
