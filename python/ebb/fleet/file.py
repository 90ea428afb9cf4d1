"""A sweep as a YAML file.  docs/sweep.schema.json is the schema, docs/fleet.md the manual."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from .clusters import is_url
from .errors import SweepError
from .strict import load_yaml, snake_keys

_KEYS = {
    "apiVersion",
    "kind",
    "clusters",
    "questions",
    "options",
    "now",
    "where",
    "out",
    "workers",
    "retries",
    "memory-max",
    "answer-seconds-max",
    "ray",
}
_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def read_file(path: str) -> dict[str, Any]:
    """The arguments of ebb.sweep that the file at `path` has.  Relative paths in the file begin at its folder."""
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        return _arguments(load_yaml(text), os.path.dirname(path))
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise SweepError(f"{path}: {error}") from error
    except SweepError as error:
        raise SweepError(f"{path}: {error}") from error


def _arguments(given: Any, folder: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise SweepError("is not a mapping with clusters and questions")
    unknown = set(given) - _KEYS
    if unknown:
        raise SweepError(f"unknown field {min(map(str, unknown))!r}; known: {', '.join(sorted(_KEYS))}")
    for key, only in (("apiVersion", "ebb/v1alpha1"), ("kind", "Sweep")):
        if given.get(key, only) != only:
            raise SweepError(f"{key}: {given[key]!r} is not {only!r}")
    for key in ("clusters", "questions"):
        if not given.get(key):
            raise SweepError(f"{key}: missing")
    clusters = given["clusters"]
    arguments: dict[str, Any] = {
        "clusters": [_below(each, folder) for each in (clusters if isinstance(clusters, list) else [clusters])],
        "questions": given["questions"],
        "folder": folder,
    }
    for key in ("options", "now", "where", "workers", "retries", "ray"):
        if given.get(key) is not None:
            arguments[key] = given[key]
    if given.get("out") is not None:
        if given["out"] == "":
            raise SweepError("out: is empty")
        arguments["out"] = _path_below(str(given["out"]), folder)
    if given.get("memory-max") is not None:
        arguments["memory_max"] = bytes_of(given["memory-max"], "memory-max")
    if given.get("answer-seconds-max") is not None:
        arguments["answer_seconds_max"] = given["answer-seconds-max"]
    if "ray" in arguments:
        if not isinstance(arguments["ray"], Mapping):
            raise SweepError(f"ray: {arguments['ray']!r} is not a mapping")
        ray = arguments["ray"] = snake_keys(arguments["ray"], "ray")
        if "object_store_memory" in ray:
            ray["object_store_memory"] = bytes_of(ray["object_store_memory"], "ray: object-store-memory")
    return arguments


def bytes_of(value: Any, where: str) -> int:
    """A number of bytes, such as 2000000 or "2GiB"."""
    match = re.fullmatch(r"(\d+)([KMGT]iB)?B?", str(value))
    if match is None or isinstance(value, bool):
        raise SweepError(f"{where}: {value!r} is not a number of bytes such as 2000000 or 2GiB")
    return int(match[1]) * _UNITS[match[2] or ""]


def _below(entry: Any, folder: str) -> Any:
    if isinstance(entry, str):
        return _path_below(entry, folder)
    if isinstance(entry, Mapping) and "path" in entry:
        return {**entry, "path": _path_below(str(entry["path"]), folder)}
    return entry


def _path_below(path: str, folder: str) -> str:
    return path if is_url(path) else os.path.join(folder, path)
