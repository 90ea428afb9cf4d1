"""Which clusters a sweep asks: files, URLs, bytes and generated clusters, each with a name and labels."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any
from urllib.parse import urlsplit

from .errors import SweepError

_SUFFIX = re.compile(r"(\.(json|yaml|yml|pb))?(\.gz)?$")
# The last time that a datetime has.
_TIME_MAX = 253_402_300_799
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class Generated:
    """A generated cluster, as `ebb gen KIND --nodes N --seed S` makes it."""

    kind: str
    nodes: int = 1000
    seed: int = 1

    def __str__(self) -> str:
        return f"{self.kind}-{self.nodes}-{self.seed}"


@dataclass(frozen=True)
class Source:
    """One cluster: where its dump is, and what it is called in the rows.

    dump: a path, an fsspec URL, the bytes of a dump, or Generated.
    now:  the time to plan for, in Unix seconds; None: the time of the data set (dataset.py).
    matched: a glob matched the path, so that anything but a file is an error.
    """

    dump: str | bytes | Generated
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    now: int | None = None
    matched: bool = False

    @property
    def place(self) -> str:
        """The dump's place for rows and messages, without the secrets that a URL may have."""
        if isinstance(self.dump, Generated):
            return f"ebb gen {self.dump.kind} --nodes {self.dump.nodes} --seed {self.dump.seed}"
        return readable(without_secrets(self.dump)) if isinstance(self.dump, str) else "bytes"

    @property
    def identity(self) -> bytes:
        """Stands for name and labels: rows of the same identity are of the same cluster."""
        return identity_of(self.name, self.labels)


def identity_of(name: str, labels: Mapping[str, str]) -> bytes:
    text = "\0".join([name, *(f"{key}\0{labels[key]}" for key in sorted(labels))])
    return hashlib.sha256(text.encode()).digest()[:16]


def readable(text: str) -> str:
    """The text with an escape for each byte of a file's name that is not UTF-8: "\\udcff"."""
    return text.encode("utf-8", "backslashreplace").decode()


def is_url(text: str) -> bool:
    return "://" in text or "::" in text


def without_secrets(place: str) -> str:
    """A URL without user, password and query, where signatures are; a path as it is."""
    if not is_url(place):
        return place
    parts = urlsplit(place)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def sources(clusters: Any) -> Iterator[Source]:
    """The clusters that `clusters` names, one after the other.

    A text is a path, a glob or a URL, and may have placeholders: "dumps/{region}/{cluster}/{time}.pb".  A
    mapping is an entry of `clusters:` in a sweep file.  An iterable has any of these, and is read lazily.
    """
    if isinstance(clusters, (str, os.PathLike)):
        yield from _from_pattern(os.fspath(clusters), {}, None, None)
    elif isinstance(clusters, Source):
        if isinstance(clusters.dump, Generated):
            _check_generated(clusters.dump)
        yield clusters if clusters.now is None else replace(clusters, now=unix_seconds(clusters.now, "clusters: now"))
    elif isinstance(clusters, Generated):
        _check_generated(clusters)
        yield Source(clusters, str(clusters))
    elif isinstance(clusters, (bytes, bytearray, memoryview)):
        data = bytes(clusters)
        yield Source(data, "bytes-" + hashlib.sha256(data).hexdigest()[:12])
    elif isinstance(clusters, Mapping):
        yield from _from_entry(clusters)
    elif isinstance(clusters, Iterable):
        for each in clusters:
            yield from sources(each)
    else:
        raise SweepError(f"clusters: {type(clusters).__name__} is not a path, URL, bytes, Source, Generated or mapping")


_ENTRY_KEYS = {"path", "url", "generate", "nodes", "seed", "seeds", "name", "labels", "now"}


def _from_entry(entry: Mapping[str, Any]) -> Iterator[Source]:
    unknown = set(entry) - _ENTRY_KEYS
    if unknown:
        raise SweepError(f"clusters: unknown field {min(map(str, unknown))!r}; known: {', '.join(sorted(_ENTRY_KEYS))}")
    if sum(key in entry for key in ("path", "url", "generate")) != 1:
        raise SweepError("clusters: an entry has one of path, url and generate")
    labels = {str(key): str(value) for key, value in dict(entry.get("labels") or {}).items()}
    now = None if entry.get("now") is None else unix_seconds(entry["now"], "clusters: now")
    name = None if entry.get("name") is None else str(entry["name"])
    if "generate" not in entry:
        for key in ("nodes", "seed", "seeds"):
            if key in entry:
                raise SweepError(f"clusters: {key} is only for generate")
        yield from _from_pattern(str(entry.get("path") or entry.get("url")), labels, name, now)
        return
    if "seed" in entry and "seeds" in entry:
        raise SweepError("clusters: an entry has seed or seeds, not both")
    seeds = _seeds(entry.get("seeds", entry.get("seed", 1)))
    for seed in seeds:
        made = Generated(str(entry["generate"]), _count(entry.get("nodes", 1000), "nodes"), seed)
        _check_generated(made)
        yield Source(made, str(made) if name is None else f"{name}-{seed}" if len(seeds) > 1 else name, labels, now)


def _check_generated(cluster: Generated) -> None:
    from ebb._cluster import check_generated
    from ebb._errors import OptionError

    try:
        check_generated(cluster.kind, cluster.nodes, cluster.seed)
    except OptionError as error:
        raise SweepError(f"clusters: generate: {error}") from error


def _count(value: Any, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise SweepError(f"clusters: {key}: {value!r} is not a number from 0")
    return value


def _seeds(value: Any) -> range | list[int]:
    """A number, a list of numbers, or a text like "1-50"."""
    if isinstance(value, str):
        both = re.fullmatch(r"(\d+)-(\d+)", value)
        if both is None or int(both[1]) > int(both[2]):
            raise SweepError(f'clusters: seeds: {value!r} is not a range such as "1-50"')
        return range(int(both[1]), int(both[2]) + 1)
    return [_count(seed, "seeds") for seed in (value if isinstance(value, (list, tuple, range)) else [value])]


def _from_pattern(pattern: str, labels: Mapping[str, str], name: str | None, now: int | None) -> Iterator[Source]:
    keys = _PLACEHOLDER.findall(pattern)
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise SweepError(f"clusters: {pattern}: placeholder {{{min(twice)}}} stands there twice")
    starred = _PLACEHOLDER.sub("*", pattern)
    if not keys and not glob.has_magic(_without_scheme(pattern)):
        # May not be there: then its rows have the error.
        yield Source(pattern, name or readable(_plain_name(pattern)), labels, now)
        return
    if name is not None:
        raise SweepError(f"clusters: {pattern}: a pattern stands for many clusters, so name cannot be given")
    found = sorted(_glob(starred))
    if not found:
        raise SweepError(f"clusters: {without_secrets(pattern)}: no such file")
    fixed = re.split(r"[*?\[]", starred, maxsplit=1)[0].rpartition("/")[0]
    template = _template(pattern)
    for path in found:
        if keys:
            match = template.search(path)
            if match is None:
                continue
            values = {key: readable(value) for key, value in match.groupdict().items()}
        else:
            values = {}
        time = values.get("time")
        yield Source(
            path,
            values.pop("cluster", "") or readable(_SUFFIX.sub("", path[path.find(fixed) + len(fixed) :].lstrip("/"))),
            {**labels, **values},
            now if time is None else unix_seconds(time, f"clusters: {readable(path)}: time"),
            matched=not is_url(path),
        )


def _without_scheme(pattern: str) -> str:
    """A URL's query begins with "?", which is no wildcard."""
    return urlsplit(pattern)._replace(scheme="", query="").geturl() if is_url(pattern) else pattern


def _plain_name(path: str) -> str:
    return _SUFFIX.sub("", without_secrets(path).rstrip("/").rpartition("/")[2]) or without_secrets(path)


def _template(pattern: str) -> re.Pattern[str]:
    """The pattern as an expression that finds the placeholders' values.  A value has no "/"."""
    out = []
    for part in re.split(r"(\{[A-Za-z_][A-Za-z0-9_]*\}|\*\*/?|\*|\?|\[[^]]*\])", _after_scheme(pattern)):
        if _PLACEHOLDER.fullmatch(part):
            out.append(f"(?P<{part[1:-1]}>[^/]+?)")
        elif part.startswith("**"):
            out.append("(?:.*/)?" if part.endswith("/") else ".*")
        elif part == "*":
            out.append("[^/]*")
        elif part == "?":
            out.append("[^/]")
        else:
            out.append(part if part.startswith("[") else re.escape(part))
    return re.compile("".join(out) + "$")


def _after_scheme(pattern: str) -> str:
    return pattern.rpartition("://")[2]


def _glob(pattern: str) -> Iterable[str]:
    if not is_url(pattern):
        return glob.glob(pattern, recursive=True)
    import fsspec

    try:
        files, path = fsspec.core.url_to_fs(pattern)
        return [files.unstrip_protocol(each) for each in files.glob(path)]
    except Exception as error:  # Each file system raises its own.
        raise SweepError(f"clusters: {without_secrets(pattern)}: {error}") from error


def unix_seconds(value: Any, where: str) -> int:
    """A time as Unix seconds, a datetime with a zone, or a text, which is UTC if it has no zone: 2026-01-02, 2026-01-02T03:04:05Z, 2026-01-02T03-04-05Z."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise SweepError(f"{where}: {value} is not a time with a time zone")
        return _in_range(int(value.timestamp()), where)
    text = str(value)
    if (isinstance(value, int) and not isinstance(value, bool)) or re.fullmatch(r"\d{9,}", text):
        return _in_range(int(value), where)
    text = re.sub(r"T(\d\d)-(\d\d)(?:-(\d\d))?", lambda m: f"T{m[1]}:{m[2]}:{m[3] or '00'}", text)
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise SweepError(f"{where}: {value!r} is not a time such as 2026-01-02T03:04:05Z") from None
    return _in_range(int((time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()), where)


def _in_range(seconds: int, where: str) -> int:
    if not 0 <= seconds <= _TIME_MAX:
        raise SweepError(f"{where}: {seconds} is not from 0 to {_TIME_MAX} Unix seconds, the year 9999")
    return seconds
