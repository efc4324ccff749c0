"""Near-isometric linear maps of given points, with their exact distortion and a lower bound on any map's."""

from derand.embedding.derandomize import DerandomizationCertificate, DerandomizationLevel
from derand.embedding.distortion import DistortionReport, distortion_report
from derand.embedding.johnson_lindenstrauss import jl_failure_bound, jl_min_dim
from derand.embedding.learn import EmbeddingResult, learn_embedding
from derand.embedding.linear_bound import LinearLowerBound, linear_lower_bound
from derand.embedding.lower_bound import EmbeddingLowerBound, embedding_lower_bound
from derand.embedding.minimax import MinimaxRound

__all__ = [
    "DerandomizationCertificate",
    "DerandomizationLevel",
    "DistortionReport",
    "EmbeddingLowerBound",
    "EmbeddingResult",
    "LinearLowerBound",
    "MinimaxRound",
    "distortion_report",
    "embedding_lower_bound",
    "jl_failure_bound",
    "jl_min_dim",
    "learn_embedding",
    "linear_lower_bound",
]
