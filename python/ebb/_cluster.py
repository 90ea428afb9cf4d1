"""A cluster and the questions about it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from json import loads
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union

from ebb import _native
from ebb._answers import Answer, Blockers, Comparison, Explanation, Frontier, Plan, compare
from ebb._errors import ClosedError, Error, InputError, OptionError, in_file
from ebb._options import Json, Options, OptionValue, Question, Text, Time, named_in, read_options, text_of, to_json
from ebb._table import Table

if TYPE_CHECKING:
    from typing_extensions import Self, TypeAlias, Unpack

Kind: TypeAlias = Literal[
    "uniform", "mixed", "company", "topology", "repelling", "diverse", "terms", "excluding", "budgets", "claims"
]
AnyOptions: TypeAlias = Union[Options, Mapping[str, OptionValue]]
Dump: TypeAlias = Union[
    str, "os.PathLike[str]", bytes, bytearray, memoryview, Mapping[str, Any], Sequence[Mapping[str, Any]]
]

_UINT64 = 2**64


class Deleted(NamedTuple):
    """A deletion, for Cluster.apply()."""

    kind: str
    name: str
    namespace: str | None = ""  # None is as "": the object has no namespace.
    uid: str | None = ""


class Cluster:
    """A cluster in memory: Cluster.load() reads it, apply() changes it, the other methods ask about it.

    Threads: any thread may call; the calls on one cluster run one after the other, without the GIL.
    Memory:  close() frees it, as does the end of a `with` block or of the last reference.
    """

    def __init__(self, name: str, limits: tuple[int, int], defaults: dict[str, OptionValue]) -> None:
        """Not for users: Cluster.load() makes clusters."""
        self._name = name
        self._limits = limits
        self._defaults = defaults
        self._load_options = read_options(defaults).load
        self._native: _native.Cluster | None = self._new(self._load_options)
        self._lock = Lock()  # Of the next two.
        self._others: dict[str, _native.Cluster] = {}
        self._version = 0

    @classmethod
    def load(
        cls,
        source: Dump,
        *,
        now: Time | None = None,
        options: AnyOptions | None = None,
        name: str = "cluster",
        objects_max: int = 5_000_000,
        dump_bytes_max: int = 4 << 30,
    ) -> Cluster:
        """Reads a dump: the path of a file, its bytes, or what a parser made of
        them: a mapping (`kind: List`), or a list of objects.

        JSON, YAML, .gz or ebb's own .pb, as for `ebb plan`.  `options` and `now` are the defaults of
        all questions.
        Errors: InputError, OptionError, LimitError; OSError: the file cannot be read.
        """
        if not isinstance(name, str):
            raise OptionError(f"name: {name!r} is not a text", field="name")
        limits = (_limit("objects_max", objects_max), _limit("dump_bytes_max", dump_bytes_max))
        defaults: dict[str, OptionValue] = dict(options or {})  # type: ignore[arg-type]
        if now is not None:
            defaults["now"] = now
        made = cls(name, limits, defaults)
        dump, file = _bytes_of(source)
        try:
            made._live().load(dump)
        except Error as error:
            raise (in_file(error, file) if file else error) from None
        made._version = 1
        return made

    def apply(self, changes: Iterable[Mapping[str, Any] | bytes | Deleted]) -> int:
        """Applies objects that are new or changed, and deletions: all of them or none.

        An object is a mapping, its JSON, or Kubernetes' protobuf with the envelope.
        Returns the version of the cluster, which counts dumps and batches.
        Errors: InputError.
        """
        batch: list[bytes | tuple[str, str, str, str]] = []
        for change in changes:
            if isinstance(change, Deleted):
                batch.append(_deletion_of(change))
            elif isinstance(change, bytes):
                batch.append(change)
            elif isinstance(change, Mapping):
                batch.append(_json_of(change))
            else:
                raise InputError(f"changes: {type(change).__name__} is not a mapping, bytes or ebb.Deleted")
        version = self._live().apply(batch)
        with self._lock:
            self._others.clear()
            self._version = version
        return version

    def plan(self, **options: Unpack[Options]) -> Plan:
        """Which nodes can go, all together, and where their pods land.

        With optimize=True, Ctrl-C ends the search, and the best plan so far is returned
        (Plan.interrupted).  Otherwise it raises KeyboardInterrupt.
        Errors: OptionError, IncompleteError, InputError (of node groups or prices).
        """
        question = self._read(options)
        reply, _ = self._ask(_native.PLAN, {}, question, may_end=question.search)
        return Plan(reply)

    def explain(self, *names: str, remedies: bool = False, **options: Unpack[Options]) -> Explanation:
        """Why nodes stay or go, pod by pod.  remedies: also which single changes let them go.

        Errors: also NotFoundError.
        """
        if not names:
            raise OptionError("names: no node is named", field="names")
        for name in names:
            if not isinstance(name, str):
                raise OptionError(f"names: {name!r} is not a text", field="names")
        call = {"nodes": list(names), "remedies": bool(remedies)}
        return Explanation(self._ask(_native.EXPLAIN, call, self._read(options))[0])

    def blockers(self, *, limit: int = 50, **options: Unpack[Options]) -> Blockers:
        """What keeps nodes in the whole cluster, and how many more go without it.

        `limit`: how many are tried, those that keep most nodes first.
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 100_000:
            raise OptionError(f"limit: {limit!r} is not from 1 to 100000", field="limit")
        return Blockers(self._ask(_native.BLOCKERS, {"limit": limit}, self._read(options))[0])

    def frontier(self, **options: Unpack[Options]) -> Frontier:
        """The best plan found for each number of evicted pods.

        budget (5 s) is the time for all of it, iterations (30) the number for each of its searches.
        Ctrl-C ends it with what it has found.
        """
        given: dict[str, OptionValue] = {"budget": 5, "iterations": 30, **options}  # type: ignore[dict-item]
        given.pop("optimize", None)  # It always searches.
        question = self._read(given, always_search=True)
        return Frontier(self._ask(_native.FRONTIER, {}, question, may_end=True)[0])

    def what_if(
        self,
        changes: Text | Mapping[str, Any] | None = None,
        *,
        then: AnyOptions | None = None,
        **options: Unpack[Options],
    ) -> Comparison:
        """Compares the plan with the plan after `changes`, and with the options `then` over `options`.

        changes: a what-if file (docs/what-if.md): its path, its text, or parsed.  The file's own
        options are options of the command line; use `then`.
        """
        before = self._read(options)
        after = self._read({**options, **(then or {})})
        if changes is None:
            if not then:
                raise OptionError("changes: there are none; pass changes, or other options as then", field="changes")
            return compare(self._plan(before), self._plan(after))
        if before.load != after.load:
            other = next(iter({**before.load, **after.load}))
            raise OptionError(f"{other}: what_if() takes it only without changes; compare two plans", field="then")
        text, name = _changes_of(changes)
        call: Json = {"changes": text, "changes_name": name}
        if then:
            call["then"] = after.message()
        both = before._replace(names=(*before.names, *after.names))
        return Comparison(self._ask(_native.WHAT_IF, call, both)[0])

    # --- Tables --------------------------------------------------------------------------------

    @property
    def cluster(self) -> Table:
        """One row: the figures of the cluster."""
        return self._table("clusters")

    @property
    def nodes(self) -> Table:
        """A row for each node."""
        return self._table("nodes")

    @property
    def pods(self) -> Table:
        """A row for each pod that counts: not those that have ended or are expendable."""
        return self._table("pods")

    # --- The cluster itself ----------------------------------------------------------------------

    @property
    def version(self) -> int:
        """Counts the dump and the batches that were applied."""
        self._live()
        return self._version

    def status(self) -> dict[str, Any]:
        """What the cluster holds, and counts of its work: SessionStatus of planner.proto."""
        status: dict[str, Any] = loads(self._live().call(_native.STATUS, b"", False)[0])
        return status

    def export(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """The cluster as a binary snapshot, which load() and `ebb plan` read.  Also writes it to `path`."""
        snapshot, _ = self._live().call(_native.EXPORT, b"", False)
        if path is not None:
            with open(path, "wb") as file:
                file.write(snapshot)
        return snapshot

    def close(self) -> None:
        """Frees the memory.  Later calls raise ClosedError.

        It waits for the calls that run, also for a search of another thread.
        """
        with self._lock:
            open_ones = [*([self._native] if self._native else []), *self._others.values()]
            self._native = None
            self._others.clear()
        for each in open_ones:
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ebb.Cluster {self._name}{'' if self._native else ', closed'}>"

    # --- How questions are asked -------------------------------------------------------------------

    def _new(self, load_options: Json) -> _native.Cluster:
        made = _native.Cluster(self._name, *self._limits)
        if load_options:
            made.set_settings(to_json({"options": {"load": load_options}}))
        return made

    def _live(self) -> _native.Cluster:
        native = self._native
        if native is None:
            raise ClosedError("the cluster was closed")
        return native

    def _read(self, options: Mapping[str, Any], *, always_search: bool = False) -> Question:
        return read_options({**self._defaults, **options}, always_search=always_search)

    def _read_as(self, load_options: Json) -> _native.Cluster:
        """The cluster, read with these options: what pods count depends on them."""
        live = self._live()
        if load_options == self._load_options:
            return live
        key = json.dumps(load_options, sort_keys=True)
        with self._lock:
            if key not in self._others:
                other = self._new(load_options)
                other.load(live.call(_native.EXPORT, b"", False)[0])
                self._others = {key: other}  # Each has the memory of a cluster.
            return self._others[key]

    def _plan(self, question: Question) -> Plan:
        return Plan(self._ask(_native.PLAN, {}, question)[0])

    def _ask(self, call: int, message: Json, question: Question, *, may_end: bool = False) -> tuple[bytes, bool]:
        try:
            cluster = self._read_as(question.load)
            return cluster.call(call, to_json({**message, "input": question.message()}), may_end)
        except Error as error:
            raise named_in(error, question.names) from None

    def _table(self, name: str) -> Table:
        question = self._read({})
        settings = Question({}, question.settings, question.load, question.names, False).message()
        if question.input.get("allow_incomplete"):
            settings["allow_incomplete"] = True
        return Table(name, self._read_as(question.load).table(name, to_json(settings)))


def generate(kind: Kind, nodes: int = 1000, seed: int = 1, *, options: AnyOptions | None = None) -> Cluster:
    """A made-up cluster, the same that `ebb gen KIND --nodes N --seed S` makes (docs/gen.md)."""
    check_generated(kind, nodes, seed)
    return Cluster.load(_native.generate(kind, nodes, seed), options=options)


def check_generated(kind: object, nodes: object, seed: object) -> None:
    """Raises OptionError for what generate() does not make."""
    if not isinstance(kind, str):
        raise OptionError(f"kind: {kind!r} is not a text", field="kind")
    if isinstance(nodes, bool) or not isinstance(nodes, int) or not 1 <= nodes <= 1_000_000:
        raise OptionError(f"nodes: {nodes!r} is not from 1 to 1000000", field="nodes")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _UINT64:
        raise OptionError(f"seed: {seed!r} is not from 0 to 2**64 - 1", field="seed")
    _check_kind(kind)


@cache
def _check_kind(kind: str) -> None:
    try:
        _native.generate(kind, 1, 1)
    except InputError as error:
        raise OptionError(error.message, field=error.field) from None


def _limit(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < _UINT64:
        raise OptionError(f"{name}: {value!r} is not from 1 to 2**64 - 1", field=name)
    return value


def _deletion_of(change: Deleted) -> tuple[str, str, str, str]:
    names = (change.kind, change.namespace or "", change.name, change.uid or "")
    for field, value in zip(("kind", "namespace", "name", "uid"), names):
        if not isinstance(value, str):
            raise InputError(f"changes: Deleted: {field}: {value!r} is not a text", field=field)
    return names


def _json_of(value: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(value).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"object: cannot be written as JSON: {error}") from None


def _bytes_of(source: object) -> tuple[bytes | bytearray | memoryview, str | None]:
    """The bytes of a dump, and the file that they are from."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return source, None
    if isinstance(source, Mapping):
        return _json_of(source), None
    if isinstance(source, (list, tuple)):
        return _json_of({"kind": "List", "apiVersion": "v1", "items": list(source)}), None
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            return file.read(), os.fspath(source)
    raise InputError(f"source: {type(source).__name__} is not a path, bytes, a mapping or a list of objects")


def _changes_of(changes: object) -> tuple[str, str]:
    """The text of a what-if file, and its name."""
    if isinstance(changes, Mapping):
        return _json_of(changes).decode(), "changes"
    return text_of("changes", changes)


__all__ = ["Answer", "Cluster", "Deleted", "Kind", "generate"]
