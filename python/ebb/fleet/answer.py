"""What a worker does, wherever it runs: answers pieces of the grid and returns rows.

A piece is one cluster with some of the questions.  The worker reads the dump, and loads it once for all questions.
"""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import rows
from .clusters import Generated, Source, is_url, readable
from .questions import Question


class NotAFileError(OSError):
    """A glob matched a FIFO, a device or a folder."""


@dataclass(frozen=True)
class Piece:
    """One cluster, with questions by their position.

    done: which questions have a row already, by the hash of the dump; bit N is questions[N] of the sweep.
    """

    source: Source
    now: int
    questions: tuple[int, ...]
    done: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Answered:
    """The rows of some pieces, as an Arrow stream, and how many questions had a row already.

    version:    ebb's, in the worker.
    exhausted:  memory was; the worker should be replaced.
    """

    stream: bytes
    count: int
    errors: int
    skipped: int
    version: str
    exhausted: bool = False


def version() -> str:
    """ebb's version and commit, as the data set has them: "0.1.0-184c3a8a8f21"."""
    import ebb

    text, commit = ebb.version_info
    return f"{text}-{commit[:12]}{'-dirty' if commit.endswith('-dirty') else ''}" if commit else text


def answer(pieces: Sequence[Piece], asked: Sequence[Question], expected_version: str) -> Answered:
    """Answers all pieces.  With another version of ebb than the expected one it answers nothing."""
    if version() != expected_version:
        return Answered(b"", 0, 0, 0, version())
    made: list[dict[str, Any]] = []
    skipped = 0
    exhausted = False
    for piece in pieces:
        got, skipped_here, exhausted_here = _answer_piece(piece, asked)
        made += got
        skipped += skipped_here
        exhausted |= exhausted_here
    errors = sum(row.get("error_kind") is not None for row in made)
    return Answered(stream_of(made) if made else b"", len(made), errors, skipped, version(), exhausted)


def error_row(piece: Piece, question: Question, kind: str, message: str) -> dict[str, Any]:
    return {**_about(piece, question), "error_kind": kind, "error": message}


def stream_of(made: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows as an Arrow stream, with the column `question`."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    schema = rows.schema().append(pa.field("question", pa.string()))
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_pylist(list(made), schema))
    return bytes(sink.getvalue().to_pybytes())


def _about(piece: Piece, question: Question) -> dict[str, Any]:
    return {
        "cluster": piece.source.name,
        "labels": sorted(piece.source.labels.items()),
        "source": piece.source.place,
        "question": question.name,
        "question_sha256": question.sha256,
        "ask": question.ask,
        "options": question.shown_options,
        "now": piece.now * 1000,
        "worker": f"{platform.node()}/{os.getpid()}",
    }


def _answer_piece(piece: Piece, asked: Sequence[Question]) -> tuple[list[dict[str, Any]], int, bool]:
    """The rows, the number of questions that have a row already, and whether memory was exhausted."""
    import ebb

    begin = time.perf_counter()
    about: dict[str, Any] = {}
    missing = list(piece.questions)
    try:
        # No name of this frame may keep the dump's bytes after loading: they are as large as the cluster.
        dump, sha256, size = _read(piece.source)
        about = {"input_sha256": sha256, "input_bytes": size}
        done = piece.done.get(sha256, 0)
        missing = [at for at in piece.questions if not done >> at & 1]
        if not missing:
            return [], len(piece.questions), False
        cluster = _load(dump, piece)
        del dump
    except Exception as error:  # Each file system raises its own.
        message = _message(error, piece.source)
        made = [error_row(piece, asked[at], type(error).__name__, message) | about for at in missing]
        return made, len(piece.questions) - len(missing), isinstance(error, (MemoryError, ebb.LimitError))
    about["load_seconds"] = time.perf_counter() - begin
    made = []
    exhausted = False
    for at in missing:
        row = _about(piece, asked[at]) | about
        begin = time.perf_counter()
        try:
            row |= rows.figures(asked[at], ask(cluster, asked[at]))
        except Exception as error:
            exhausted |= isinstance(error, (MemoryError, ebb.LimitError))
            row |= {"error_kind": type(error).__name__, "error": _message(error, piece.source)}
        row["answer_seconds"] = time.perf_counter() - begin
        made.append(row)
    cluster.close()
    return made, len(piece.questions) - len(missing), exhausted


def _message(error: BaseException, source: Source) -> str:
    message = str(error) or type(error).__name__
    return readable(message.replace(source.dump, source.place) if isinstance(source.dump, str) else message)


def _read(source: Source) -> tuple[Any, str, int]:
    """The dump, its hash and its size.  A generated cluster is as good as its description."""
    dump = source.dump
    if isinstance(dump, Generated):
        return dump, hashlib.sha256(source.place.encode()).hexdigest(), 0
    if isinstance(dump, str):
        if is_url(dump):
            import fsspec

            with fsspec.open(dump, "rb") as file:
                data = file.read()
        else:
            with open(dump, "rb", opener=_open_regular if source.matched else None) as file:
                data = file.read()
    else:
        data = dump
    return data, hashlib.sha256(data).hexdigest(), len(data)


def _open_regular(path: str, flags: int) -> int:
    """An opener that waits for no writer of a FIFO, and refuses what is not a file."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotAFileError(f"{path}: is not a regular file")
    return descriptor


def _load(dump: Any, piece: Piece) -> Any:
    import ebb

    if isinstance(dump, Generated):
        kind: Any = dump.kind  # generate() checks it.
        return ebb.generate(kind, dump.nodes, dump.seed, options={"now": piece.now})
    return ebb.Cluster.load(dump, now=piece.now)


def ask(cluster: Any, question: Question) -> Any:
    """The answer of an ebb.Cluster as JSON, in bytes."""
    options = dict(question.options)
    if question.ask == "what_if":
        return cluster.what_if(question.changes, then=question.then, **options).json
    if question.ask == "blockers":
        limit = {} if question.limit is None else {"limit": question.limit}
        return cluster.blockers(**limit, **options).json
    if question.ask == "frontier":
        return cluster.frontier(**options).json
    return cluster.plan(**options).json
