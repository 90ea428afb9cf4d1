"""The options of questions: names, types, and how a message of the library has them."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Union

from ebb import _native
from ebb._errors import Error, InputError, OptionError

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

Time: TypeAlias = Union[datetime, int, str]
"""An aware datetime, Unix seconds, or "2026-01-02T03:04:05Z"."""
Duration: TypeAlias = Union[timedelta, int, float]
"""Numbers are seconds."""
Text: TypeAlias = Union[str, "os.PathLike[str]"]
"""A path; or the text itself, if it has a line break."""
OptionValue: TypeAlias = Union[bool, int, float, str, Sequence[str], Time, Duration, "os.PathLike[str]", None]


class Options(TypedDict, total=False):
    """The options of a question: the flags of `ebb plan`, with underscores.  None is the default."""

    # What is asked.
    now: Time | None  # The time to plan for; default: the clock's.
    nodes: Sequence[str] | None  # Sizes of groups, "MIN:MAX:NAME" each.
    node_groups: Text | None  # A file of node groups.
    prices: Text | None  # A file of prices.
    candidates: Sequence[str] | None  # Only these nodes may go; default: every node.
    allow_incomplete: bool | None  # Answer although objects are missing.
    max_workload_share: float | None
    max_scale_down_parallelism: int | None
    scale_down_simulation_timeout: Duration | None  # Return the plan so far after this time.
    bound: bool | None
    # A search for a better plan.
    optimize: bool | None
    budget: Duration | None
    iterations: int | None
    seed: int | None
    objective: Literal["nodes", "cost"] | None
    move_cost: float | None
    max_evictions: int | None
    # Trials of the plan.
    trials: int | None
    robust: float | None
    nominated_share: float | None
    # Stable plans.
    stable: bool | None
    stable_margin: float | None
    stable_greedy_every: int | None
    stable_verify_every: int | None
    # Buying nodes so that dearer ones can go; needs prices (docs/replace.md).
    replace: bool | None
    max_new_nodes: int | None
    machine_types: Text | None  # A file of machine types.
    machine_type_groups: Sequence[str] | None  # For a cloud's list.
    max_tries: int | None
    replace_budget: Duration | None
    min_saving: float | None
    min_score: float | None
    allow_spot: bool | None
    # How the cluster is read.  Another value than that of load() reads the cluster again.
    expendable_pods_priority_cutoff: int | None
    assume_complete: bool | None
    bypassed_scheduler_names: Sequence[str] | None
    match_os: bool | None
    kubernetes_version: Literal["auto", "1.36", "1.37"] | None
    vpa: Literal["follow", "ignore"] | None
    unhealthy_pods: Literal["keep", "evict"] | None
    scheduler_config_file: Text | None  # A KubeSchedulerConfiguration.
    # The planner.
    candidate_order: Literal["autoscaler", "fewest-pods", "input", "least-utilized"] | None
    startup_taint: Sequence[str] | None
    startup_taint_prefix: Sequence[str] | None
    enable_csi_node_aware_scheduling: bool | None
    scale_down_utilization_threshold: float | None
    scale_down_gpu_utilization_threshold: float | None
    scale_down_unready_enabled: bool | None
    ignore_daemonsets_utilization: bool | None
    ignore_mirror_pods_utilization: bool | None
    min_nodes_per_pass: int | None
    headroom: str | None
    skip_nodes_with_system_pods: bool | None
    skip_nodes_with_local_storage: bool | None
    skip_nodes_with_custom_controller_pods: bool | None
    min_replica_count: int | None
    blocking_system_pod_distruption_timeout: Duration | None
    gangs: Literal["keep", "ignore"] | None
    rules: Literal["auto", "autoscaler", "karpenter", "delegated"] | None
    max_node_startup_time: Duration | None


Json = dict[str, Any]


# --- Types -------------------------------------------------------------------------------------------


def _wrong(name: str, value: object, expected: str) -> OptionError:
    shown = repr(value)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    return OptionError(f"{name}: {shown} is not {expected}", field=name)


def _switch(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, value, "True or False")
    return value


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, value, "a whole number")
    if not -(2**53) <= value <= 2**53:  # JSON's numbers.
        raise _wrong(name, value, "from -2**53 to 2**53")
    return value


def _count(name: str, value: object) -> int:
    number = _whole(name, value)
    if number < 0:
        raise _wrong(name, value, "0 or more")
    return number


def _count32(name: str, value: object) -> int:
    number = _count(name, value)
    if number >= 2**32:
        raise _wrong(name, value, "from 0 to 2**32 - 1")
    return number


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(name, value, "a number")
    try:
        number = float(value)
    except OverflowError:
        raise _wrong(name, value, "a number that a float can hold") from None
    if not math.isfinite(number):
        raise _wrong(name, value, "a finite number")
    return number


def _seconds(name: str, value: object) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        raise _wrong(name, value, "a timedelta or a number of seconds")
    return _number(name, value)


def _whole_seconds(name: str, value: object) -> int:
    return math.ceil(_seconds(name, value))  # As flags are rounded.


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(name, value, "a text")
    return value


def _names(name: str, value: object) -> list[str]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise _wrong(name, value, "a list of texts")
    for each in value:
        _text(name, each)
    return list(value)


def unix_seconds(name: str, value: object) -> int:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            raise _wrong(name, value, "a time as 2026-01-02T03:04:05Z") from None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise _wrong(name, value, "a time with a time zone")
        return math.floor(value.timestamp())
    return _whole(name, value)


def text_of(name: str, value: object) -> tuple[str, str]:
    """The text of an option that is a path or a text, and its name in messages."""
    if isinstance(value, str) and "\n" in value:
        return value, name
    if not isinstance(value, (str, os.PathLike)):
        raise _wrong(name, value, "a path, or a text with a line break")
    path = Path(value)
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: {error}", file=str(path)) from None


def _prices_of(name: str, value: object) -> tuple[str, str]:
    """As text_of; "builtin" is the catalogue, as on the command line."""
    return ("base: builtin\n", "builtin") if value == "builtin" else text_of(name, value)


# --- The table ---------------------------------------------------------------------------------------


class _Of(NamedTuple):
    """How an option is checked, and where its value stands in a PlanInput."""

    read: Callable[[str, object], Any]
    path: tuple[str, ...]
    part: str = ""  # "search", "trials", "stable", "replace": only with the option that asks for it.
    load: bool = False  # It decides how the cluster is read.
    words: tuple[str, ...] = ()


_INPUT = {
    "now": _Of(unix_seconds, ("now",)),
    "candidates": _Of(_names, ("candidates", "nodes")),
    "allow_incomplete": _Of(_switch, ("allow_incomplete",)),
    "max_workload_share": _Of(_number, ("max_workload_share",)),
    "max_scale_down_parallelism": _Of(_count, ("max_scale_down_parallelism",)),
    "scale_down_simulation_timeout": _Of(_seconds, ("time_limit_seconds",)),
    "bound": _Of(_switch, ("bound",)),
    "optimize": _Of(_switch, ()),
    "budget": _Of(_seconds, ("search", "budget_seconds"), "search"),
    "iterations": _Of(_count, ("search", "iterations"), "search"),
    "seed": _Of(_count32, ("search", "seed"), "search"),
    "objective": _Of(_text, ("search", "objective"), "search", words=("nodes", "cost")),
    "move_cost": _Of(_number, ("search", "move_cost"), "search"),
    "max_evictions": _Of(_count, ("search", "max_evictions"), "search"),
    "trials": _Of(_count32, ("trials", "trials"), "trials"),
    "robust": _Of(_number, ("trials", "robust"), "trials"),
    "nominated_share": _Of(_number, ("trials", "nominated_share"), "trials"),
    "stable": _Of(_switch, ()),
    "stable_margin": _Of(_number, ("stable", "margin"), "stable"),
    "stable_greedy_every": _Of(_count32, ("stable", "greedy_every"), "stable"),
    "stable_verify_every": _Of(_count32, ("stable", "verify_every"), "stable"),
    "replace": _Of(_switch, ("replace",)),
    "max_new_nodes": _Of(_count32, ("replace", "max_new_nodes"), "replace"),
    "machine_types": _Of(text_of, ("replace", "machine_types"), "replace"),
    "machine_type_groups": _Of(_names, ("replace", "machine_type_groups"), "replace"),
    "max_tries": _Of(_count, ("replace", "max_tries"), "replace"),
    "replace_budget": _Of(_seconds, ("replace", "budget_seconds"), "replace"),
    "min_saving": _Of(_number, ("replace", "min_saving"), "replace"),
    "min_score": _Of(_number, ("replace", "min_score"), "replace"),
    "allow_spot": _Of(_switch, ("replace", "allow_spot"), "replace"),
    "nodes": _Of(_names, ()),
    "node_groups": _Of(text_of, ()),
    "prices": _Of(_prices_of, ()),
}
_KINDS: dict[str, Callable[[str, object], Any]] = {
    "switch": _switch,
    "number": _whole,
    "seconds": _whole_seconds,
    "fraction": _number,
    "percent": _number,
    "word": _text,
    "text": _text,
    "file": lambda name, value: text_of(name, value)[0],
    "list": _names,
}


@cache
def _table() -> tuple[dict[str, _Of], dict[str, str]]:
    """All options by name, and why some flags are not options."""
    options, others = dict(_INPUT), {}
    for row in loads(_native.option_table()):
        if "flag" not in row:
            continue
        name = row["flag"].replace("-", "_")
        if row["about"] == "rounds":
            if name not in options:
                others[name] = "only rounds depend on it (ebb run)"
            continue
        options[name] = _Of(
            _KINDS[row["kind"]],
            tuple(row["option"].split(".")),
            load=row["option"].startswith("load."),
            words=tuple(row.get("words", ())),
        )
    return options, others


def option_names() -> list[str]:
    return sorted(_table()[0])


def _read(name: str, value: object) -> tuple[_Of, Any]:
    options, others = _table()
    if name in others:
        raise OptionError(f"{name}: is not an option of a plan: {others[name]}", field=name)
    if name not in options:
        near = difflib.get_close_matches(name, options, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise OptionError(f"{name}: unknown option{hint}", field=name)
    option = options[name]
    read = option.read(name, value)
    if option.words and read not in option.words:
        raise _wrong(name, value, "one of " + ", ".join(option.words))
    return option, read


def _put(into: Json, path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        into = into.setdefault(key, {})
    into[path[-1]] = value


class Question(NamedTuple):
    """Options, checked: a PlanInput without its settings, the settings, and the way of loading."""

    input: Json
    settings: Json  # Of the planner.
    load: Json  # The options below "load".
    names: tuple[str, ...]
    search: bool

    def message(self) -> Json:
        message = dict(self.input)
        settings = dict(self.settings)
        if self.load:
            options = dict(settings.get("options", {}))
            options["load"] = self.load
            settings["options"] = options
        if settings:
            message["settings"] = settings
            message["settings_over_session"] = True
        return message


def read_options(options: Mapping[str, object], *, always_search: bool = False) -> Question:
    """Checks everything that can be checked without a cluster.  Raises OptionError."""
    message: Json = {}
    settings: Json = {}
    given: Json = {}
    load: Json = {}
    parts: dict[str, list[str]] = {"search": [], "trials": [], "stable": [], "replace": []}
    replaces = bool(options.get("replace"))
    for name, value in options.items():
        if not isinstance(name, str):
            raise OptionError(f"options: {name!r} is not a name")
        if value is None:
            continue
        option, read = _read(name, value)
        if name == "move_cost" and replaces:
            option = option._replace(path=("replace", name), part="replace")
        if option.part:
            parts[option.part].append(name)
        if name in ("optimize", "stable", "replace"):
            given[name] = read
        elif name == "nodes":
            settings["group_sizes"] = [_group_size(each) for each in read]
        elif name == "node_groups":
            settings["node_groups"], settings["node_groups_name"] = read
        elif name == "prices":
            message["prices"], message["prices_name"] = read
        elif name == "machine_types":
            text, file = read
            message.setdefault("replace", {}).update(machine_types=text, machine_types_name=file)
        elif name == "objective":
            _put(message, option.path, read.upper())
        elif name in _INPUT:
            _put(message, option.path, read)
        elif option.load:
            _put(load, option.path[1:], read)
        else:
            _put(settings.setdefault("options", {}), option.path, read)
    search = always_search or given.get("optimize", False)
    _settle(message, parts, search, given)
    return Question(message, settings, load, tuple(n for n, v in options.items() if v is not None), search)


def _settle(message: Json, parts: dict[str, list[str]], search: bool, given: Json) -> None:
    """Asks for the parts that are wanted.  An option of another part would have no effect."""
    seed = message.get("search", {}).get("seed")
    if "robust" in parts["trials"] or message.get("trials", {}).get("trials", 0) > 0:
        trials = message["trials"]
        trials.setdefault("trials", 20)
        trials["seed"] = 1 if seed is None else seed
    else:
        message.pop("trials", None)
        for name in parts["trials"]:
            if name != "trials":
                raise OptionError(f"{name}: pass trials too", field=name)
    if search:
        message.setdefault("search", {})
    else:
        message.pop("search", None)
        for name in parts["search"]:
            if name != "seed" or "trials" not in message:
                raise OptionError(f"{name}: pass optimize=True too", field=name)
    for part in ("stable", "replace"):
        if given.get(part, False):
            message.setdefault(part, {})
        elif parts[part]:
            name = parts[part][0]
            raise OptionError(f"{name}: pass {part}=True too", field=name)


def _group_size(text: str) -> Json:
    parts = text.split(":", 2)
    if len(parts) != 3 or not parts[0].isdigit() or not parts[1].isdigit() or not parts[2]:
        raise _wrong("nodes", text, "MIN:MAX:NAME")
    low, high = _count("nodes", int(parts[0])), _count("nodes", int(parts[1]))
    if low > high:
        raise OptionError(f"nodes: {text}: the smallest size is above the largest", field="nodes")
    return {"name": parts[2], "min_size": low, "max_size": high}


def check_options(options: Mapping[str, OptionValue]) -> None:
    """Raises OptionError if `options` has an unknown name, a wrong type, or an option without effect.

    It needs no cluster.  The library checks ranges when a question is asked.
    """
    read_options(options)


def named_in(error: Error, names: tuple[str, ...]) -> Error:
    """An OptionError, if the library rejected one of these options."""
    options = _table()[0]
    if type(error) is not InputError:
        return error
    # "replace: max_new_nodes: ..." is about max_new_nodes.
    for name in sorted(names, key=lambda each: f"replace: {each}:" not in error.message):
        path = ".".join(options[name].path)
        spelt = [path, *(["input." + path] if path else []), f"replace: {name}"]
        if any(f"{each}:" in error.message or f"({each})" in error.message for each in spelt if each):
            reason = error.message.removeprefix(f"replace: {name}: ").split(path + ": ", 1)[-1]
            return OptionError(f"{name}: {reason}", field=name)
    return error


def to_json(message: Json) -> bytes:
    return dumps(message, separators=(",", ":")).encode()
