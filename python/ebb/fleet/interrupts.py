"""Signals that end a sweep: SIGINT (Ctrl-C), SIGTERM and SIGHUP.

The first signal ends the sweep at a place where no answer is lost, and further signals have no effect: rows are
written, and workers end.  SIGKILL and SIGQUIT end the process at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Handles the signals of this process, in its main thread.  A signal that is ignored (nohup) stays ignored.

    The handler that was there before acts: that of SIGINT raises KeyboardInterrupt.  A signal without a handler raises
    SystemExit with 128 + its number.

    received: the signal that ends the sweep.
    rows:     how many the sweep has written.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self.rows = 0
        self._pending: int | None = None
        self._is_deferred = False
        self._before: dict[int, Any] = {}

    def install(self) -> None:
        """Also again: a library, such as Ray, may have set handlers of its own."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in SIGNALS:
            found = signal.getsignal(number)
            if number not in self._before and found in (signal.SIG_IGN, None):
                continue
            self._before.setdefault(number, found)
            signal.signal(number, self._handle)

    def restore(self, ignore: bool) -> None:
        for number, before in self._before.items():
            signal.signal(number, signal.SIG_IGN if ignore else before)

    def check(self) -> None:
        """Lets the signal act that came while signals were deferred."""
        number, self._pending = self._pending, None
        if number is None or self.received is not None:
            return
        self.received = signal.Signals(number)
        before = self._before[number]
        if not callable(before):
            raise SystemExit(128 + number)
        before(number, None)
        self.received = None  # The program goes on.

    @contextmanager
    def deferred(self, deferred: bool = True) -> Iterator[None]:
        """A signal in this block acts at the next check().  With False: it acts at once."""
        outer, self._is_deferred = self._is_deferred, deferred
        try:
            if not deferred:
                self.check()
            yield
        finally:
            self._is_deferred = outer

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self._pending is None:
            self._pending = number
        if not self._is_deferred:
            self.check()


_current: Interrupts | None = None


@contextmanager
def interrupts(last: bool = False) -> Iterator[Interrupts]:
    """The handling of signals for this block; an inner block has that of the outer one.

    last: the process ends after this block, so after a signal further ones are ignored.
    """
    global _current
    if _current is not None:
        yield _current
        return
    made = _current = Interrupts()
    try:
        made.install()
        yield made
    finally:
        _current = None
        made.restore(ignore=last and made.received is not None)
