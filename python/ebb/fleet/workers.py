"""What a sweep needs from workers, wherever they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .answer import Answered, Piece

Work = Sequence[Piece]


@dataclass(frozen=True)
class Outcome:
    """What became of some work: it was answered, or the worker was lost while it answered, and why."""

    work: Work
    answered: Answered | None
    lost: str = ""


class Workers(Protocol):
    """Workers answer work in any order.  Threads: one."""

    def wants(self) -> bool:
        """Whether more work would keep a worker busy."""

    def give(self, work: Work) -> None:
        """Hands work over.  Its outcome comes from wait(), exactly once."""

    def wait(self, seconds: float) -> list[Outcome]:
        """Waits until there is an outcome, but not longer than this.  Raises SweepError if workers cannot work."""

    def busy(self) -> bool:
        """Whether there is work without an outcome."""

    def close(self) -> None:
        """Ends the workers, also in the middle of work."""

    @property
    def cores(self) -> int:
        """How much work runs at a time."""
