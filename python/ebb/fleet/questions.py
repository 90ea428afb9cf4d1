"""What a sweep asks of each cluster."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any

from .errors import SweepError
from .strict import load_yaml, snake_keys

ASKS = ("plan", "what_if", "blockers", "frontier")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
_KEYS = {"name", "ask", "options", "grid", "what_if", "then", "limit", "answer"}
# Options that name files.  The driver reads them, so that workers need no such file and a row's key has the content.
_FILE_OPTIONS = ("node_groups", "prices")


@dataclass(frozen=True)
class Question:
    """One question, with values for all of its options.

    ask:      "plan", "what_if", "blockers" or "frontier".
    options:  as of ebb.Cluster.plan, without `now`.
    changes, then: of "what_if", as of ebb.Cluster.what_if.
    limit:    of "blockers": how many are tried.
    answer:   whether the row keeps the whole answer as JSON.
    """

    name: str
    ask: str = "plan"
    options: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, Any] | None = None
    then: Mapping[str, Any] | None = None
    limit: int | None = None
    answer: bool = False

    @cached_property
    def asked(self) -> str:
        """What is asked, as JSON with sorted keys.  The name, and whether the answer is kept, are not part of it."""
        parts = {
            "ask": self.ask,
            "options": self.options,
            "changes": self.changes,
            "then": self.then,
            "limit": self.limit,
        }
        return json.dumps({key: value for key, value in parts.items() if value}, sort_keys=True, separators=(",", ":"))

    @cached_property
    def shown_options(self) -> str:
        """The options of the plan that the row shows, as JSON; a file's text is the beginning of its hash."""
        options = {**self.options, **(self.then or {})}
        for key in _FILE_OPTIONS:
            if key in options and not _is_builtin(key, options[key]):
                options[key] = "sha256:" + hashlib.sha256(options[key].encode()).hexdigest()[:12]
        return json.dumps(options, sort_keys=True)

    @cached_property
    def sha256(self) -> str:
        kept = "answer" if self.answer else ""
        return hashlib.sha256(f"{self.name}\0{kept}\0{self.asked}".encode()).hexdigest()


def questions(given: Any, options: Mapping[str, Any] | None = None, folder: str = "") -> list[Question]:
    """The questions that `given` describes, each grid spelled out.

    given:   a mapping from names to descriptions, or a list of descriptions that have a `name`, or of Questions.
    options: of every question, under its own.
    folder:  relative paths of files begin here.
    """
    described: list[Any]
    if isinstance(given, Mapping):
        described = [
            {**({} if value is None else value), "name": name} if value is None or isinstance(value, Mapping) else value
            for name, value in given.items()
        ]
    elif isinstance(given, Iterable) and not isinstance(given, str):
        described = list(given)
    else:
        raise SweepError("questions: not a mapping or a list")
    base = _options(options or {}, "options", folder)
    made: list[Question] = []
    for at, each in enumerate(described):
        made.extend([each] if isinstance(each, Question) else _spelled_out(each, f"questions[{at}]", base, folder))
    if not made:
        raise SweepError("questions: there is none")
    _check(made)
    return made


def _spelled_out(given: Any, where: str, base: Mapping[str, Any], folder: str) -> Iterable[Question]:
    if not isinstance(given, Mapping):
        raise SweepError(f"{where}: {given!r} is not a mapping")
    given = snake_keys(given, where)
    unknown = set(given) - _KEYS
    if unknown:
        raise SweepError(f"{where}: unknown field {min(unknown)!r}; known: {', '.join(sorted(_KEYS))}")
    name = given.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SweepError(f"{where}.name: {name!r} is not a letter followed by letters, digits, '.', '_' and '-'")
    where = f"question {name}"
    changes, then = _changes(given.get("what_if"), f"{where}: what_if", folder)
    then = {**then, **_options(given.get("then") or {}, f"{where}: then", folder)}
    what_if = "what_if" in given or "then" in given
    ask = str(given.get("ask", "what_if" if what_if else "plan")).replace("-", "_")
    if ask not in ASKS:
        raise SweepError(f"{where}: ask: {ask!r} is not one of {', '.join(ASKS)}")
    if what_if != (ask == "what_if"):
        raise SweepError(f"{where}: what_if and then belong to ask: what_if, and ask: what_if needs one of them")
    limit = given.get("limit")
    if limit is not None and (ask != "blockers" or isinstance(limit, bool) or not isinstance(limit, int)):
        raise SweepError(f"{where}: limit: only ask: blockers has it, and it is a number from 1 to 100000")
    if not isinstance(given.get("answer", False), bool):
        raise SweepError(f"{where}: answer: {given['answer']!r} is not true or false")
    own = {**base, **_options(given.get("options") or {}, f"{where}: options", folder)}
    for values in _grid(given.get("grid") or {}, f"{where}: grid"):
        # A grid of a what-if is about the changed cluster.
        grid = _options(values, f"{where}: grid", folder)
        yield Question(
            name,
            ask,
            own if what_if else {**own, **grid},
            changes or None,
            ({**then, **grid} if what_if else None) or None,
            limit,
            given.get("answer", False),
        )


def _grid(given: Any, where: str) -> Iterable[dict[str, Any]]:
    if not isinstance(given, Mapping):
        raise SweepError(f"{where}: {given!r} is not a mapping from options to lists")
    for key, values in given.items():
        if not isinstance(values, Sequence) or isinstance(values, str) or not values:
            raise SweepError(f"{where}: {key}: {values!r} is not a list of values")
    return (dict(zip(given, each)) for each in itertools.product(*given.values()))


def _options(given: Any, where: str, folder: str) -> dict[str, Any]:
    """Options in snake_case, with the content of files, and with values that JSON has."""
    if not isinstance(given, Mapping):
        raise SweepError(f"{where}: {given!r} is not a mapping")
    options = {key: value for key, value in snake_keys(given, where).items() if value is not None}
    if "now" in options:
        raise SweepError(f"{where}: now: give the time for the sweep or with a cluster, so that each row has one")
    for key, value in options.items():
        if isinstance(value, timedelta):
            options[key] = value.total_seconds()
        elif isinstance(value, os.PathLike):
            options[key] = os.fspath(value)
        elif isinstance(value, tuple):
            options[key] = list(value)
    for key in _FILE_OPTIONS:
        if key in options and not _is_builtin(key, options[key]):
            options[key] = _text_of(options[key], f"{where}: {key}", folder)
    return options


def _is_builtin(key: str, value: object) -> bool:
    """The catalogue of prices, which is no file."""
    return key == "prices" and value == "builtin"


def _text_of(value: Any, where: str, folder: str) -> str:
    if not isinstance(value, str):
        raise SweepError(f"{where}: {value!r} is not a path or a text")
    if "\n" in value:
        return value
    try:
        with open(os.path.join(folder, value), encoding="utf-8") as file:
            return file.read() + "\n"  # At least one line break: that makes it a text and not a path.
    except (OSError, UnicodeDecodeError) as error:
        raise SweepError(f"{where}: {error}") from error


def _changes(given: Any, where: str, folder: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The objects and workloads of a what-if, and its options."""
    if given is None:
        return {}, {}
    if isinstance(given, (str, os.PathLike)):
        import yaml

        text = os.fspath(given)
        if "\n" not in text:
            path = os.path.join(folder, text)
            text, folder = _text_of(path, where, ""), os.path.dirname(path)
        try:
            given = load_yaml(text)
        except (SweepError, yaml.YAMLError) as error:
            raise SweepError(f"{where}: {error}") from error
    if not isinstance(given, Mapping):
        raise SweepError(f"{where}: {given!r} is not a mapping, a path or a text")
    changes = dict(given)
    unknown = set(changes) - {"objects", "workloads", "options"}
    if unknown:
        raise SweepError(f"{where}: unknown field {min(map(str, unknown))!r}; known: objects, options, workloads")
    then = _options(changes.pop("options", None) or {}, f"{where}: options", folder)
    return changes, then


def _check(made: Sequence[Question]) -> None:
    """Rejects unknown options, wrong types and ranges, wrong changes, and questions that are the same."""
    import ebb

    from .answer import ask

    # Each question is asked of one node: that is the check of everything that does not depend on the cluster.
    one_node = ebb.generate("uniform", 1, options={"now": 0})
    seen: set[str] = set()
    for question in made:
        try:
            json.dumps(question.options), json.dumps(question.changes), json.dumps(question.then)
        except TypeError as error:
            raise SweepError(f"question {question.name}: {error}") from error
        try:
            searched = {"optimize": True} if question.ask == "frontier" else {}
            ebb.check_options({**question.options, **searched})
            ebb.check_options(dict(question.then or {}))
            ask(one_node, question)
        except (ebb.NotFoundError, ebb.IncompleteError):
            pass  # Of the cluster: it lacks what the question names.
        except ebb.Error as error:
            if not _is_of_the_cluster(error):
                raise SweepError(f"question {question.name}: {error}") from error
        if question.sha256 in seen:
            raise SweepError(f"question {question.name}: asks the same twice; its name, options and changes are equal")
        seen.add(question.sha256)


def _is_of_the_cluster(error: Exception) -> bool:
    """Whether another cluster may give an answer: prices and groups may be those of its nodes."""
    return str(error).startswith(("prices: has no price for", "node_groups: "))
