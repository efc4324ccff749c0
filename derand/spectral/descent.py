"""Full-batch gradient descent on two-layer networks at finite dimension, with its Hessian along the way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray, check_int, check_option, check_scalar
from derand.exceptions import InputError, InputTypeError
from derand.hessian import HessianOperator, extreme_eigenpairs
from derand.spectral.law import SpectralLaw
from derand.spectral.link import MultiIndexLink
from derand.spectral.matrix_law import MatrixSpectralLaw
from derand.spectral.network import make_network

__all__ = ["DescentRun", "HessianSnapshot", "TwoLayerGD"]


# Fields beyond this have diverged; their squares, and those of a quadratic network's residuals, are still finite.
_HUGE = 1e30


@dataclass(frozen=True, repr=False)
class HessianSnapshot(ResultRepr):
    """Lower end of the spectrum of m times the Hessian after some steps.

    Parameters
    ----------
    t : int
        Number of steps.
    values : ndarray of shape (q,)
        Smallest eigenvalues, ascending.
    hard_overlaps : ndarray of shape (q,)
        Squared length of the projection of each unit eigenvector on the hard directions, summed over the neurons.
    blocks : ndarray of shape (n, m, m)
        Hessian blocks of the training samples.
    z : ndarray of shape (n, k)
        Latent coordinates of the training samples.
    """

    t: int
    values: FloatArray
    hard_overlaps: FloatArray
    blocks: FloatArray
    z: FloatArray

    def law(self) -> SpectralLaw | MatrixSpectralLaw:
        """Return the limiting law for the blocks that this run drew.

        Its edge fluctuates from run to run as that of the run's own Hessian does, by a multiple of d^(-1/2); the
        difference of the two is of the order d^(-2/3) that `SpectralLaw.extreme_eigenvalue` predicts.

        Returns
        -------
        SpectralLaw or MatrixSpectralLaw
            Scalar for one neuron, blocks for several.
        """
        if self.blocks.shape[1] == 1:
            G = self.blocks[:, 0, 0]
            return SpectralLaw(G, self.z, support=(float(np.min(G)), float(np.max(G))))
        return MatrixSpectralLaw(self.blocks, self.z, is_bounded=(True, True))


@dataclass(frozen=True, repr=False)
class DescentRun(ResultRepr):
    """A run of gradient descent.

    Parameters
    ----------
    times : ndarray of shape (q,)
        Numbers of steps at which the rest was recorded.
    train_risk, test_risk : ndarray of shape (q,)
        Mean losses on the training samples and on fresh ones.
    overlaps : ndarray of shape (q, m, k)
        theta_j . theta*_l.
    norms : ndarray of shape (q, m)
        ||theta_j||.
    correlation : ndarray of shape (q,)
        Largest singular value of the normalised weights' overlaps with the hard directions, at most 1: for one hard
        direction the length of its projection on the span's leading direction.
    snapshots : tuple of HessianSnapshot
        Hessians at the times asked for.
    weights : ndarray of shape (m, d)
        Weights at the end.
    diverged_at : int or None
        Step at which the weights were no longer finite.
    """

    times: FloatArray
    train_risk: FloatArray
    test_risk: FloatArray
    overlaps: FloatArray
    norms: FloatArray
    correlation: FloatArray
    snapshots: tuple[HessianSnapshot, ...]
    weights: FloatArray
    diverged_at: int | None = None


class TwoLayerGD:
    r"""Simulation of full-batch gradient descent on a two-layer network.

    .. math:: \theta_j \leftarrow \theta_j - \frac{\eta}{n} \sum_i a_j l'(f_i, y_i) s'(\theta_j \cdot x_i + b_j) x_i

    The samples are N(0, I_d), the responses those of a link along the first k axes, and the network is
    :math:`f = \frac1m \sum_j a_j s(\theta_j \cdot x + b_j)`, the same as in `DMFT`.

    Parameters
    ----------
    activation : str or SmoothFunction
        See `as_activation`.
    loss : str or Loss
        See `as_loss`.
    link : MultiIndexLink or str
        What is learned.
    m : int, default 1
        Number of neurons.
    d : int
        Dimension.
    delta : float
        Ratio of samples to dimensions; n = round(delta d).
    eta : float
        Step size; a step is eta m times the gradient of the risk.
    init : {"random", "zero_output", "orthogonal"}
        Unit weights: random; in pairs of equal weights with second layers +1 and -1; random and orthogonal to the
        latent directions and to each other, where the limit's law is met without initial overlaps of order 1/sqrt(d).
    a, b : array_like of shape (m,), optional
        Second layer (ones; for "zero_output" alternating signs) and biases (zeros).
    n_test : int, optional
        Fresh samples for the test risk; as many as training samples by default.

    Raises
    ------
    InputError
        If a number is out of range.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    A step costs 4 n d m operations.

    Examples
    --------
    >>> model = TwoLayerGD("half-quad", "pseudo-huber", "z**2", d=30, delta=4.0, eta=0.2)
    >>> run = model.run(10, rng=0)
    >>> bool(run.train_risk[-1] < run.train_risk[0])
    True
    """

    def __init__(
        self,
        activation: Any,
        loss: Any,
        link: MultiIndexLink | str,
        m: int = 1,
        *,
        d: int,
        delta: float,
        eta: float,
        init: str = "random",
        a: Any = None,
        b: Any = None,
        n_test: int | None = None,
    ) -> None:
        given: Any = MultiIndexLink.from_expression(link) if isinstance(link, str) else link
        if not isinstance(given, MultiIndexLink):
            advice = "; MultiIndexLink(function, k) makes one of a function" if callable(link) else ""
            raise InputTypeError(f"link must be a MultiIndexLink or an expression, got {type(link).__name__}{advice}")
        self.link = given
        self.init = check_option(init, "init", ("random", "zero_output", "orthogonal"))
        m = check_int(m, "m", low=1)
        if self.init == "zero_output":
            if m % 2:
                raise InputError(f"m must be even for init='zero_output', got {m}")
            a = np.where(np.arange(m) % 2 == 0, 1.0, -1.0) if a is None else a
        self.network = make_network(activation, loss, m, a, b)
        self.d = check_int(d, "d", low=self.link.k + (m if init == "orthogonal" else 1))
        self.delta = check_scalar(delta, "delta", low=0.0, low_open=True, high=math.inf, high_open=True)
        self.eta = check_scalar(eta, "eta", low=0.0, high=math.inf, high_open=True)
        self.n = max(1, round(self.delta * self.d))
        self.n_test = self.n if n_test is None else check_int(n_test, "n_test", low=1)

    def initial_weights(self, rng: RNGLike = None) -> FloatArray:
        """Return weights for a start, shape (m, d)."""
        generator = check_rng(rng)
        m, k = self.network.m, self.link.k
        W = generator.standard_normal((m, self.d))
        if self.init == "orthogonal":
            W[:, :k] = 0.0
            if m > 1:
                W = np.linalg.qr(W.T)[0].T
        if self.init == "zero_output":
            W[1::2] = W[::2]
        return np.asarray(W / np.linalg.norm(W, axis=1, keepdims=True))

    def run(
        self,
        n_steps: int,
        *,
        record: Sequence[int] | None = None,
        hessian: Sequence[int] = (),
        n_eigenvalues: int = 3,
        rng: RNGLike = None,
    ) -> DescentRun:
        """Return one run.

        Parameters
        ----------
        n_steps : int
            Number of steps.
        record : sequence of int, optional
            Steps after which risks and overlaps are recorded; all by default.
        hessian : sequence of int
            Steps after which the lower end of the Hessian's spectrum is computed.
        n_eigenvalues : int, default 3
            How many eigenvalues.
        rng : None, int or Generator
            Source of samples and weights.

        Returns
        -------
        DescentRun
            What was recorded.

        Raises
        ------
        InputError
            If a number is out of range.

        Notes
        -----
        BLAS runs in one thread, so that the bits don't depend on the number of them.
        """
        n_steps = check_int(n_steps, "n_steps", low=0)
        times = range(n_steps + 1) if record is None else record
        wanted = {check_int(t, "record", low=0, high=n_steps) for t in times}
        looks = {check_int(t, "hessian", low=0, high=n_steps) for t in hessian}
        count = check_int(n_eigenvalues, "n_eigenvalues", low=1, high=self.d * self.network.m)
        with blas_threads(1):
            return self._run(n_steps, wanted, looks, count, check_rng(rng))

    def _run(self, n_steps: int, wanted: set[int], looks: set[int], count: int, rng: np.random.Generator) -> DescentRun:
        """Return one run with checked arguments."""
        k, network = self.link.k, self.network
        X, fresh = rng.standard_normal((self.n, self.d)), rng.standard_normal((self.n_test, self.d))
        y, y_test = self.link.sample(X[:, :k], rng), self.link.sample(fresh[:, :k], rng)
        W = self.initial_weights(rng)
        X_rows = np.ascontiguousarray(X.T)  # d x n: both products then run along rows
        records: list[tuple[Any, ...]] = []
        snapshots: list[HessianSnapshot] = []
        diverged_at = None
        for t in range(n_steps + 1):
            u = W @ X_rows
            if not np.all(np.isfinite(u)) or float(np.max(np.abs(u))) > _HUGE:
                diverged_at = t
                break
            if t in wanted:
                records.append((t, network.risk(u, y), network.risk(W @ fresh.T, y_test), W[:, :k].copy(), W))
            if t in looks:
                snapshots.append(self._snapshot(t, X, u, y, count))
            if t < n_steps:
                W = W - (self.eta / self.n) * (network.force(u, y) @ X)
        return self._collect(records, snapshots, W, diverged_at)

    def _collect(
        self, records: list[tuple[Any, ...]], snapshots: list[HessianSnapshot], W: FloatArray, diverged_at: int | None
    ) -> DescentRun:
        """Return the run from its records."""
        hard = self.link.easy_hard().hard
        m, k = self.network.m, self.link.k
        norms = [np.linalg.norm(record[4], axis=1) for record in records]
        overlaps = [record[3] for record in records]
        correlation = [
            float(np.linalg.norm((o / np.maximum(size, 1e-300)[:, None]) @ hard, 2) / _leading(record[4]))
            if hard.shape[1]
            else 0.0
            for o, size, record in zip(overlaps, norms, records, strict=True)
        ]
        return DescentRun(
            np.array([record[0] for record in records], dtype=np.float64),
            np.array([record[1] for record in records]),
            np.array([record[2] for record in records]),
            np.array(overlaps).reshape(-1, m, k),
            np.array(norms).reshape(-1, m),
            np.minimum(np.array(correlation), 1.0),
            tuple(snapshots),
            W,
            diverged_at,
        )

    def hessian_operator(self, X: FloatArray, u: FloatArray, y: FloatArray) -> HessianOperator:
        """Return m times the Hessian of the risk as an operator on all weights, neuron after neuron.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Samples.
        u : ndarray of shape (m, n)
            Fields.
        y : ndarray of shape (n,)
            Responses.

        Returns
        -------
        HessianOperator
            Of order m d; a product costs 4 n d m operations.
        """
        S = self.network.blocks(u, y)
        m, d, n = self.network.m, X.shape[1], len(X)

        def product(_: Any, vector: Any) -> FloatArray:
            """Return the product of the Hessian with a vector."""
            fields = np.asarray(vector).reshape(m, d) @ X.T
            return np.asarray((np.einsum("nij,jn->in", S, fields) @ X / n).reshape(-1))

        return HessianOperator(np.zeros(m * d), hessp=product)

    def _snapshot(self, t: int, X: FloatArray, u: FloatArray, y: FloatArray, count: int) -> HessianSnapshot:
        """Return the lower end of the spectrum."""
        m, d, k = self.network.m, self.d, self.link.k
        S = self.network.blocks(u, y)
        if m * d <= 1500:
            blocks = [[(X.T * S[:, i, j]) @ X / len(X) for j in range(m)] for i in range(m)]
            pairs = extreme_eigenpairs(np.block(blocks), count, "SA", method="dense")
        else:
            pairs = extreme_eigenpairs(
                self.hessian_operator(X, u, y), count, "SA", tol=1e-5, confidence=0.99, method="lanczos", rng=0
            )
        hard = self.link.easy_hard().hard
        vectors = pairs.vectors.T.reshape(-1, m, d)[:, :, :k] @ hard
        return HessianSnapshot(t, np.asarray(pairs.values), np.sum(vectors**2, axis=(1, 2)), S, X[:, :k].copy())


def _leading(W: FloatArray) -> float:
    """Return the largest singular value of the normalised weights."""
    return float(np.linalg.norm(W / np.maximum(np.linalg.norm(W, axis=1, keepdims=True), 1e-300), 2))
