"""Structure discovery: networks whose first layer is proved to live on few directions of the inputs."""

from derand.structure.subspace import energy_share, orthonormal_rows, split_weights, subspace_distance

__all__ = ["energy_share", "orthonormal_rows", "split_weights", "subspace_distance"]
