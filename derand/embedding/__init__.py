"""Near-isometric linear maps of given points, with their exact distortion."""

from derand.embedding.distortion import DistortionReport, distortion_report
from derand.embedding.johnson_lindenstrauss import jl_failure_bound, jl_min_dim

__all__ = ["DistortionReport", "distortion_report", "jl_failure_bound", "jl_min_dim"]
