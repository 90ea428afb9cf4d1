"""One line about how far a sweep is, on stderr: rewritten on a terminal, else now and then a new one."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass

_TERMINAL_SECONDS = 0.2
_LINES_SECONDS = 10.0


@dataclass
class Counts:
    """answered: rows made, with errors.  had_row: nothing was to be done for these."""

    total: int | None
    answered: int = 0
    had_row: int = 0
    errors: int = 0
    workers_lost: int = 0


class Progress:
    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._terminal = shown and sys.stderr.isatty()
        self._begin = time.monotonic()
        self._last = self._begin if not self._terminal else float("-inf")

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begin

    def show(self, counts: Counts, cores: int, end: bool = False) -> None:
        now = time.monotonic()
        wait = _TERMINAL_SECONDS if self._terminal else _LINES_SECONDS
        if not self._shown or (now - self._last < wait and not end):
            return
        self._last = now
        text = "ebb: " + line(counts, self.seconds, cores)
        with suppress(OSError):  # The terminal may be gone.
            sys.stderr.write("\r\x1b[K" + text + ("\n" if end else "") if self._terminal else text + "\n")
            sys.stderr.flush()


def line(counts: Counts, seconds: float, cores: int) -> str:
    done = counts.answered + counts.had_row
    rate = counts.answered / seconds if seconds > 0 else 0.0
    parts = [
        f"{done:,} of {counts.total:,} answers ({done * 100 // max(counts.total, 1)}%)"
        if counts.total is not None
        else f"{done:,} answers"
    ]
    if counts.had_row:
        parts.append(f"{counts.had_row:,} had a row")
    parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s")
    if counts.total is not None and counts.answered and done < counts.total:
        parts.append(f"{_duration((counts.total - done) / rate)} left")
    if counts.errors:
        parts.append(f"{counts.errors:,} error{'s' if counts.errors != 1 else ''}")
    if counts.workers_lost:
        parts.append(f"{counts.workers_lost:,} worker{'s' if counts.workers_lost != 1 else ''} lost")
    if cores == 0:
        parts.append("waiting for cores")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
