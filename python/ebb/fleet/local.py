"""Workers as processes of this machine.

Each worker has a socket of its own.  So it is known what a worker that dies was working on, and no lock and no queue
that others use can be left broken.  Processes are started from anew and not forked: a fork would copy locks that
threads hold, and would run a script without `if __name__ == "__main__"` again.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait

from .errors import SweepError
from .interrupts import SIGNALS
from .questions import Question
from .worker import READY
from .workers import Outcome, Work

# Work that a worker has: what it answers now, and what it can begin without waiting for the sweep.
_WORK_PER_WORKER = 2
# So many workers in a row that die before they are ready end the sweep.
_FAILED_STARTS_MAX = 3


class LocalWorkers:
    def __init__(
        self,
        count: int,
        asked: Sequence[Question],
        version: str,
        memory_max: int | None,
        answer_seconds_max: float | None,
    ) -> None:
        self._answer_seconds_max = answer_seconds_max
        self._setup = (list(asked), version, memory_max)
        self._failed_starts = 0
        self._workers = [_Worker(self._setup) for _ in range(count)]

    @property
    def cores(self) -> int:
        return len(self._workers)

    def wants(self) -> bool:
        return any(len(worker.work) < _WORK_PER_WORKER for worker in self._workers)

    def busy(self) -> bool:
        return any(worker.work for worker in self._workers)

    def give(self, work: Work) -> None:
        min(self._workers, key=lambda worker: len(worker.work)).give(work)

    def wait(self, seconds: float) -> list[Outcome]:
        by_connection = {worker.connection: worker for worker in self._workers}
        outcomes = []
        for connection in wait(list(by_connection), seconds):
            worker = by_connection[connection]  # type: ignore[index]
            try:
                received = worker.connection.recv()
            except (EOFError, ConnectionError):
                outcomes += self._replace_lost(worker)
                continue
            worker.begun_at = time.monotonic()
            if received == READY:
                worker.ready = True
                self._failed_starts = 0
                continue
            outcomes.append(Outcome(worker.work.popleft(), received))
            if received.exhausted:
                self._replace(worker)
        return outcomes + self._end_slow()

    def close(self) -> None:
        for worker in self._workers:
            worker.end()

    def _end_slow(self) -> list[Outcome]:
        outcomes = []
        if self._answer_seconds_max is not None:
            for worker in list(self._workers):
                answers = sum(len(piece.questions) for piece in worker.work[0]) if worker.work else 0
                limit = self._answer_seconds_max * answers
                if worker.ready and answers and time.monotonic() - worker.begun_at > limit:
                    why = f"the worker gave no answer within {limit:g} s"
                    outcomes.append(Outcome(worker.work.popleft(), None, why))
                    self._replace(worker)
        return outcomes

    def _replace_lost(self, worker: _Worker) -> list[Outcome]:
        why = worker.how_it_ended()
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= _FAILED_STARTS_MAX:
                raise SweepError(f"workers do not start: {why} before it was ready")
        lost = [Outcome(worker.work.popleft(), None, why)] if worker.ready and worker.work else []
        self._replace(worker)
        return lost

    def _replace(self, worker: _Worker) -> None:
        """A new worker gets the work that this one had not begun."""
        worker.end()
        new = self._workers[self._workers.index(worker)] = _Worker(self._setup)
        for work in worker.work:
            new.give(work)


class _Worker:
    def __init__(self, setup: object) -> None:
        self.work: deque[Work] = deque()
        self.ready = False
        self.begun_at = 0.0  # When it began its first work.
        self._process, self.connection = start_process("ebb.fleet.worker")
        self._send(setup)

    def give(self, work: Work) -> None:
        if not self.work:
            self.begun_at = time.monotonic()
        self.work.append(work)
        self._send(work)

    def end(self) -> None:
        """Ends the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        self.connection.close()

    def how_it_ended(self) -> str:
        """REQUIRES: the socket is closed at its other end, so the process has ended or is about to."""
        return f"the worker process {self._process.pid} {_how(self._process.wait())}"

    def _send(self, message: object) -> None:
        try:
            self.connection.send(message)
        except (BrokenPipeError, ConnectionError):
            pass  # The worker is gone; wait() receives that.


def start_process(module: str) -> tuple[subprocess.Popen[bytes], Connection]:
    """`python -m MODULE FD`, with our end of the socket FD.  Signals that end the sweep are blocked in the process."""
    ours, theirs = socket.socketpair()
    # The process finds modules where this one does.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    command = [sys.executable, "-m", module, str(theirs.fileno())]
    with theirs:
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return process, Connection(ours.detach())


def _how(code: int) -> str:
    if code == -signal.SIGKILL:
        return "was killed (SIGKILL), as the kernel does when memory is exhausted"
    return f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with code {code}"
