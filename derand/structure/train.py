"""Training to a certified second-order stationary point, with the path of the first-layer weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from derand._utils.html import ResultRepr, result_html
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import InputError
from derand.optimize import SOSPResult, minimize_sosp
from derand.structure.certificate import StructureCertificate, structure_certificate
from derand.structure.losses import Loss
from derand.structure.network import Network
from derand.structure.objective import NetworkObjective
from derand.structure.samples import Sample

__all__ = ["Snapshot", "Snapshots", "TrainedNetwork", "train_network"]


class Snapshot(NamedTuple):
    """First-layer weights on the way.

    Attributes
    ----------
    step : int
        Gradient evaluations so far.
    W : ndarray of shape (m, d)
        The weights.
    """

    step: int
    W: FloatArray

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


class Snapshots:
    """Collector of a limited number of snapshots, evenly spaced to a factor of two, whatever the length of the run.

    Parameters
    ----------
    limit : int
        Most snapshots kept, at least 2.
    """

    def __init__(self, limit: int) -> None:
        self._limit = check_int(limit, "n_snapshots", low=2)
        self._stride, self._seen = 1, 0
        self._kept: list[Snapshot] = []

    def add(self, step: int, W: FloatArray) -> None:
        """Take note of a state."""
        if self._seen % self._stride == 0:
            self._kept.append(Snapshot(step, np.array(W)))
        self._seen += 1
        if len(self._kept) > self._limit:
            self._kept = self._kept[::2]
            self._stride *= 2

    def finish(self, step: int, W: FloatArray) -> tuple[Snapshot, ...]:
        """Return the snapshots with the last state at their end."""
        return (*(one for one in self._kept if one.step < step), Snapshot(step, np.array(W)))


@dataclass(frozen=True, eq=False, repr=False)
class TrainedNetwork(ResultRepr):
    """A network at the end of its training.

    Attributes
    ----------
    objective : NetworkObjective
        The training problem.
    parameters : ndarray of shape (n_parameters,)
        All parameters, the frozen ones included.
    result : SOSPResult
        Outcome of the search, with its certificate of second order.
    certificate : StructureCertificate or None
        Bound on the weights across the teacher's directions; None where these aren't known.
    path : tuple of Snapshot
        First-layer weights from the start to the end.
    """

    objective: NetworkObjective
    parameters: FloatArray
    result: SOSPResult
    certificate: StructureCertificate | None
    path: tuple[Snapshot, ...]

    @property
    def first_weights(self) -> FloatArray:
        """First-layer weights, shape (m, d)."""
        return self.objective.network.unpack(self.parameters)[0][0]

    def outputs(self, X: Any) -> Any:
        """Return the network's outputs.

        Parameters
        ----------
        X : array of shape (n, d)
            Inputs, of any array library.

        Returns
        -------
        array of shape (n, c)
            Outputs.
        """
        return self.objective.network.outputs(self.parameters, X)

    def leading_directions(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Return the first k right singular vectors of the first layer and all its singular values.

        Parameters
        ----------
        k : int
            Number of directions, 1 to min(m, d).

        Returns
        -------
        directions : ndarray of shape (k, d)
            Orthonormal rows; the largest entry of each is positive.
        singular_values : ndarray of shape (min(m, d),)
            In descending order.

        Raises
        ------
        InputError
            If k is out of range.
        InputTypeError
            If k isn't an integer.
        """
        _, sizes, rows = np.linalg.svd(self.first_weights, full_matrices=False)
        chosen = rows[: check_int(k, "k", low=1, high=rows.shape[0])]
        tops = np.argmax(np.abs(chosen), axis=1)
        return chosen * np.sign(chosen[np.arange(len(tops)), tops])[:, None], sizes


def train_network(
    network: Network,
    sample: Sample,
    *,
    loss: str | Loss = "squared",
    lam: float = 1e-3,
    rest_decay: float = 0.0,
    frozen: Sequence[str] = (),
    start: Any = None,
    gtol: float = 1e-6,
    curv_tol: float = 1e-3,
    n_snapshots: int = 50,
    rng: RNGLike = 0,
    callback: Callable[[SOSPResult], bool | None] | None = None,
    **options: Any,
) -> TrainedNetwork:
    r"""Train a network to a certified second-order stationary point of its risk + lam ||W_1||^2.

    Guaranteed (theorem 4.1 of the paper, with the sharper constant of `structure_certificate`): for Gaussian inputs, a
    teacher of few directions and trained first biases, :math:`\|W_\perp\|` at the end is at most the certificate's
    bound, for any depth, smooth loss and lam > 0.  Not guaranteed: that the network predicts well, that W_parallel has
    full rank, or anything of the kind on a finite sample, where lam has to be about as large as the sampling error
    asks for (0.01 or so for n = 20 d) and is best chosen by validation.

    Parameters
    ----------
    network : Network
        The architecture.
    sample : Sample
        Population, sample or large batch.
    loss : str or Loss, default "squared"
        See `derand.structure.make_loss`.
    lam : float, default 1e-3
        Decay of the first layer.
    rest_decay : float, default 0.0
        Decay of the later weights.  With 0 and all layers trained there may be no minimum to go to, only a drift of W_1
        to 0 and W_2 to infinity; see `NetworkObjective`.
    frozen : sequence of str, default ()
        Blocks that keep their start values, see `Network.mask`.
    start : ndarray of shape (n_parameters,), optional
        Start; default ``network.random_parameters(rng=rng)``.
    gtol, curv_tol : float
        Tolerances of the second-order certificate.
    n_snapshots : int, default 50
        Most snapshots of the first layer.
    rng : int, Generator or None, default 0
        Random stream of start and search.
    callback : callable, optional
        See `minimize_sosp`.
    **options
        Further arguments of `minimize_sosp`, such as ``method="perturbed_gradient"`` or ``max_evals``.

    Returns
    -------
    TrainedNetwork
        Parameters, certificates and path.

    Raises
    ------
    InputError
        If shapes don't fit or a parameter is out of range.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    Deterministic for a given seed.  A run that ends early is returned with ``result.success`` False.

    References
    ----------
    arXiv:2510.19382, theorems 4.1 and 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from derand.structure import MultiIndexTeacher, gaussian_population
    >>> teacher = MultiIndexTeacher([0.6, 0.8], lambda s: np.tanh(s[:, 0]) + 1.0)
    >>> population = gaussian_population(teacher, n_nodes=20)
    >>> trained = train_network(Network(2, 6), population, lam=1e-2, rest_decay=1e-3)
    >>> trained.result.success, bool(trained.certificate.share > 0.99999)
    (True, True)
    """
    generator = check_rng(rng)
    begin = network.random_parameters(rng=generator) if start is None else check_array(start, "start", ndim=1)
    if begin.shape != (network.n_parameters,):
        raise InputError(f"start must have shape {(network.n_parameters,)}, got {begin.shape}")
    objective = NetworkObjective(network, sample, loss=loss, lam=lam, rest_decay=rest_decay, frozen=frozen, base=begin)
    snapshots = Snapshots(n_snapshots)
    where, shape = network.slice_of("W1"), network.shapes[0]
    snapshots.add(0, begin[where].reshape(shape))

    def watch(state: SOSPResult) -> bool | None:
        """Record the weights and pass the state on."""
        snapshots.add(state.nfev, objective.full(state.x)[where].reshape(shape))
        return None if callback is None else callback(state)

    result = minimize_sosp(
        objective.value_and_grad,
        objective.restrict(begin),
        hessp=objective.hessp,
        gtol=gtol,
        curv_tol=curv_tol,
        rng=generator,
        callback=watch,
        **options,
    )
    parameters = objective.full(result.x)
    certificate = None
    if objective.sample.directions is not None:
        sosp = result.certificate if result.success else None
        certificate = structure_certificate(objective, result.x, sosp=sosp)
    path = snapshots.finish(result.nfev, parameters[where].reshape(shape))
    return TrainedNetwork(objective, parameters, result, certificate, path)
