"""An experiment's file merged with those that it extends; every value keeps its file and line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import InputError, close_matches
from lab.experiment.yaml_file import Place, read_yaml

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
