"""An experiment's file merged with those that it extends; every value keeps its file and line.

The files are the core schema of YAML 1.2, as people expect it: `on` and `no` are words, `1:30` is not 90, a key given
twice is an error. An experiment needs neither aliases nor tags nor deep nesting. They are refused before anything is
built from them: an alias can refer to itself, or expand to gigabytes. ruamel.yaml keeps positions by itself, but reads
`1_000` and `0x1f` as numbers and `2026-11-01` as a date, and takes eight times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab.errors import InputError, close_matches

try:
    from yaml import CSafeLoader as SafeLoader  # in C: reads every experiment in a third of the time
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader  # type: ignore[assignment]


DEPTH_MAX = 16
SIZE_MAX_BYTES = 1 << 20
DIGITS_MAX = 40
"""Limits of a file. Experiments are four levels deep, some hundred bytes long, and count to ten million."""

CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that are shown nowhere but change what a terminal or a page does; line ends and blanks are none."""

Place = tuple[str | int, ...]
"""The path to a value: keys of mappings and indices of sequences."""


class _Core(SafeLoader):
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
        """Return the line of a key or item, or of its nearest parent in the file."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def read_yaml(path: Path, shown_as: str) -> YamlFile:
    """Read a file. Raises InputError, with file and line, if it cannot be read or is not YAML."""
    try:
        with path.open("rb") as file:
            raw = file.read(SIZE_MAX_BYTES + 1)
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{shown_as}: cannot be read: {error}") from error
    if len(raw) > SIZE_MAX_BYTES:
        raise InputError(f"{shown_as}: is longer than {SIZE_MAX_BYTES:,} bytes: not an experiment")
    lines: dict[Place, int] = {}
    loader = None
    try:
        _refuse_excess(text, shown_as)
        loader = _Core(text)
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
        if loader is not None:
            loader.dispose()
    return YamlFile(path, value, lines)


def _refuse_excess(text: str, shown_as: str) -> None:
    """Raise InputError for an alias, a tag, a control character, or a nesting or number beyond the limits."""
    depth = 0
    for event in yaml.parse(text, Loader=_Core):
        where = f"{shown_as}:{event.start_mark.line + 1}" if event.start_mark else shown_as
        if isinstance(event, yaml.AliasEvent):
            raise InputError(f"{where}: *{event.anchor} is an alias, and aliases are not allowed: write the value out")
        if isinstance(event, yaml.CollectionStartEvent | yaml.ScalarEvent) and event.tag is not None:
            raise InputError(f"{where}: {event.tag} is a tag, and tags are not allowed: write the value alone")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH_MAX:
                raise InputError(f"{where}: nested more than {DEPTH_MAX} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.ScalarEvent) and (found := CONTROL.search(event.value)):
            raise InputError(f"{where}: has the control character U+{ord(found[0]):04X}: write it without")
        elif (
            isinstance(event, yaml.ScalarEvent)
            and len(event.value) > DIGITS_MAX
            and re.fullmatch(r"[-+]?[0-9]+", event.value)
        ):
            raise InputError(f"{where}: a number of {len(event.value):,} digits; at most {DIGITS_MAX} are read")


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


DECLARATION = "experiment.yaml"
CHAIN_MAX = 4
"""Limit of experiments that extend one another. A reader has to open each of them."""
OWN = frozenset({"title", "question", "reference"})
"""Keys that are not inherited: they describe one experiment only."""


@dataclass(frozen=True)
class Declaration:
    """The declaration of an experiment, completed by the values of those that it extends."""

    value: Any
    shown_as: str
    places: dict[Place, str]

    def where(self, place: Place) -> str:
        """Return `file:line` of a place, or of the nearest place above it that is declared."""
        while place and place not in self.places:
            place = place[:-1]
        return self.places.get(place, f"{self.shown_as}:1")


def read_declaration(experiments: Path, name: str, shown: Callable[[str], str]) -> Declaration:
    """Read `name` and what it extends. `shown` returns a path below `experiments` as the user knows it.

    A mapping is merged key by key; any other value replaces the extended one. Raises InputError for a file that cannot
    be read, an experiment that does not exist, and a chain that is too long or a circle.
    """
    return _read(experiments, name, shown, ())


def _read(experiments: Path, name: str, shown: Callable[[str], str], chain: tuple[str, ...]) -> Declaration:
    shown_as = shown(f"{name}/{DECLARATION}")
    file = read_yaml(experiments / name / DECLARATION, shown_as)
    places = {place: f"{shown_as}:{line}" for place, line in file.lines.items()}
    own = Declaration(file.value, shown_as, places)
    if not isinstance(file.value, dict) or "extends" not in file.value:
        return own
    wanted, where = file.value["extends"], own.where(("extends",))
    chain = (*chain, name)
    known = sorted(path.parent.name for path in experiments.glob(f"*/{DECLARATION}"))
    if wanted not in known:
        near = close_matches(str(wanted), known)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise InputError(f"{where}: extends: no experiment named {wanted!r}{hint}")
    if wanted in chain:
        raise InputError(f"{where}: extends: {' extends '.join((*chain, wanted))}, which is a cycle")
    if len(chain) >= CHAIN_MAX:
        raise InputError(f"{where}: extends: {' extends '.join((*chain, wanted))}: more than {CHAIN_MAX} files")
    base = _read(experiments, wanted, shown, chain)
    if not isinstance(base.value, dict):
        return Declaration(base.value, base.shown_as, base.places)
    inherited = {key: value for key, value in base.value.items() if key not in OWN}
    found = {place: at for place, at in base.places.items() if not place or place[0] not in OWN}
    return Declaration(_merged(inherited, file.value), shown_as, found | places)


def _merged(base: Any, own: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(own, dict):
        return own
    return {**base, **{key: _merged(base.get(key), value) for key, value in own.items()}}
