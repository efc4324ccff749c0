"""Display objects in scikit-learn's style; matplotlib is imported when one is plotted."""

from derand.plotting.cut import CutDisplay
from derand.plotting.sosp import SOSPDisplay

__all__ = ["CutDisplay", "SOSPDisplay"]
