"""Mappings that users write, read so that no key is lost: the same key twice is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import SweepError


def load_yaml(text: str) -> Any:
    """As yaml.safe_load.  Raises yaml.YAMLError, and SweepError for a key that a mapping has twice."""
    import yaml

    _check(yaml.compose(text, Loader=yaml.SafeLoader), set())
    return yaml.safe_load(text)


def snake_keys(given: Mapping[Any, Any], where: str) -> dict[str, Any]:
    """The mapping with "_" for "-" in its keys."""
    made: dict[str, Any] = {}
    for key, value in given.items():
        name = str(key).replace("-", "_")
        if name in made:
            raise SweepError(f"{where}: {name} stands there twice; - and _ are the same")
        made[name] = value
    return made


def _check(node: Any, seen: set[int]) -> None:
    import yaml

    if id(node) in seen:  # An alias of YAML.
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            _check(each, seen)
    elif isinstance(node, yaml.MappingNode):
        keys: set[tuple[str, str]] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in keys:
                    raise SweepError(f"line {key.start_mark.line + 1}: {key.value} stands there twice")
                keys.add((key.tag, key.value))
            _check(value, seen)
