"""Errors of the package.  The library's message is str(error); its parts are attributes."""

from __future__ import annotations

import re
from typing import Any

_CODES = {
    3: "INVALID_ARGUMENT",
    4: "DEADLINE_EXCEEDED",
    5: "NOT_FOUND",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    10: "ABORTED",
    13: "INTERNAL",
}
# The library speaks to programs in C; users of the package have arguments.
_WORDS = (
    ("call ebb_cluster_allow_incomplete", "pass allow_incomplete=True"),
    ("after ebb_cluster_allow_incomplete", "with allow_incomplete=True"),
    ("set as_given of ebb_options", "pass assume_complete=True"),
)
# "Pod default/web-0: spec.containers[0].resources: ...", with or without an object, a field.
_OBJECT = re.compile(r"(?:^|: )(?P<object>[A-Z][A-Za-z]+ [^\s:]+)(?=: )")
_FIELD = re.compile(r"(?:^|: )(?P<field>[a-z][A-Za-z_]*(?:\[[^\]\s]*\]|\.[^\s:.]+)*)(?=: )")


class Error(Exception):
    """Base of all errors of the package.

    str(error) is the whole message.  Its parts, each None if the message has no such part:
    file ("cluster.json"), object ("Pod default/web-0"), field ("spec.containers[0].resources").
    code: "INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", "RESOURCE_EXHAUSTED",
    "DEADLINE_EXCEEDED", "ABORTED" or "INTERNAL".  Errors can be pickled.
    """

    code: str = "INTERNAL"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        file: str | None = None,
        object: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message if file is None else f"{file}: {message}")
        self.message = message
        if code is not None:
            self.code = code
        self.file = file
        self.object = object
        self.field = field

    def __reduce__(self) -> tuple[Any, ...]:
        parts = {"code": self.code, "file": self.file, "object": self.object, "field": self.field}
        return _rebuild, (type(self), self.message, parts)


class InputError(Error, ValueError):
    """A dump, a change, or a file of node groups, prices or changes that is malformed."""

    code = "INVALID_ARGUMENT"


class OptionError(Error, ValueError):
    """An unknown option, a value of a wrong type, or one out of range.  field: the option's name."""

    code = "INVALID_ARGUMENT"


class NotFoundError(Error, LookupError):
    """No such node or pod."""

    code = "NOT_FOUND"


class IncompleteError(Error):
    """The cluster allows no answer: it has no nodes, or lacks objects (allow_incomplete=True)."""

    code = "FAILED_PRECONDITION"


class ClosedError(Error):
    """The cluster was closed."""

    code = "FAILED_PRECONDITION"


class LimitError(Error):
    """A limit (objects_max, dump_bytes_max), or memory."""

    code = "RESOURCE_EXHAUSTED"


_CLASSES: dict[int, type[Error]] = {
    3: InputError,
    5: NotFoundError,
    8: LimitError,
    9: IncompleteError,
}


def _rebuild(kind: type[Error], message: str, parts: dict[str, str | None]) -> Error:
    return kind(message, **parts)


def from_code(code: int, text: bytes) -> Error:
    """What the module in C++ raises for a failed call."""
    message = text.decode("utf-8", "replace")
    for word, for_python in _WORDS:
        message = message.replace(word, for_python)
    kind = _CLASSES.get(code, Error)
    if message == "the cluster was closed":
        kind = ClosedError
    named = _OBJECT.search(message)
    field = _FIELD.search(message, named.end() if named else 0)
    return kind(
        message,
        code=_CODES.get(code, "INTERNAL"),
        object=named["object"] if named else None,
        field=field["field"] if field else None,
    )


def in_file(error: Error, file: str) -> Error:
    """The same error, about this file."""
    parts = {"code": error.code, "object": error.object, "field": error.field}
    return type(error)(error.message.removeprefix("dump: "), file=file, **parts)
