"""One run: the phases, what is shown of them, and the run directory they fill."""

from lab.run.repetition import Repetition
from lab.run.session import Session
from lab.run.single import Run
from lab.run.state import RunPlan

__all__ = ["Repetition", "Run", "RunPlan", "Session"]
