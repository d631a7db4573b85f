"""The highest rate that the service answers on this machine: measured once (`make capacity`), the base of RATE=auto."""

from lab.capacity.advice import advice
from lab.capacity.store import Capacities, Capacity

__all__ = ["Capacities", "Capacity", "advice"]
