"""Parameter sweeps: the same code and bits on one core, many, or a cluster; stored as they come, and resumable."""

from derand.sweeps.run import grid, sweep
from derand.sweeps.store import read_sweep

__all__ = ["grid", "read_sweep", "sweep"]
