"""Reads the data set of a sweep, and compares the plans of two."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Set
from typing import TYPE_CHECKING, Any

from .clusters import identity_of, without_secrets
from .errors import SweepError

if TYPE_CHECKING:
    import pyarrow


def read(
    out: str | os.PathLike[str],
    *,
    columns: list[str] | None = None,
    version: str | None = None,
    question: str | None = None,
    options: list[str] | None = None,
    current: bool = True,
) -> pyarrow.Table:
    """The rows of a data set.

    columns:  these alone; default: all.
    version, question: rows of this version of ebb or question alone.
    options:  adds a column for each of these options, such as a grid's, with its value or null.
    current:  of rows with the same cluster, time, question and version, only the newest: when a dump changes, the next
              sweep writes new rows beside the old ones.  False: all rows.
    Raises SweepError if there is no data set, or a file of it is broken.
    """
    return read_of(out, None, columns=columns, version=version, question=question, options=options, current=current)


def read_of(
    out: str | os.PathLike[str],
    asked: tuple[Set[tuple[bytes, int]], Set[str]] | None,
    *,
    columns: list[str] | None = None,
    version: str | None = None,
    question: str | None = None,
    options: list[str] | None = None,
    current: bool = True,
) -> pyarrow.Table:
    """As read().  asked: only rows of these clusters (identity and time), and of these questions (hash)."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from . import rows
    from .dataset import ABOUT, PARTITIONING, file_system, read_file

    place = without_secrets(os.fspath(out))
    files, root = file_system(os.fspath(out))
    schema = rows.schema()
    for name in rows.PARTITIONS:
        schema = schema.append(pa.field(name, pa.string()))
    wanted = [
        pc.field(name) == value
        for name, value in (("ebb_version", version), ("question", question))
        if value is not None
    ]
    condition = wanted[0] & wanted[-1] if wanted else None
    chosen = schema.names if columns is None else sorted({*columns, *(["options"] if options else [])})
    paths: list[str] = []
    try:
        paths = [path for path in files.find(root) if path.endswith(".parquet")]
        if not paths and not files.exists(posixpath.join(root, ABOUT)):
            raise SweepError(f"{place}: is not the data set of a sweep: it has no {ABOUT}")
        found = ds.dataset(
            paths, schema=schema, format="parquet", filesystem=files, partitioning=PARTITIONING, partition_base_dir=root
        )
        table = found.to_table(columns=sorted({*chosen, *_KEYS}), filter=condition)
    except (OSError, pa.ArrowInvalid) as error:
        for path in paths:
            read_file(files, path, [])  # Raises SweepError for the file that is broken.
        raise SweepError(f"{place}: {error}") from error
    if current or asked is not None:
        table = table.take(pa.array(_rows_of(table, asked, current), pa.int64()))
    table = table.select(chosen)
    return _with_options(table, options) if options else table


_KEYS = ("ebb_version", "cluster", "labels", "question_sha256", "now", "written")


def _rows_of(
    table: pyarrow.Table, asked: tuple[Set[tuple[bytes, int]], Set[str]] | None, current: bool
) -> list[int]:
    """The positions of these rows, in their order."""
    import pyarrow as pa

    identities: dict[tuple[Any, ...], bytes] = {}
    newest: dict[tuple[Any, ...], tuple[int, int]] = {}
    columns = [table[name].cast(pa.int64()) if name in ("now", "written") else table[name] for name in _KEYS]
    for at, row in enumerate(zip(*(column.to_pylist() for column in columns))):
        version, name, labels, question, now, written = row
        named = (name, *labels)
        identity = identities.get(named)
        if identity is None:
            identity = identities[named] = identity_of(name, dict(labels))
        if asked is not None and ((identity, now // 1000) not in asked[0] or question not in asked[1]):
            continue
        key = (version, identity, question, now) if current else (at,)
        order = (written or 0, at)
        newest[key] = max(newest.get(key, order), order)
    return sorted(at for _, at in newest.values())


def _with_options(table: pyarrow.Table, options: list[str]) -> pyarrow.Table:
    import json

    import pyarrow as pa

    found = [json.loads(text) for text in table["options"].to_pylist()]
    for option in options:
        table = table.append_column(option, pa.array([each.get(option) for each in found]))
    return table


def plan_changes(before: pyarrow.Table, after: pyarrow.Table) -> list[dict[str, Any]]:
    """The answers that differ between two tables of rows, such as of two versions of ebb.

    Answers to the same question about the same dump at the same time are compared.  An answer that only one table has
    differs too.  Each difference has cluster, labels, source, question, options, now, and `before` and `after`: the
    number of nodes that go, the text of the error, or None where there is no row.  Raises SweepError if no answers can be
    compared.
    """
    needed = [
        "cluster",
        "labels",
        "source",
        "question",
        "options",
        "now",
        "input_sha256",
        "question_sha256",
        "decision_sha256",
    ]
    needed += ["error_kind", "error", "removed"]
    sides = [{_question_of(row): row for row in table.select(needed).to_pylist()} for table in (before, after)]
    if sides[0] and sides[1] and not sides[0].keys() & sides[1].keys():
        raise SweepError(
            "the two tables have no question about the same dump at the same time; sweep both with the same `now`"
        )
    changes = []
    for key in sorted(sides[0].keys() | sides[1].keys(), key=repr):
        old, new = (side.get(key) for side in sides)
        if old is None or new is None or any(old[name] != new[name] for name in ("decision_sha256", "error_kind")):
            row = old or new or {}
            about = {name: row[name] for name in ("cluster", "labels", "source", "question", "options", "now")}
            changes.append({**about, "before": _outcome(old), "after": _outcome(new)})
    return changes


def _question_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["cluster"], tuple(row["labels"]), row["input_sha256"], row["question_sha256"], row["now"])


def _outcome(row: dict[str, Any] | None) -> Any:
    return None if row is None else row["error"] if row["error"] is not None else row["removed"]
