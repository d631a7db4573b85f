"""What the service saturates at on this machine: measured once (`make capacity`), then what RATE=auto is based on."""

from lab.capacity.advice import advice
from lab.capacity.store import Capacities, Capacity

__all__ = ["Capacities", "Capacity", "advice"]
