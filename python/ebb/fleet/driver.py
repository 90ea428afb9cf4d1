"""ebb.sweep: cuts the grid into pieces of work, gives them to workers, and writes their rows."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .answer import Answered, Piece, error_row, stream_of, version
from .clusters import Source, sources, unix_seconds
from .errors import SweepError
from .interrupts import Interrupts, interrupts
from .progress import Counts, Progress
from .questions import Question, questions as questions_of
from .read import read_of
from .workers import Outcome, Work, Workers

if TYPE_CHECKING:
    import pyarrow

    from .dataset import DataSet

# Work has about so many answers: few enough that workers end at about the same time, and enough that handing it over
# costs little.
_ANSWERS_PER_WORK = 32
# With so many pieces of work for each core, the last ones leave no core idle for long.
_WORK_PER_CORE = 8
# Rows are written after this long, later after this share of the time so far, so that files stay few; and after this
# many bytes.
_WRITE_SECONDS = 60.0
_WRITE_SHARE = 0.05
_WRITE_BYTES = 64 << 20
_RAY_KEYS = {"address", "object_store_memory"}


@dataclass(frozen=True)
class Result:
    """What a sweep did.  answered counts rows that it wrote, had_row those that were there before."""

    out: str
    version: str
    answered: int
    had_row: int
    errors: int
    workers_lost: int
    seconds: float
    asked_clusters: frozenset[tuple[bytes, int]] = field(default=frozenset(), repr=False)
    asked_questions: frozenset[str] = field(default=frozenset(), repr=False)

    def table(self, **arguments: Any) -> pyarrow.Table:
        """One row for each cluster and question of this sweep, also if an earlier one wrote it.

        Arguments as of ebb.fleet.read, which gives all rows of the data set.
        """
        return read_of(self.out, (self.asked_clusters, self.asked_questions), version=self.version, **arguments)


def sweep(
    clusters: Any,
    questions: Any,
    where: str = "local",
    *,
    out: str | os.PathLike[str],
    options: Mapping[str, Any] | None = None,
    now: Any = None,
    workers: int | None = None,
    retries: int = 2,
    memory_max: int | None = None,
    answer_seconds_max: float | None = None,
    add_version: bool = False,
    progress: bool = True,
    ray: Mapping[str, Any] | None = None,
    folder: str = "",
) -> Result:
    """Asks every question of every cluster, and writes a row for each into the Parquet data set `out`.

    Pairs of cluster and question that have a row already are skipped: rows count as the same if the bytes of the dump,
    the cluster's name and labels, the question, the time and ebb's version are.  If only the bytes differ, the new row is
    the current one (read.py).  Rows with an error that may pass (a file
    that is not there, a lost worker, memory) are tried again.

    clusters:   a path, glob, URL, bytes, Generated, Source or mapping, or an iterable of these.  An iterator is read
                lazily; then the number of answers is unknown until it ends.
    questions:  a mapping from names to descriptions, or a list of these or of Questions; docs/fleet.md has the fields.
    where:      "local": processes of this machine.  "ray": tasks of a Ray cluster.  The rows are the same.
    out:        a folder, or an fsspec URL.
    options:    of every question, under its own.
    now:        the time to plan for; a cluster's own time goes before.  Default: when the data set was made.
    workers:    processes or tasks at a time; default: one a core.
    retries:    how often a question is tried again with which a worker was lost, before it gets a row with the error.
    memory_max: bytes for a worker.  Beyond them a local worker's question has the error LimitError or MemoryError, and
                Ray starts no more tasks on a machine than have room.
    answer_seconds_max: a local worker that takes longer for an answer is lost.  Default: no limit.
    add_version: allows rows beside those of another version of ebb.
    progress:   a line on stderr.
    ray:        address, object_store_memory (on_ray.py).
    folder:     relative paths of files of questions begin here.

    Raises SweepError before the first task if a question, an option, a pattern or the data set is wrong, and later if rows
    cannot be written.  Rows that were written by then stay.  SIGINT, SIGTERM and SIGHUP end the sweep after its rows are written, by
    KeyboardInterrupt or SystemExit (interrupts.py).
    """
    _needs_packages("ebb.sweep")
    from .dataset import DataSet

    with interrupts() as signals:
        grid = _grid(
            clusters, questions, where, out, options, now, workers, retries, memory_max, answer_seconds_max, ray, folder
        )
        expected = version()
        data = DataSet(grid.out, expected, add_version, int(time.time()))
        try:
            done = data.done(grid.asked)
            team = _workers(where, workers, grid.asked, expected, memory_max, answer_seconds_max, ray or {}, signals)
            try:
                at = _Pieces(grid, data.now, done)
                total = None if grid.known is None else grid.known * len(grid.asked)
                run = _Run(team, data, grid.asked, expected, retries, Counts(total), Progress(progress), signals)
                run.run(_work(iter(at), grid.known, len(grid.asked), team.cores))
            finally:
                team.close()
        finally:
            data.close()
        counts = run.counts
        return Result(
            grid.out,
            expected,
            counts.answered,
            counts.had_row,
            counts.errors,
            counts.workers_lost,
            run.progress.seconds,
            frozenset(at.seen),
            frozenset(question.sha256 for question in grid.asked),
        )


def count(
    clusters: Any,
    questions: Any,
    where: str = "local",
    *,
    out: str | os.PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    now: Any = None,
    workers: int | None = None,
    retries: int = 2,
    memory_max: int | None = None,
    answer_seconds_max: float | None = None,
    add_version: bool = False,
    ray: Mapping[str, Any] | None = None,
    folder: str = "",
) -> tuple[int, int]:
    """Checks what sweep() checks before the first task, and returns the numbers of clusters and of questions.

    Writes nothing.  Without `out` the data set is not checked.  Raises SweepError.
    """
    _needs_packages("ebb.sweep")
    from . import dataset

    grid = _grid(
        clusters, questions, where, out, options, now, workers, retries, memory_max, answer_seconds_max, ray, folder
    )
    if out is not None:
        dataset.check(grid.out, version(), add_version)
    return sum(1 for _ in grid.found) if grid.known is None else grid.known, len(grid.asked)


@dataclass(frozen=True)
class _Grid:
    """Arguments of sweep(), checked.  known: the number of clusters, if it is known."""

    asked: Sequence[Question]
    found: Iterable[Source]
    known: int | None
    now: int | None
    out: str


def _grid(
    clusters: Any,
    questions: Any,
    where: str,
    out: str | os.PathLike[str] | None,
    options: Mapping[str, Any] | None,
    now: Any,
    workers: int | None,
    retries: int,
    memory_max: int | None,
    answer_seconds_max: float | None,
    ray: Mapping[str, Any] | None,
    folder: str,
) -> _Grid:
    if where not in ("local", "ray"):
        raise SweepError(f"where: {where!r} is not 'local' or 'ray'")
    for name, value, least in (("workers", workers, 1), ("retries", retries, 0), ("memory_max", memory_max, 1)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise SweepError(f"{name}: {value!r} is not a number from {least}")
    limit = answer_seconds_max
    if limit is not None:
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < float("inf"):
            raise SweepError(f"answer_seconds_max: {limit!r} is not a number of seconds above 0")
        if where != "local":
            raise SweepError("answer_seconds_max: only for where: local")
    if out is not None and not os.fspath(out):
        raise SweepError("out: is empty")
    unknown = set(ray or {}) - _RAY_KEYS
    if unknown:
        raise SweepError(f"ray: unknown field {min(unknown)!r}; known: {', '.join(sorted(_RAY_KEYS))}")
    asked = questions_of(questions, options, folder)
    found: Iterable[Source] = _unique(sources(clusters))
    known = None
    if not isinstance(clusters, Iterator):
        found = list(found)
        known = len(found)
    return _Grid(
        asked, found, known, None if now is None else unix_seconds(now, "now"), "" if out is None else os.fspath(out)
    )


def _needs_packages(what: str) -> None:
    try:
        import fsspec  # noqa: F401
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        raise SweepError(
            f"{what} needs the package {error.name}: pip install fsspec pyarrow pyyaml (the extra [sweep] of ebb's wheel)"
        ) from error


def _workers(
    where: str,
    count: int | None,
    asked: Sequence[Question],
    expected: str,
    memory_max: int | None,
    answer_seconds_max: float | None,
    ray: Mapping[str, Any],
    signals: Interrupts,
) -> Workers:
    if where == "ray":
        if importlib.util.find_spec("ray") is None:
            raise SweepError('where: "ray" needs the package ray: pip install ray')
        loaded = sys.modules.get("ray")
        if loaded is None or not loaded.is_initialized():
            from .ray_process import RayProcess

            return RayProcess(count, asked, expected, memory_max, ray)
        from .on_ray import RayWorkers  # Of the connection that the caller made.

        on_ray = RayWorkers(count, asked, expected, memory_max, ray)
        signals.install()  # Over those of Ray.
        return on_ray
    from .local import LocalWorkers

    with signals.deferred():
        return LocalWorkers(
            count or len(os.sched_getaffinity(0)), asked, expected, memory_max, answer_seconds_max=answer_seconds_max
        )


def _unique(found: Iterable[Source]) -> Iterator[Source]:
    """Raises SweepError for two clusters of the same name and labels: their rows could not be told apart."""
    seen: dict[bytes, str] = {}
    for source in found:
        identity = source.identity
        if identity in seen:
            raise SweepError(
                f"clusters: {seen[identity]} and {source.place} are both named {source.name!r}; name them by a placeholder, such as"
                " dumps/{cluster}/{time}.pb, or by name or labels"
            )
        seen[identity] = source.place
        yield source


class _Pieces:
    """A piece for each cluster.  seen: clusters and times of the pieces until now."""

    def __init__(self, grid: _Grid, now: int, done: Mapping[tuple[bytes, int], Mapping[str, int]]) -> None:
        self.seen: set[tuple[bytes, int]] = set()
        self._grid = grid
        self._now = now if grid.now is None else grid.now
        self._done = done

    def __iter__(self) -> Iterator[Piece]:
        everything = tuple(range(len(self._grid.asked)))
        for source in self._grid.found:
            key = (source.identity, self._now if source.now is None else source.now)
            self.seen.add(key)
            yield Piece(source, key[1], everything, self._done.get(key, {}))


def _work(pieces: Iterable[Piece], clusters: int | None, asked: int, cores: int) -> Iterator[Work]:
    """Joins pieces of few questions, and cuts those of many if there are fewer clusters than cores need."""
    wanted = _WORK_PER_CORE * max(cores, 1)
    if clusters is not None and clusters < wanted:
        parts = min(asked, -(-wanted // max(clusters, 1)))
        for piece in pieces:
            for part in range(parts):
                yield [replace(piece, questions=piece.questions[part::parts])]
        return
    most = max(_ANSWERS_PER_WORK // asked, 1)
    if clusters is not None:
        most = max(min(most, clusters // wanted), 1)
    work: list[Piece] = []
    for piece in pieces:
        work.append(piece)
        if len(work) == most:
            yield work
            work = []
    if work:
        yield work


class _Run:
    def __init__(
        self,
        team: Workers,
        data: DataSet,
        asked: Sequence[Question],
        expected: str,
        retries: int,
        counts: Counts,
        progress: Progress,
        signals: Interrupts,
    ) -> None:
        self.counts = counts
        self.progress = progress
        self._team = team
        self._signals = signals
        self._data = data
        self._asked = asked
        self._expected = expected
        self._retries = retries
        self._again: deque[Work] = deque()
        self._losses: dict[tuple[bytes, int, int], int] = {}
        self._streams: list[bytes] = []
        self._written_at = 0.0

    def run(self, work: Iterator[Work]) -> None:
        with self._signals.deferred():
            try:
                while self._give(work) or self._team.busy():
                    for outcome in self._team.wait(0.2):
                        self._take(outcome)
                    self._write_if_due()
                    self.progress.show(self.counts, self._team.cores)
                    self._signals.check()
            except SweepError:
                self._signals.check()  # A signal to all processes may have been the cause.
                raise
            finally:
                self._write()  # Also when the sweep is interrupted.
                self.progress.show(self.counts, self._team.cores, end=True)

    def _give(self, work: Iterator[Work]) -> bool:
        """Hands work over while workers want it.  Returns whether any was handed over."""
        gave = False
        while self._team.wants():
            next_work = self._again.popleft() if self._again else self._next(work)
            if next_work is None:
                break
            self._team.give(next_work)
            gave = True
        return gave

    def _next(self, work: Iterator[Work]) -> Work | None:
        with self._signals.deferred(False):  # The caller's iterator may take any time.
            return next(work, None)

    def _take(self, outcome: Outcome) -> None:
        if outcome.answered is None:
            self._lost(outcome.work, outcome.lost)
            return
        answered: Answered = outcome.answered
        if answered.version != self._expected:
            raise SweepError(
                f"a worker has ebb {answered.version}, and this is ebb {self._expected}; no row of it was taken"
            )
        self.counts.answered += answered.count
        self.counts.had_row += answered.skipped
        self.counts.errors += answered.errors
        if answered.stream:
            self._streams.append(answered.stream)

    def _lost(self, work: Work, why: str) -> None:
        """Asks again, question by question, so that the one with which workers are lost is found."""
        self.counts.workers_lost += 1
        if len(work) > 1 or len(work[0].questions) > 1:
            self._again.extend([replace(piece, questions=(at,))] for piece in work for at in piece.questions)
            return
        piece = work[0]
        key = (piece.source.identity, piece.now, piece.questions[0])
        self._losses[key] = self._losses.get(key, 0) + 1
        if self._losses[key] <= self._retries:
            self._again.append(work)
            return
        question = self._asked[piece.questions[0]]
        self._streams.append(stream_of([error_row(piece, question, "WorkerLost", f"{why}, {self._losses[key]} times")]))
        self.counts.answered += 1
        self.counts.errors += 1

    def _write_if_due(self) -> None:
        due = self._written_at + max(_WRITE_SECONDS, _WRITE_SHARE * self.progress.seconds)
        if self.progress.seconds >= due or sum(map(len, self._streams)) >= _WRITE_BYTES:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa

        self._written_at = self.progress.seconds
        streams, self._streams = self._streams, []
        if streams:
            table = pa.concat_tables(pa.ipc.open_stream(stream).read_all() for stream in streams).combine_chunks()
            self._data.write(table)
            self._signals.rows += table.num_rows
