"""Spectral thresholds of feature learning: laws, outliers, links, dynamics and the thresholds of neural networks."""

from derand.spectral.law import SpectralLaw
from derand.spectral.results import Edge, Edges, Outlier, Threshold

__all__ = ["Edge", "Edges", "Outlier", "SpectralLaw", "Threshold"]
