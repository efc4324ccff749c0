"""Structure discovery: networks whose first layer is proved to live on few directions of the inputs."""

from derand.structure.activations import HiddenActivation, make_activation
from derand.structure.certificate import StructureCertificate, structure_certificate
from derand.structure.descent import DescentResult, noisy_descent
from derand.structure.estimation.cones import ConfidenceCone
from derand.structure.estimation.efficiency import efficiency_bound
from derand.structure.estimation.estimate import StructureEstimate, estimate_structure
from derand.structure.inputs import InputCheck, check_inputs
from derand.structure.losses import Huber, Logistic, Loss, Multinomial, PointwiseLoss, Squared, make_loss
from derand.structure.network import Network
from derand.structure.objective import FirstLayer, NetworkObjective
from derand.structure.samples import MultiIndexTeacher, Sample, gaussian_population, stream_batches
from derand.structure.subspace import energy_share, orthonormal_rows, split_weights, subspace_distance
from derand.structure.train import Snapshot, TrainedNetwork, train_network

__all__ = [
    "ConfidenceCone",
    "DescentResult",
    "FirstLayer",
    "HiddenActivation",
    "Huber",
    "InputCheck",
    "Logistic",
    "Loss",
    "MultiIndexTeacher",
    "Multinomial",
    "Network",
    "NetworkObjective",
    "PointwiseLoss",
    "Sample",
    "Snapshot",
    "Squared",
    "StructureCertificate",
    "StructureEstimate",
    "TrainedNetwork",
    "check_inputs",
    "efficiency_bound",
    "energy_share",
    "estimate_structure",
    "gaussian_population",
    "make_activation",
    "make_loss",
    "noisy_descent",
    "orthonormal_rows",
    "split_weights",
    "stream_batches",
    "structure_certificate",
    "subspace_distance",
    "train_network",
]
