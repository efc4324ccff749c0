"""Estimators in scikit-learn's form."""

from derand.estimators.learned_jl import LearnedJL
from derand.estimators.maxcut_clusterer import MaxCutClusterer
from derand.estimators.network_reducer import NetworkReducer
from derand.estimators.two_step_features import TwoStepFeatures

__all__ = ["LearnedJL", "MaxCutClusterer", "NetworkReducer", "TwoStepFeatures"]
