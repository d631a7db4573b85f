"""YAML with positions: every value's line is known, so that an error can name it.

The core schema of YAML 1.2, as people expect it: `on` and `no` are words, `1:30` is not 90, a key given twice is an
error, anchors are allowed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab.errors import InputError

Place = tuple[str | int, ...]
"""The way to a value: keys of mappings and indices of sequences."""


class _Core(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2's core schema only."""


_Core.yaml_implicit_resolvers = {}
_Core.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Core.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_Core.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789"))
_Core.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$"),
    list("-+0123456789."),
)


@dataclass(frozen=True)
class YamlFile:
    """A parsed file: its value, and the line (from 1) of every key and item in it."""

    path: Path
    value: Any
    lines: dict[Place, int]

    def line_of(self, place: Place) -> int:
        """Return the line of a place, or of the nearest place above it that the file has."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def read_yaml(path: Path, shown_as: str) -> YamlFile:
    """Read a file. Raises InputError, with file and line, where it cannot be read or is not YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{shown_as}: cannot be read: {error}") from error
    loader = _Core(text)
    lines: dict[Place, int] = {}
    try:
        node = loader.get_single_node()
        if node is None:
            return YamlFile(path, None, lines)
        _walk(node, (), lines, shown_as)
        value = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{shown_as}:{mark.line + 1}" if mark else shown_as
        raise InputError(f"{where}: not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{shown_as}: not YAML: {error}") from error
    finally:
        loader.dispose()
    return YamlFile(path, value, lines)


def _walk(node: yaml.Node, place: Place, lines: dict[Place, int], shown_as: str) -> None:
    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            line = key.start_mark.line + 1
            if name in seen:
                raise InputError(f"{shown_as}:{line}: key {'.'.join(map(str, (*place, name)))} is given twice")
            seen.add(name)
            lines[(*place, name)] = line
            _walk(value, (*place, name), lines, shown_as)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _walk(item, (*place, index), lines, shown_as)
