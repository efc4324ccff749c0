"""Estimators in scikit-learn's form."""

from derand.estimators.maxcut_clusterer import MaxCutClusterer

__all__ = ["MaxCutClusterer"]
