"""Spectral thresholds of feature learning: laws, outliers, links, dynamics and the thresholds of neural networks."""

from derand.spectral.activations import ACTIVATIONS, SmoothFunction, as_activation
from derand.spectral.descent import DescentRun, HessianSnapshot, TwoLayerGD
from derand.spectral.dmft import DMFT, DMFTResult
from derand.spectral.easy_hard import EasyHardSplit
from derand.spectral.expressions import Expression, parse_expression
from derand.spectral.law import SpectralLaw
from derand.spectral.link import DeltaAlg, MultiIndexLink
from derand.spectral.losses import LOSSES, Loss, as_loss
from derand.spectral.matrix_law import MatrixSpectralLaw
from derand.spectral.network import Network
from derand.spectral.preprocessing import Preprocessing
from derand.spectral.results import Edge, Edges, FiniteOutlier, Outlier, Threshold
from derand.spectral.spectral_matrix import ExtremeVectors, WeightedGram, extreme_vectors
from derand.spectral.sweep import SuccessCurve, success_curve
from derand.spectral.threshold import NNThreshold, nn_threshold

__all__ = [
    "ACTIVATIONS",
    "DMFT",
    "LOSSES",
    "DMFTResult",
    "DeltaAlg",
    "DescentRun",
    "EasyHardSplit",
    "Edge",
    "Edges",
    "Expression",
    "ExtremeVectors",
    "FiniteOutlier",
    "HessianSnapshot",
    "Loss",
    "MatrixSpectralLaw",
    "MultiIndexLink",
    "NNThreshold",
    "Network",
    "Outlier",
    "Preprocessing",
    "SmoothFunction",
    "SpectralLaw",
    "SuccessCurve",
    "Threshold",
    "TwoLayerGD",
    "WeightedGram",
    "as_activation",
    "as_loss",
    "extreme_vectors",
    "nn_threshold",
    "parse_expression",
    "success_curve",
]
