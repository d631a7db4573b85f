"""Values of an experiment that one run may override: `make experiment NAME=… RATE=20000 DURATION=20s`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from lab.errors import InputError
from lab.experiment import tenant
from lab.experiment.declaration import Place
from lab.experiment.explain import explain
from lab.experiment.model import Experiment
from lab.experiment.rate import Saturation, SaturationOf, chosen, split_rate
from lab.units import duration_word

OVERRIDABLE: dict[str, Place] = {
    "get": ("load", "get"),
    "rate": ("load", "rate"),
    "duration": ("load", "duration"),
    "warmup": ("load", "warmup"),
    "threads": ("load", "threads"),
    "connections": ("load", "connections"),
    "repeat": ("repeat",),
    **{name: ("service", name) for name in tenant.OPTIONS},
    "profile": ("profile",),
}
"""The option's name, and the place in the declaration that it overrides."""

UNTITLED = frozenset({"get", "rate", "scale", "warmup", "repeat", "profile"})
"""Settings that a title does not name: the rate is in it anyway, and the others change how the same is measured."""
PROFILE_WORDS = ("on", "off")
_FIELDS = {"rate": "rate_per_s", "duration": "duration_s", "warmup": "warmup_s"}


def nothing_measured(_: Experiment) -> Saturation:
    """Refuse RATE=auto: no measurement is available here."""
    raise InputError("RATE=auto: there is nothing to base it on", "give the rate itself: RATE=20000, or SCALE=0.3")


def apply_overrides(
    experiment: Experiment, given: Mapping[str, str], saturation_of: SaturationOf = nothing_measured
) -> tuple[Experiment, dict[str, Any]]:
    """Return the experiment with these values, and the parsed values, for run.json.

    A sweep stays a sweep, except with a rate: that is one of its points, or a rate between them. `scale` and the rate
    `auto` are no places of a declaration (lab/experiment/rate.py); `rate` in run.json records them. Raises InputError
    that names the setting as make knows it (`RATE`) and the values that are allowed.
    """
    settings, scale = split_rate(dict(given))
    changed, understood = _changed(experiment, settings)
    changed = chosen(changed, scale, experiment, saturation_of)
    if scale is not None:
        understood["scale"] = scale.strip().lower()
        if not changed.sweep_per_s:
            understood["rate"] = changed.load.rate_per_s
    elif understood.get("rate") in experiment.sweep_per_s:
        del understood["rate"]  # a point of a sweep is as declared
    return changed.model_copy(update={"title": _title(changed, experiment, understood)}), understood


def _title(changed: Experiment, declared: Experiment, understood: Mapping[str, Any]) -> str:
    """Return a title that says what runs: with its rate, and with what else was set for the service and the load."""
    title = changed.title if declared.sweep_per_s else declared.offered(changed.load.rate_per_s).title
    words = [name.replace("_", " ") + f" {value}" for name, value in understood.items() if name not in UNTITLED]
    return f"{title} ({', '.join(words)})" if words else title


def _changed(experiment: Experiment, given: Mapping[str, str]) -> tuple[Experiment, dict[str, Any]]:
    document = experiment.model_dump(by_alias=True, exclude_none=True, exclude={"reference"})
    document = _in_units(document)
    if experiment.profile is None:
        document["profile"] = None
    if "profile" in given:
        document["profile"] = _profile(given["profile"], experiment)
    for name, text in given.items():
        if name == "profile":
            continue
        place = OVERRIDABLE[name]
        target = document
        for step in place[:-1]:
            target = target[str(step)]
        target[str(place[-1])] = text
    names = {place: name for name, place in OVERRIDABLE.items()}

    def where(place: Place) -> str:
        name = names.get(place)
        if name is not None and name in given:
            return f"{name.upper()}={given[name]}"
        return " ".join(f"{key.upper()}={value}" for key, value in given.items())

    try:
        changed = Experiment.model_validate(document)
    except ValidationError as error:
        raise InputError(_without_places(explain(error, Experiment, where), given)) from error
    understood = {name: _understood(changed, name) for name in given}
    changed = changed.model_copy(update={"reference": experiment.reference})
    if experiment.sweep_per_s:
        changed = changed.swept(experiment.sweep_per_s)
        if "rate" in given:
            changed = changed.at_rate(understood["rate"])
    return changed, understood


def _profile(word: str, experiment: Experiment) -> dict[str, Any] | None:
    """Return the declaration of the profile: none, the experiment's own, or the default."""
    if word not in PROFILE_WORDS:
        raise InputError(f"PROFILE={word}: is not allowed; allowed: {' or '.join(PROFILE_WORDS)}")
    if word == "off":
        return None
    if experiment.profile is None:
        return {}
    profile = experiment.profile.model_dump(by_alias=True)
    return {**profile, "interval": f"{profile['interval']:.6f}s"}


def _without_places(message: str, given: Mapping[str, str]) -> str:
    """Leave out the place in the file, because the setting was wrong."""
    for name in given:
        message = message.replace(f"={given[name]}: {'.'.join(map(str, OVERRIDABLE[name]))}: ", f"={given[name]}: ")
    return message


def _understood(experiment: Experiment, name: str) -> Any:
    if name == "profile":
        return "off" if experiment.profile is None else "on"
    value: Any = experiment
    for step in OVERRIDABLE[name]:
        value = getattr(value, _FIELDS.get(str(step), str(step)))
    return duration_word(value) if name in ("duration", "warmup") else value


def _in_units(document: dict[str, Any]) -> dict[str, Any]:
    """Give dumped durations their unit back, as the strict parsers require."""
    load = document["load"]
    for key in ("duration", "warmup", "timeout"):
        if key in load:
            load[key] = f"{load[key]:.6f}s"
    if "start_limit" in document["service"]:
        document["service"]["start_limit"] = f"{document['service']['start_limit']:.6f}s"
    for one in tenant.KNOWN.values():
        if one.name.endswith("_ms") and one.key in document["service"]:
            document["service"][one.key] = f"{document['service'][one.key]}ms"
    if document.get("profile"):
        document["profile"]["interval"] = f"{document['profile']['interval']:.6f}s"
    return document
