"""The experiments and datasets of a checkout: found, read and checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from lab.errors import InputError, close_matches, did_you_mean
from lab.experiment.dataset_spec import DatasetSpec
from lab.experiment.declaration import DECLARATION, Declaration, Place, YamlFile, read_declaration, read_yaml
from lab.experiment.explain import explain
from lab.experiment.model import Experiment, Rate, Reference
from lab.experiment.quantities import Bytes, Count, Strict
from lab.experiment.script import read_script
from lab.experiment.service import PATHS, beside
from lab.paths import Checkout
from lab.units import COUNT_FORM

JAR = ".jar"
EXAMPLES = {"GET": "GET=/api/cart/17", "RATE": "RATE=800"}


class DatasetDeclaration(Strict):
    """One entry of datasets.yaml."""

    pairs: Annotated[Count, Field(ge=1, le=1_000_000_000)]
    value_bytes: Annotated[Bytes, Field(ge=1, le=2**20)]
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    tables: Annotated[Count, Field(ge=1, le=4096)] = 1
    overlapping: Literal[True] | None = None
    unique_percent: Annotated[Count, Field(ge=1, le=100)] | None = None
    one_byte_pairs: Annotated[Count, Field(ge=1, le=1_000_000_000)] | None = None
    block_bytes: Annotated[Bytes | None, Field(ge=64, le=2**24)] = None
    bloom_bits_per_key: Annotated[Count, Field(ge=0, le=64)] | None = None
    compression: Literal["none", "lz4"] | None = None


@dataclass(frozen=True)
class Catalogue:
    """Reads on demand; keeps nothing."""

    checkout: Checkout

    def names(self) -> list[str]:
        """Return the names of all experiments: the directories that hold a declaration."""
        return sorted(path.parent.name for path in self.checkout.experiments.glob(f"*/{DECLARATION}"))

    def find(self, name: str) -> Experiment:
        """Read one experiment, by its name or by the path of its directory. Raises InputError as `read` does."""
        own = own_directory(name)
        if own is None or name in self.names():
            return self.read(name)
        declared = read_declaration(own.parent, own.name, lambda inner: str(own.parent / inner))
        experiment = self._validate(declared, own)
        self._check_references(experiment, declared)
        return experiment

    def read(self, name: str) -> Experiment:
        """Read one experiment and check everything that can be checked without building anything.

        Raises InputError: no such experiment, or everything that is wrong with its file, one line per finding.
        """
        names = self.names()
        if name not in names:
            near = close_matches(name, names, limit=5)
            hint = f"Close to it: {', '.join(near)}" if near else f"There are: {', '.join(names) or 'none'}"
            raise InputError(f"no experiment named {name!r} in {self._shown('')}", hint)
        declared = read_declaration(self.checkout.experiments, name, self._shown)
        experiment = self._validate(declared, self.checkout.experiments / name)
        self._check_references(experiment, declared)
        return experiment

    def where(self, name: str, place: Place) -> str:
        """Return file and line of a place in an experiment's declaration."""
        return read_declaration(self.checkout.experiments, name, self._shown).where(place)

    def datasets(self) -> dict[str, DatasetSpec]:
        """Return all declared datasets by name."""
        shown_as = self._shown("datasets.yaml")
        path = self.checkout.experiments / "datasets.yaml"
        if not path.exists():
            return {}
        file = read_yaml(path, shown_as)
        if not isinstance(file.value, dict):
            raise InputError(f"{shown_as}: must be a mapping of names to datasets")
        specs = {}
        for name, body in file.value.items():
            try:
                declared = DatasetDeclaration.model_validate(body)
            except ValidationError as error:
                raise InputError(explain(error, DatasetDeclaration, _locator(file, shown_as, str(name)))) from error
            specs[str(name)] = DatasetSpec(str(name), **declared.model_dump())
        return specs

    def dataset(self, name: str) -> DatasetSpec:
        """Return one dataset. Raises InputError if it is not declared."""
        known = self.datasets()
        if name not in known:
            raise InputError(
                f"no dataset named {name!r}{did_you_mean(name, known)}; declared: {', '.join(known) or 'none'}"
            )
        return known[name]

    def scripts(self) -> list[str]:
        """Return the names of the workloads."""
        return sorted(path.name for path in self.checkout.scripts.glob("*.lua"))

    def categories(self) -> list[str]:
        """Return the names of the categories that a profile is divided into, "other" last."""
        with self.checkout.categories.open("rb") as file:
            rules = tomllib.load(file)
        return [*(str(rule["name"]) for rule in rules["category"]), "other"]

    def _shown(self, name: str) -> str:
        path = self.checkout.experiments / name
        return str(path.relative_to(self.checkout.root)) if path.is_relative_to(self.checkout.root) else str(path)

    def _validate(self, declared: Declaration, directory: Path) -> Experiment:
        value: Any = declared.value
        if isinstance(value, dict) and "service" in value:
            value = {**value, "service": beside(value["service"], directory)}
            load = value.get("load")
            if isinstance(load, dict) and "/" in str(load.get("script", "")):
                value["load"] = {**load, "script": str(directory / str(load["script"]))}
        if isinstance(value, dict) and value.get("profile") is False:
            value = {**value, "profile": None}
        rates = sweep_rates(declared)
        if rates:
            value = {**value, "load": {**value["load"], "rate": rates[0]}}
        try:
            experiment = TypeAdapter(Experiment).validate_python(value)
        except ValidationError as error:
            raise InputError(explain(error, Experiment, declared.where)) from error
        if experiment.reference is not None:
            _check_published(experiment.reference, rates, declared)
            experiment = experiment.model_copy(update={"reference": experiment.reference.under(experiment.load)})
        return experiment.swept(rates) if rates else experiment

    def _check_references(self, experiment: Experiment, declared: Declaration) -> None:
        if experiment.dataset is not None and experiment.dataset not in (known := self.datasets()):
            where = declared.where(("dataset",))
            raise InputError(
                f"{where}: dataset: {experiment.dataset!r} is not declared in {self._shown('datasets.yaml')}"
                f"{did_you_mean(experiment.dataset, known)}; declared: {', '.join(known) or 'none'}"
            )
        for index, share in enumerate(experiment.reference.shares if experiment.reference else ()):
            for name in share.categories:
                if name not in (known_categories := self.categories()):
                    where = declared.where(("reference", "shares", index, "categories"))
                    raise InputError(
                        f"{where}: reference.shares.{index}.categories: no category named {name!r}"
                        f"{did_you_mean(name, known_categories)}; available: {', '.join(known_categories)}"
                    )
        for key, what in PATHS.items():
            path = getattr(experiment.service, key)
            if path is not None and not Path(path).exists():
                raise InputError(f"{declared.where(('service', key))}: service.{key}: there is no {what} {path}")
        script = experiment.load.script
        if script is None:
            return
        if Path(script).is_absolute():
            read_script(Path(script))
            return
        if script not in (scripts := self.scripts()):
            raise InputError(
                f"{declared.where(('load', 'script'))}: load.script: {script!r} is not in loadgen/scripts"
                f"{did_you_mean(script, scripts)}; available: {', '.join(scripts) or 'none'}"
            )
        read_script(self.checkout.scripts / script, f"loadgen/scripts/{script}")


def own_directory(name: str) -> Path | None:
    """Return the directory of an experiment that is named by its path; None for another name."""
    path = Path(name).expanduser()
    if path.name == DECLARATION:
        path = path.parent
    return path.resolve() if (path / DECLARATION).is_file() else None


def short_name(name: str) -> str:
    """Return the name under which an experiment's results are kept: that of its directory, or of its jar."""
    own = own_directory(name)
    words = name if own is None and not name.endswith(JAR) else (own or Path(name)).name
    return re.sub(r"[^\w.-]+", "-", words.removesuffix(JAR)).strip("-.") or "service"


def of_jar(path: str, load: Mapping[str, str]) -> Experiment:
    """Return the experiment that loads a jar, which is started where the user is. `load` has `rate` and `get` at least.

    Raises InputError if there is no such jar, or if the load lacks one of them.
    """
    if not Path(path).is_file():
        raise InputError(f"{path}: there is no such jar")
    if missing := [key.upper() for key in ("get", "rate") if key not in load]:
        raise InputError(
            f"{path}: {' and '.join(missing)} missing: a jar does not say how to load it",
            f"Type them: {' '.join(EXAMPLES[key] for key in missing)}",
        )
    document = {"service": {"jar": path}, "load": {"get": load["get"], "rate": 1}}
    document["service"] = beside(document["service"], Path.cwd())
    try:
        return Experiment.model_validate(document)
    except ValidationError as error:
        raise InputError(explain(error, Experiment, lambda _: f"GET={load['get']}")) from error


def sweep_rates(declared: Declaration) -> tuple[int, ...]:
    """Return the rates of a sweep, ascending; empty if `load.rate` is not a list. Raises InputError."""
    load = declared.value.get("load") if isinstance(declared.value, dict) else None
    given = load.get("rate") if isinstance(load, dict) else None
    if not isinstance(given, list):
        return ()
    rates: list[int] = []
    for index, entry in enumerate(given):
        where = f"{declared.where(('load', 'rate', index))}: load.rate.{index}"
        try:
            rate: int = TypeAdapter(Rate).validate_python(entry)
        except ValidationError as error:
            raise InputError(f"{where}: {entry!r} is not a rate: {COUNT_FORM}, from 1 to 10,000,000") from error
        if rates and rate <= rates[-1]:
            order = "is given twice" if rate in rates else f"comes after {rates[-1]:,}"
            raise InputError(f"{where}: {entry!r} {order}: write the rates of a sweep in ascending order, each once")
        rates.append(rate)
    if len(rates) < 2:
        where = declared.where(("load", "rate"))
        raise InputError(f"{where}: load.rate: a sweep has at least 2 rates, not {len(rates)}: [1000, 2000, 5000]")
    return tuple(rates)


def _check_published(reference: Reference, rates: tuple[int, ...], declared: Declaration) -> None:
    """Refuse reference figures for a rate that the experiment does not have."""
    if reference.at and not rates:
        where = declared.where(("reference", "at"))
        raise InputError(
            f"{where}: reference.at: is only for sweeps; write rate, requests_per_second and latency instead"
        )
    if rates and reference.rate_per_s is not None:
        where = declared.where(("reference", "rate"))
        raise InputError(f"{where}: reference.rate: this is a sweep: write the figures of each rate under at")
    for index, figures in enumerate(reference.at):
        if figures.rate_per_s not in rates:
            where = declared.where(("reference", "at", index))
            allowed = ", ".join(map(str, rates))
            raise InputError(
                f"{where}: reference.at.{index}: {figures.rate_per_s} is not a rate of this sweep: {allowed}"
            )


def _locator(file: YamlFile, shown_as: str, name: str) -> Callable[[Place], str]:
    return lambda place: f"{shown_as}:{file.line_of((name, *place))}: {name}"
