"""The plan of a comparison, and the state of each side during it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lab.calibration import read_calibration
from lab.compare.design import Design, Windows
from lab.compare.record import LETTERS, ComparisonRecord, DesignRecord, SideRecord
from lab.compare.sides import Side, differences
from lab.cpu_plan import CpuPlan
from lab.experiment import Experiment
from lab.experiment.model import ProfileSettings
from lab.manifest import Git
from lab.paths import Checkout
from lab.run.driver import Part
from lab.run.phases import Phases
from lab.run.repetition import Repetition
from lab.run.session import Session
from lab.run.show import Show
from lab.run.state import RunPlan, RunState
from lab.runtime.base import Ports, Runtime

KIND = "compare"


@dataclass(frozen=True)
class ComparePlan:
    """The plan of a comparison. `compared` names differences besides those in the experiments' declarations.

    The first of `sides` is the baseline. With `recorded`, the others are profiled like this in each of their windows:
    the comparison shows what profiling costs.
    """

    checkout: Checkout
    sides: tuple[Side, ...]
    design: Design
    runtime: Runtime
    cpus: CpuPlan
    ports: Ports
    compared: tuple[str, ...] = ()
    recorded: ProfileSettings | None = None

    @property
    def warmup_given(self) -> bool:
        """Whether the user set the warm-up of a side."""
        return any("warmup" in side.overrides for side in self.sides)

    def with_one_warmup(self) -> ComparePlan:
        """Return the plan with the longest warm-up for all sides, unless the user set one."""
        if self.warmup_given:
            return self
        warmup_s = max(side.experiment.load.warmup_s for side in self.sides)
        sides = tuple(replace(side, experiment=with_warmup(side.experiment, warmup_s)) for side in self.sides)
        return replace(self, sides=sides)


@dataclass
class RunningSide(Part):
    """The state of one side during the comparison."""

    letter: str
    side: Side
    windows: Windows
    blocks_max: int

    @staticmethod
    def of(plan: ComparePlan, at: int, windows: Windows, phases: Phases, show: Show) -> RunningSide:
        """Make the side of a plan with this index; nothing is started."""
        side, letter = plan.sides[at], LETTERS[at]
        run_plan = RunPlan(
            checkout=plan.checkout,
            name=side.name,
            experiment=_cut(side.experiment, windows, plan.design.blocks),
            overrides=side.overrides,
            runtime=plan.runtime,
            cpus=plan.cpus,
            ports=plan.ports,
            monitoring=False,
            beside=at > 0,
            service_root=None if side.revision is None else side.revision.root,
        )
        state = RunState(run_plan)
        if side.revision is not None:
            state.environment.git = Git(commit=side.revision.commit, dirty=False)
        session = Session(state, phases, show)
        return RunningSide(letter.upper(), state, phases, session, letter, side, windows, plan.design.blocks)

    def set_warmup(self, warmup_s: float) -> None:
        """Set the warm-up of every further start, in run.json too."""
        state = self.state
        self.side = replace(self.side, experiment=with_warmup(self.side.experiment, warmup_s))
        state.plan = replace(state.plan, experiment=with_warmup(state.plan.experiment, warmup_s))
        state.artifacts.manifest.experiment.resolved = state.plan.experiment

    def repetition(self, block: int, window: int) -> Repetition:
        """Return window number `window` of a block, both from 1."""
        state, count = self.state, self.windows.count
        return Repetition(
            state.plan.experiment,
            state.dataset,
            state.directory,
            state.environment,
            number=(block - 1) * count + window,
            of=self.blocks_max * count,
            label=f"{self.letter.upper()} {block}/{self.blocks_max}",
        )


def with_warmup(experiment: Experiment, warmup_s: float) -> Experiment:
    """Return the experiment with another warm-up."""
    return experiment.model_copy(update={"load": experiment.load.model_copy(update={"warmup_s": warmup_s})})


def names_of(sides: Sequence[Side]) -> list[str]:
    """Return the names of the sides in sentences: their labels, with a letter if another one has the same label."""
    labels = [side.label for side in sides]
    return [
        label if labels.count(label) == 1 else f"{letter} ({label})"
        for letter, label in zip(LETTERS.upper(), labels, strict=False)
    ]


def first_record(plan: ComparePlan, comparison_id: str, windows: Windows) -> ComparisonRecord:
    """Return what the record says before the first block: what is compared, and what is fixed beforehand."""
    design, (a, *others) = plan.design, plan.sides
    differ = [
        (letter, differences(a.experiment, one.experiment))
        for letter, one in zip(LETTERS.upper()[1:], others, strict=False)
    ]
    of = "{}: " if len(others) > 1 else ""
    return ComparisonRecord(
        id=comparison_id,
        how="in turns",
        runtime=plan.runtime.name,  # type: ignore[arg-type]
        sides=[_side_record(side, letter) for letter, side in zip(LETTERS, plan.sides, strict=False)],
        compared=[*(of.format(letter) + line for letter, one in differ for line in one.compared), *plan.compared],
        besides=[of.format(letter) + line for letter, one in differ for line in one.besides],
        design=DesignRecord(
            blocks=design.blocks,
            within=design.within,
            metric=design.metric,
            seed=design.seed,
            orders=design.orders(len(plan.sides)),
            windows=windows.count,
            window_s=float(windows.length_s),
            warmup_s=a.experiment.load.warmup_s,
            calibration=calibrated_differences(plan.checkout),
        ),
    )


def calibrated_differences(checkout: Checkout) -> str | None:
    """Return the smallest differences that this machine can show, by its last calibration."""
    calibration = read_calibration(checkout)
    if calibration is None or not calibration.smallest_difference:
        return None
    sizes = ", ".join(f"{metric} {size:.1%}" for metric, size in calibration.smallest_difference.items())
    return f"{sizes} with {calibration.pairs} pairs of starts ({calibration.experiment})"


def _side_record(side: Side, directory: str) -> SideRecord:
    return SideRecord(
        label=side.label,
        name=side.name,
        title=side.experiment.title,
        overrides=dict(side.overrides),
        directory=directory,
    )


def _cut(experiment: Experiment, windows: Windows, blocks: int) -> Experiment:
    """Return the experiment of one window, which the side repeats."""
    load = experiment.load.model_copy(update={"duration_s": float(windows.length_s)})
    return experiment.model_copy(update={"load": load, "repeat": blocks * windows.count})
