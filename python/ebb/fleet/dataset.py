"""The data set of a sweep: which rows it has, and how rows get in.

    OUT/_sweep.json                                         the time of the sweep, and the version of the columns
    OUT/ebb_version=0.1.0-184c3a8a8f21/question=today/rows-001764371234567-….parquet
    OUT/ebb_version=0.1.0-184c3a8a8f21/question=today/errors-….parquet       errors that a later sweep tries again

A file is complete when it gets its name: it is written under another name, fsynced and renamed.  So the data set can
be read at any time, and a crash or a full disk loses only rows that have no file yet; the next sweep answers these.

The number in a file's name is the column `written` of its rows, the time of the sweep in ms.  Of the rows with the same
cluster (name and labels), time, question and version of ebb, the newest is the current one; the others are of dumps that
the cluster had before.  A row of errors-….parquet leaves the data set before the row that replaces it comes in.
"""

from __future__ import annotations

import io
import json
import os
import posixpath
import re
import time
import uuid
from collections.abc import Sequence
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from . import rows
from .clusters import identity_of, readable, without_secrets
from .errors import SweepError
from .questions import Question

# Errors that the same dump, question and version give again.
FINAL_ERRORS = frozenset({"IncompleteError", "InputError", "NotFoundError", "OptionError"})
_TEMPORARY = ".writing-"
ABOUT = "_sweep.json"
PARTITIONING = ds.partitioning(pa.schema([(name, pa.string()) for name in rows.PARTITIONS]), flavor="hive")


class DataSet:
    """A data set that one sweep writes.

    Threads: one.  Another process that writes to the same local folder is an error; of other file systems it is not
    noticed.
    """

    def __init__(self, out: str, version: str, add_version: bool, now: int) -> None:
        """Opens or makes the data set.  `now`: its time, if it is new.

        Raises SweepError if the folder has something else, or rows of other versions and not add_version.
        """
        self.out = without_secrets(out)
        self.version = version
        self._files, self._root = file_system(out)
        self._local = isinstance(self._files, LocalFileSystem)
        self._lock: Any = None
        self._written = time.time_ns() // 1_000_000
        # Files with errors that are to be tried again, by cluster and question.
        self._errors: dict[tuple[bytes, str], str] = {}
        try:
            self.now = self._open(add_version, now)
        except OSError as error:
            self.close()
            raise SweepError(f"{self.out}: {error}") from error

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def done(self, asked: Sequence[Question]) -> dict[tuple[bytes, int], dict[str, int]]:
        """By cluster and time, and then by the hash of the dump: which questions have a current row; bit N is asked[N].

        Rows of this sweep will be newer than all others, whatever the clock says.
        """
        at = {question.sha256: index for index, question in enumerate(asked)}
        done: dict[tuple[bytes, int], dict[str, int]] = {}
        columns = ["cluster", "labels", "input_sha256", "now", "question_sha256"]
        paths = sorted(self._paths(), key=_written_of)
        if paths:
            self._written = max(self._written, _written_of(paths[-1]) + 1)
        for path in paths:
            errors = posixpath.basename(path).startswith("errors-")
            table = read_file(self._files, path, columns)
            table = table.filter(pc.is_in(table["question_sha256"], pa.array(list(at))))
            table = table.set_column(table.schema.get_field_index("now"), "now", table["now"].cast(pa.int64()))
            for cluster, labels, sha256, now, question in zip(*(table[name].to_pylist() for name in columns)):
                identity = identity_of(cluster, dict(labels))
                by_hash = done.setdefault((identity, now // 1000), {})
                for older in by_hash:
                    by_hash[older] &= ~(1 << at[question])
                if errors:
                    self._errors[identity, question] = path
                else:
                    by_hash[sha256] = by_hash.get(sha256, 0) | 1 << at[question]
        return done

    def write(self, table: pa.Table) -> None:
        """Adds rows, which have the column `question` besides those of rows.schema()."""
        written = pa.array([self._written] * table.num_rows, pa.timestamp("ms", "UTC"))
        table = table.set_column(table.schema.get_field_index("written"), "written", written)
        again = pc.and_(
            pc.is_valid(table["error_kind"]), pc.invert(pc.is_in(table["error_kind"], pa.array(sorted(FINAL_ERRORS))))
        )
        try:
            self._drop_errors(table)
            for name in pc.unique(table["question"]).to_pylist():
                of_question = pc.equal(table["question"], name)
                for prefix, chosen in (("rows", pc.invert(again)), ("errors", again)):
                    part = table.filter(pc.and_(of_question, chosen)).drop_columns(["question"])
                    if part.num_rows:
                        self._put(f"{self._folder(name)}/{prefix}-{self._written:015}-{uuid.uuid4().hex}.parquet", _parquet(part))
        except OSError as error:
            raise SweepError(
                f"{self.out}: {error}; the rows that were written before stay readable, and the same sweep answers what is missing"
            ) from error

    def _open(self, add_version: bool, now: int) -> int:
        # Nothing is made in a folder that is refused.
        found = _check(self._files, self._root, self.out, self.version, add_version)
        if self._local:
            os.makedirs(self._root, exist_ok=True)
            self._take_lock()
            found = _check(self._files, self._root, self.out, self.version, add_version)
        if found is None:
            about = posixpath.join(self._root, ABOUT)
            self._put(about, json.dumps({"schema": rows.SCHEMA_VERSION, "now": now}).encode())
            return now
        self._clean()
        return found

    def _take_lock(self) -> None:
        import fcntl

        self._lock = open(os.path.join(self._root, "_lock"), "w")  # noqa: SIM115: closed by close().
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise SweepError(f"{self.out}: another sweep writes to it") from None

    def _clean(self) -> None:
        """Deletes what a crashed sweep left unfinished."""
        if self._local:
            for folder, _, names in os.walk(self._root):
                for name in names:
                    if name.startswith(_TEMPORARY):
                        os.remove(os.path.join(folder, name))

    def _folder(self, question: str) -> str:
        return posixpath.join(self._root, f"ebb_version={self.version}", f"question={question}")

    def _paths(self) -> list[str]:
        """The files with rows of this version."""
        folder = posixpath.join(self._root, f"ebb_version={self.version}")
        return (
            [path for path in self._files.find(folder) if path.endswith(".parquet")]
            if self._files.exists(folder)
            else []
        )

    def _drop_errors(self, table: pa.Table) -> None:
        """Deletes the rows with errors that rows of `table` replace."""
        if not self._errors:
            return
        gone: dict[str, set[tuple[bytes, str]]] = {}
        for key in _keys(table):
            path = self._errors.pop(key, None)
            if path is not None:
                gone.setdefault(path, set()).add(key)
        for path, keys in gone.items():
            old = read_file(self._files, path)
            kept = old.filter(pa.array([key not in keys for key in _keys(old)]))
            if kept.num_rows:
                self._put(path, _parquet(kept))
            else:
                self._files.rm_file(path)

    def _put(self, path: str, data: bytes) -> None:
        """Writes a whole file or none."""
        if not self._local:
            self._files.pipe_file(path, data)  # Object stores show a file when it is complete.
            return
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        temporary = os.path.join(folder, _TEMPORARY + uuid.uuid4().hex)
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.remove(temporary)
            raise


def check(out: str, version: str, add_version: bool) -> None:
    """Raises SweepError if DataSet() would, apart from a sweep that runs.  Changes nothing."""
    files, root = file_system(out)
    try:
        _check(files, root, without_secrets(out), version, add_version)
    except OSError as error:
        raise SweepError(f"{without_secrets(out)}: {error}") from error


def file_system(out: str) -> tuple[Any, str]:
    try:
        files, root = fsspec.core.url_to_fs(out)
    except (ImportError, ValueError) as error:  # ImportError names the package of the file system.
        raise SweepError(f"{without_secrets(out)}: {error}") from error
    return files, root


def read_file(files: Any, path: str, columns: list[str] | None = None) -> pa.Table:
    """The columns that a file has.  Raises SweepError if it is not a whole file of Parquet."""
    try:
        with files.open(path, "rb") as file:
            parquet = pq.ParquetFile(file)
            return parquet.read(columns)
    except pa.ArrowInvalid as error:
        raise SweepError(
            f"{readable(path)}: {error}; delete the file, and the same sweep answers its rows again"
        ) from error


def _check(files: Any, root: str, out: str, version: str, add_version: bool) -> int | None:
    """The time of the data set, or None if there is none yet.  Raises SweepError if it may not be written."""
    try:
        names = [posixpath.basename(path.rstrip("/")) for path in files.ls(root, detail=False)]
    except FileNotFoundError:  # An object store has no empty folders.
        return None
    if ABOUT not in names:
        others = [name for name in names if name != "_lock" and not name.startswith(_TEMPORARY)]
        if others:
            raise SweepError(f"{out}: has {others[0]!r} and no {ABOUT}, so it is not the data set of a sweep")
        return None
    try:
        found = json.loads(files.cat_file(posixpath.join(root, ABOUT)))
        schema, time = found["schema"], int(found["now"])
    except (ValueError, KeyError, TypeError) as error:
        raise SweepError(f"{out}/{ABOUT}: is not what a sweep wrote: {error}") from error
    if schema != rows.SCHEMA_VERSION:
        raise SweepError(f"{out}: has columns of version {schema}, and this ebb writes version {rows.SCHEMA_VERSION}")
    versions = [name.partition("=")[2] for name in names if name.startswith("ebb_version=")]
    others = sorted(set(versions) - {version})
    if others and not add_version:
        raise SweepError(
            f"{out}: has rows of ebb {', '.join(others)}, and this is ebb {version}; write to another data set, or"
            " add rows of this version (--add-version, add_version=True): the column ebb_version tells them apart"
        )
    return time


def _written_of(path: str) -> int:
    """The column `written` of a file, by its name."""
    found = re.fullmatch(r"(?:rows|errors)-(\d{15})-\w+\.parquet", posixpath.basename(path))
    return int(found[1]) if found else 0


def _keys(table: pa.Table) -> list[tuple[bytes, str]]:
    columns = (table[name].to_pylist() for name in ("cluster", "labels", "question_sha256"))
    return [(identity_of(cluster, dict(labels)), question) for cluster, labels, question in zip(*columns)]


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()
