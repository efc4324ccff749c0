"""Estimation of the directions that a response depends on: starts, polishing, their number, error bars, classes."""

from derand.structure.estimation.classification import ClassEstimate, ClassStep, estimate_class_structure
from derand.structure.estimation.cones import ConfidenceCone
from derand.structure.estimation.efficiency import efficiency_bound
from derand.structure.estimation.estimate import StructureEstimate, estimate_structure
from derand.structure.estimation.rank import RankStep
from derand.structure.estimation.slicing import slice_labels, sliced_matrix

__all__ = [
    "ClassEstimate",
    "ClassStep",
    "ConfidenceCone",
    "RankStep",
    "StructureEstimate",
    "efficiency_bound",
    "estimate_class_structure",
    "estimate_structure",
    "slice_labels",
    "sliced_matrix",
]
