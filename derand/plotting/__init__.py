"""Display objects in scikit-learn's style; matplotlib is imported when one is plotted."""

from derand.plotting.cut import CutDisplay
from derand.plotting.distortion import DistortionDisplay
from derand.plotting.sosp import SOSPDisplay
from derand.plotting.structure_training import WeightCloudDisplay
from derand.plotting.teacher_solutions import FrameDriftDisplay, HessianSpectrumDisplay, SolutionDistanceDisplay
from derand.plotting.teacher_student import EscapeTimeDisplay, LossCurvesDisplay

__all__ = [
    "CutDisplay",
    "DistortionDisplay",
    "EscapeTimeDisplay",
    "FrameDriftDisplay",
    "HessianSpectrumDisplay",
    "LossCurvesDisplay",
    "SOSPDisplay",
    "SolutionDistanceDisplay",
    "WeightCloudDisplay",
]
