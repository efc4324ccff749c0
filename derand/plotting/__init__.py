"""Display objects in scikit-learn's style; matplotlib is imported when one is plotted."""

from derand.plotting.cut import CutDisplay
from derand.plotting.distortion import DistortionDisplay
from derand.plotting.sosp import SOSPDisplay
from derand.plotting.spectral import GrokkingDisplay, SpectrumDisplay, SuccessDisplay, ThresholdDisplay
from derand.plotting.structure import RankPathDisplay, SufficientSummaryDisplay
from derand.plotting.structure_training import WeightCloudDisplay
from derand.plotting.teacher_solutions import FrameDriftDisplay, HessianSpectrumDisplay, SolutionDistanceDisplay
from derand.plotting.teacher_student import EscapeTimeDisplay, LossCurvesDisplay
from derand.plotting.two_step import AlignmentDisplay, PhaseDiagramDisplay, SingularValueDisplay

__all__ = [
    "AlignmentDisplay",
    "CutDisplay",
    "DistortionDisplay",
    "EscapeTimeDisplay",
    "FrameDriftDisplay",
    "GrokkingDisplay",
    "HessianSpectrumDisplay",
    "LossCurvesDisplay",
    "PhaseDiagramDisplay",
    "RankPathDisplay",
    "SOSPDisplay",
    "SingularValueDisplay",
    "SolutionDistanceDisplay",
    "SpectrumDisplay",
    "SuccessDisplay",
    "SufficientSummaryDisplay",
    "ThresholdDisplay",
    "WeightCloudDisplay",
]
