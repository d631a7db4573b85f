"""The two sides of a comparison as the user named them: an experiment with overrides, `stack-get VARIANT=queue`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import InputError, did_you_mean
from lab.experiment import Catalogue, Experiment, apply_overrides
from lab.experiment.catalogue import JAR, of_jar, short_name
from lab.experiment.overrides import OVERRIDABLE
from lab.experiment.rate import AUTO, SaturationOf

SETTABLE = (*OVERRIDABLE, "scale")
"""Settings that change an experiment; the others are the comparison's own."""
NOT_COMPARED = frozenset({"title", "question", "reference", "repeat"})
"""Keys of an experiment that do not affect any figure."""
REFUSED = {"repeat": "BLOCKS says how often each side is started"}


@dataclass(frozen=True)
class Revision:
    """A revision as the user named it, its commit, and the checkout in which its service is built."""

    name: str
    commit: str
    root: Path


@dataclass(frozen=True)
class Side:
    """One side: `label` as the user named it, the experiment with its overrides, and those overrides by key.

    `revision` is None for the service of this checkout.
    """

    label: str
    name: str
    experiment: Experiment
    overrides: Mapping[str, Any]
    revision: Revision | None = None


@dataclass(frozen=True)
class Differences:
    """The differences of the sides, as sentences: what is compared (the service), and what differs besides it."""

    compared: tuple[str, ...]
    besides: tuple[str, ...]


def read_side(
    catalogue: Catalogue,
    which: str,
    text: str,
    common: Mapping[str, str],
    saturation_of: Callable[[str], SaturationOf],
) -> Side:
    """Read a side; `which` is `A` or `B`, `common` are overrides of both sides, which the side's own replace.

    `saturation_of` returns the base of RATE=auto for an experiment by its name.

    Raises InputError that begins with the side for an unknown experiment, a word that is no override, a bad value.
    """
    name, *words = _words(which, text)
    given = {**common, **parse_words(words, SETTABLE, f"{which}={text}")}
    for key, why in REFUSED.items():
        if key in given:
            raise InputError(f"{which}={text}: {key.upper()} cannot be set in a comparison: {why}")
    try:
        experiment = of_jar(name, given) if name.endswith(JAR) else catalogue.find(name)
        experiment, overrides = apply_overrides(experiment, given, saturation_of(name))
    except InputError as error:
        raise InputError(f"{which}: {error.message}", error.hint) from error
    if experiment.sweep_per_s:
        rates = ", ".join(map(str, experiment.sweep_per_s))
        raise InputError(
            f"{which}: {name} is a sweep over {rates}/s: name the rate to compare at, RATE={rates.split(',')[0]}"
        )
    return Side(" ".join([name, *words]), short_name(name), experiment, overrides)


def at_the_rate_of(a: Side, common: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of side B if `common` are those of both: RATE=auto is the rate that it is for side A.

    Two services are compared under the same load, so a rate that is fitted to one of them is the other's too.
    """
    if AUTO not in {common.get(key, "").strip().lower() for key in ("rate", "scale")}:
        return dict(common)
    others = {key: text for key, text in common.items() if key not in ("rate", "scale")}
    return {**others, "rate": str(a.experiment.load.rate_per_s)}


def parse_words(words: Iterable[str], known: Iterable[str], where: str) -> dict[str, str]:
    """Return `KEY=value` words by lower-case key. Raises InputError for another word, and for a key not in `known`."""
    names = {key.upper(): key for key in known}
    given = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not value:
            raise InputError(f"{where}: {word!r} is not KEY=value, such as 'VARIANT=queue'")
        if key not in names:
            near = did_you_mean(key.upper(), names)
            raise InputError(f"{where}: no such setting {key}{near}; available: {', '.join(sorted(names))}")
        given[names[key]] = value
    return given


def differences(a: Experiment, b: Experiment) -> Differences:
    """Return the differences of two experiments."""
    return differences_of(a.resolved(), b.resolved())


def differences_of(a: Mapping[str, Any], b: Mapping[str, Any]) -> Differences:
    """Return the differences of two resolved experiments: in the service, which is compared, and besides it."""
    flat_a, flat_b = _flat(a), _flat(b)
    compared: list[str] = []
    besides: list[str] = []
    for key in sorted(flat_a.keys() | flat_b.keys()):
        if flat_a.get(key) != flat_b.get(key):
            line = f"{key}: {flat_a.get(key) or 'default'} against {flat_b.get(key) or 'default'}"
            (compared if key.startswith("service.") else besides).append(line)
    return Differences(tuple(compared), tuple(besides))


def _words(which: str, text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{which}={text}: {error}") from error
    if not words:
        raise InputError(f"{which} is empty: name an experiment, such as stack-get or 'stack-get VARIANT=queue'")
    return words


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    if isinstance(value, Mapping):
        found: dict[str, str] = {}
        for key, inner in value.items():
            if prefix or key not in NOT_COMPARED:
                found |= _flat(inner, f"{prefix}.{key}" if prefix else str(key))
        return found
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {prefix: " ".join(map(str, value))}
    return {prefix: str(value)}
