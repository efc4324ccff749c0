"""Two gradient steps in a two-layer network: spikes, alignments, exponents; reused against fresh batches."""

from derand.two_step.activations import TwoStepActivation, as_activation, hermite_coefficients
from derand.two_step.alignment import AlignmentTheory, reuse_exponent, theory_alignment
from derand.two_step.assumptions import AssumptionWarning
from derand.two_step.bbp import Spike, bbp, mp_edges, tracy_widom_cdf, tracy_widom_quantile, tw_threshold
from derand.two_step.bulk import BulkEdge, bulk_edge, localised_rows
from derand.two_step.chance import sampling_chance
from derand.two_step.count import is_single_step, new_spike_orders, predicted_count, spike_exponents
from derand.two_step.diagram import PhaseDiagram, phase_diagram
from derand.two_step.directions import LowRank, learned_directions, low_rank_part
from derand.two_step.dynamics import (
    Batch,
    TwoStepResult,
    gradient_steps,
    step_sizes,
    two_step_update,
)
from derand.two_step.exponents import information_exponent, leap_exponent, power_exponent
from derand.two_step.extraction import Alignment, ExtractedDirections, alignment, extract_directions
from derand.two_step.gradient import correlation_gradient, correlation_loss
from derand.two_step.measurement import OutlierCount, count_outliers
from derand.two_step.outliers import OutlierPrediction, predict_outliers
from derand.two_step.problem import Problem, random_problem

__all__ = [
    "Alignment",
    "AlignmentTheory",
    "AssumptionWarning",
    "Batch",
    "BulkEdge",
    "ExtractedDirections",
    "LowRank",
    "OutlierCount",
    "OutlierPrediction",
    "PhaseDiagram",
    "Problem",
    "Spike",
    "TwoStepActivation",
    "TwoStepResult",
    "alignment",
    "as_activation",
    "bbp",
    "bulk_edge",
    "correlation_gradient",
    "correlation_loss",
    "count_outliers",
    "extract_directions",
    "gradient_steps",
    "hermite_coefficients",
    "information_exponent",
    "is_single_step",
    "leap_exponent",
    "learned_directions",
    "localised_rows",
    "low_rank_part",
    "mp_edges",
    "new_spike_orders",
    "phase_diagram",
    "power_exponent",
    "predict_outliers",
    "predicted_count",
    "random_problem",
    "reuse_exponent",
    "sampling_chance",
    "spike_exponents",
    "step_sizes",
    "theory_alignment",
    "tracy_widom_cdf",
    "tracy_widom_quantile",
    "tw_threshold",
    "two_step_update",
]
