"""Estimators in scikit-learn's form."""

from derand.estimators.learned_jl import LearnedJL
from derand.estimators.maxcut_clusterer import MaxCutClusterer
from derand.estimators.network_reducer import NetworkReducer
from derand.estimators.slice_reducer import SliceReducer
from derand.estimators.spectral_index import SpectralIndexEstimator
from derand.estimators.structure_classifier import StructureClassifier
from derand.estimators.structure_regressor import StructureRegressor
from derand.estimators.two_step_features import TwoStepFeatures

__all__ = [
    "LearnedJL",
    "MaxCutClusterer",
    "NetworkReducer",
    "SliceReducer",
    "SpectralIndexEstimator",
    "StructureClassifier",
    "StructureRegressor",
    "TwoStepFeatures",
]
