"""Display objects in scikit-learn's style; matplotlib is imported when one is plotted."""

from derand.plotting.cut import CutDisplay

__all__ = ["CutDisplay"]
