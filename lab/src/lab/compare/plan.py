"""The plan of a comparison, and the state of each side during it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lab.calibration import read_calibration
from lab.compare.design import Design, Letter, Windows
from lab.compare.record import ComparisonRecord, DesignRecord, SideRecord
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

    With `recorded`, side B is profiled like this in each of its windows: the comparison shows what profiling costs.
    """

    checkout: Checkout
    a: Side
    b: Side
    design: Design
    runtime: Runtime
    cpus: CpuPlan
    ports: Ports
    compared: tuple[str, ...] = ()
    recorded: ProfileSettings | None = None

    @property
    def warmup_given(self) -> bool:
        """Whether the user set the warm-up of either side."""
        return "warmup" in self.a.overrides or "warmup" in self.b.overrides

    def with_one_warmup(self) -> ComparePlan:
        """Return the plan with the longer warm-up of the two for both sides, unless the user set one."""
        if self.warmup_given:
            return self
        warmup_s = max(self.a.experiment.load.warmup_s, self.b.experiment.load.warmup_s)
        sides = (replace(s, experiment=with_warmup(s.experiment, warmup_s)) for s in (self.a, self.b))
        a, b = sides
        return replace(self, a=a, b=b)


@dataclass
class RunningSide(Part):
    """The state of one side during the comparison."""

    letter: Letter
    side: Side
    windows: Windows
    blocks_max: int

    @staticmethod
    def of(plan: ComparePlan, letter: Letter, windows: Windows, phases: Phases, show: Show) -> RunningSide:
        """Make side `letter` of a plan; nothing is started."""
        side = plan.a if letter == "a" else plan.b
        run_plan = RunPlan(
            checkout=plan.checkout,
            name=side.name,
            experiment=_cut(side.experiment, windows, plan.design.blocks),
            overrides=side.overrides,
            runtime=plan.runtime,
            cpus=plan.cpus,
            ports=plan.ports,
            monitoring=False,
            beside=letter == "b",
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


def names_of(a: Side, b: Side) -> tuple[str, str]:
    """Return the names of the sides in sentences: their labels, with A and B if both have the same label."""
    return (a.label, b.label) if a.label != b.label else (f"A ({a.label})", f"B ({b.label})")


def first_record(plan: ComparePlan, comparison_id: str, windows: Windows) -> ComparisonRecord:
    """Return what the record says before the first block: what is compared, and what is fixed beforehand."""
    design, differ = plan.design, differences(plan.a.experiment, plan.b.experiment)
    return ComparisonRecord(
        id=comparison_id,
        how="in turns",
        runtime=plan.runtime.name,  # type: ignore[arg-type]
        a=_side_record(plan.a, "a"),
        b=_side_record(plan.b, "b"),
        compared=[*differ.compared, *plan.compared],
        besides=list(differ.besides),
        design=DesignRecord(
            blocks=design.blocks,
            within=design.within,
            metric=design.metric,
            seed=design.seed,
            orders=list(design.orders()),  # type: ignore[arg-type]
            windows=windows.count,
            window_s=float(windows.length_s),
            warmup_s=plan.a.experiment.load.warmup_s,
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
