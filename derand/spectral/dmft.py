"""Dynamical mean-field theory of full-batch gradient descent in the limit of many dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import hadamard

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import BudgetExceededError, InputError, InputTypeError
from derand.gaussian.qmc import sobol_normal
from derand.spectral.law import SpectralLaw
from derand.spectral.link import MultiIndexLink
from derand.spectral.matrix_law import MatrixSpectralLaw
from derand.spectral.network import Network, make_network

__all__ = ["DMFT", "DMFTResult"]

_MAX_NUMBERS = 400_000_000
_HUGE = 1e30


@dataclass(frozen=True, repr=False)
class DMFTResult(ResultRepr):
    """Limits of gradient descent up to a time.

    Parameters
    ----------
    overlaps : ndarray of shape (t + 1, m, k)
        theta_j . theta*_l after each step.
    covariances : ndarray of shape (t + 1, t + 1, m, m)
        theta_i(s) . theta_j(r).
    weight_response : ndarray of shape (t + 1, t + 1, m, m)
        Response Rw(s, r) of theta(s) to a push in step r < s.
    loss_response : ndarray of shape (t, t, m, m)
        Mean response Rl(s, r) of the force at s to the field at r <= s.
    train_risk, test_risk : ndarray of shape (t + 1,)
        Mean losses.
    fields : ndarray of shape (t + 1, m, N)
        Samples of the fields theta_j . x of training samples, which know of the noise that was fitted.
    z : ndarray of shape (N, k)
        Their latent coordinates.
    y : ndarray of shape (N,)
        Their responses.
    network : Network
        The network.
    """

    overlaps: FloatArray
    covariances: FloatArray
    weight_response: FloatArray
    loss_response: FloatArray
    train_risk: FloatArray
    test_risk: FloatArray
    fields: FloatArray
    z: FloatArray
    y: FloatArray
    network: Network

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.overlaps) - 1

    def hessian_law(self, t: int | None = None) -> SpectralLaw | MatrixSpectralLaw:
        """Return the law of m times the Hessian of the training risk after t steps.

        Parameters
        ----------
        t : int, optional
            Step; the last one by default.

        Returns
        -------
        SpectralLaw or MatrixSpectralLaw
            Scalar for one neuron, blocks for several; a sample law of N points.

        Raises
        ------
        InputError
            If t is out of range.
        """
        t = self.n_steps if t is None else check_int(t, "t", low=0, high=self.n_steps)
        S = self.network.blocks(self.fields[t], self.y)
        if self.network.m == 1:
            return SpectralLaw(S[:, 0, 0], self.z)
        return MatrixSpectralLaw(S, self.z)


class DMFT:
    r"""Limit d -> infinity, n/d = delta, of full-batch gradient descent on a two-layer network.

    A step is :math:`\theta_j \leftarrow \theta_j - \frac{\eta}{n} \sum_i L_{ij} x_i`, with
    :math:`L_j = a_j l'(f, y) s'(u_j + b_j)`: eta times m times the gradient of the risk.  The fields of a training
    sample are

    .. math:: u(t) = g(t) - \frac{\eta}{\delta} \sum_{s<t} R_w(t,s) L(s), \qquad
              g(t+1) = g(t) - \eta \Big( \sum_{s \le t} R_l(t,s) g(s) + R_l(t,*) z \Big)
                       + \frac{\eta}{\sqrt\delta}\, \omega(t),

    with a Gaussian omega of covariance :math:`E[L(t) L(s)^\top]`, the response
    :math:`R_l(t,s) = E[dL(t)/dg(s)]` of the samples and :math:`R_w` of the weights.  This is exact at every fixed t.

    Parameters
    ----------
    activation : str or SmoothFunction
        See `as_activation`.
    loss : str or Loss
        See `as_loss`.
    link : MultiIndexLink or str
        What the network learns.
    m : int, default 1
        Number of neurons.
    delta : float
        Ratio of samples to dimensions.
    eta : float
        Step size.
    a, b : array_like of shape (m,), optional
        Second layer (ones) and biases (zeros); they stay fixed.
    covariance : float or array_like of shape (m, m), default 1.0
        theta_i . theta_j at the start; a number is the squared norm of independent random weights.
    overlaps : array_like of shape (m, k), optional
        theta_j . theta*_l at the start; zero by default.
    n_samples : int, default 16384
        Number N of samples that carry the process, a power of two.
    rng : None, int or Generator, default 0
        Scrambling of the Sobol points; the same seed gives common random numbers for different delta.

    Raises
    ------
    InputError
        If a number or shape is wrong.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    t steps cost O(t^2 m^2 N).  The samples are whitened, so that everything that is linear is exact: a linear network
    has the Marchenko-Pastur integrals to rounding.  The responses are read off one tangent for each sample, started at
    every time and neuron with signs from a Hadamard matrix, hence the cost t^2 instead of t^3: the signs of different
    times are exactly orthogonal over any group of similar samples.  Overlaps with hard directions of a start without
    overlap are kept at zero, their value in the limit; at finite d they grow like exp(rate t)/sqrt(d).

    References
    ----------
    M. Celentano, C. Cheng, A. Montanari, The high-dimensional asymptotics of first order methods with random data,
    arXiv:2112.07572.
    A. Montanari, Z. Wang, Phase transitions for feature learning in neural networks, arXiv:2602.01434.

    Examples
    --------
    A linear neuron on a linear link, one step: the overlap is eta.

    >>> model = DMFT("linear", "square", "z", delta=2.0, eta=0.25, n_samples=256)
    >>> round(float(model.run(1).overlaps[1, 0, 0]), 12)
    0.25
    """

    def __init__(
        self,
        activation: Any,
        loss: Any,
        link: MultiIndexLink | str,
        m: int = 1,
        *,
        delta: float,
        eta: float,
        a: Any = None,
        b: Any = None,
        covariance: Any = 1.0,
        overlaps: Any = None,
        n_samples: int = 1 << 14,
        rng: RNGLike = 0,
    ) -> None:
        self.network = make_network(activation, loss, m, a, b)
        self.link = MultiIndexLink.from_expression(link) if isinstance(link, str) else link
        if not isinstance(self.link, MultiIndexLink):
            raise InputTypeError(f"link must be a MultiIndexLink or an expression, got {type(link).__name__}")
        self.delta = check_scalar(delta, "delta", low=0.0, low_open=True, high=math.inf, high_open=True)
        self.eta = check_scalar(eta, "eta", low=0.0, high=math.inf, high_open=True)
        m, k = self.network.m, self.link.k
        given = check_array(covariance, "covariance")
        self.covariance = (
            float(given) * np.eye(m) if given.ndim == 0 else check_array(given, "covariance", shape=(m, m))
        )
        self.overlaps = np.zeros((m, k)) if overlaps is None else check_array(overlaps, "overlaps", shape=(m, k))
        values, vectors = np.linalg.eigh(self.covariance - self.overlaps @ self.overlaps.T)
        if values[0] < -1e-10 * max(1.0, values[-1]):
            raise InputError("covariance must be positive semidefinite, also after its overlaps are taken out")
        self._root = vectors * np.sqrt(np.maximum(values, 0.0))
        self.n_samples = check_int(n_samples, "n_samples", low=64)
        if self.n_samples & (self.n_samples - 1):
            raise InputError(f"n_samples must be a power of two, got {n_samples}")
        self.rng = rng

    def run(self, n_steps: int, callback: Callable[[int], None] | None = None) -> DMFTResult:
        """Return the limits after 0, ..., n_steps steps.

        Parameters
        ----------
        n_steps : int
            Number of steps.
        callback : callable, optional
            ``callback(t)`` is called after each step.

        Returns
        -------
        DMFTResult
            Overlaps, covariances, responses, risks and samples.

        Raises
        ------
        BudgetExceededError
            If the samples of all times would take more than 16 GB.
        InputError
            If there are too few samples for so many steps, or gradient descent diverges.
        """
        n_steps = check_int(n_steps, "n_steps", low=0)
        m, k, N = self.network.m, self.link.k, self.n_samples
        if 5 * (n_steps + 1) * m * N > _MAX_NUMBERS * 5:
            raise BudgetExceededError(f"{n_steps} steps of {m} neurons with {N} samples need too much memory")
        if (n_steps + 2) * m + k + 1 > N // 2:
            raise InputError(f"n_samples={N} are too few for {n_steps} steps of {m} neurons")
        process = _Process(self, n_steps)
        for t in range(n_steps):
            process.step(t)
            if not float(np.max(np.abs(process.u[t + 1]))) < _HUGE:
                raise InputError(f"eta={self.eta:g} is too large: gradient descent diverges at step {t + 1}")
            if callback is not None:
                callback(t + 1)
        return process.result()


class _Process:
    """The samples of one run."""

    def __init__(self, model: DMFT, n_steps: int) -> None:
        self.model, self.n_steps = model, n_steps
        m, k, N = model.network.m, model.link.k, model.n_samples
        points = sobol_normal(N, k + 1 + m * (n_steps + 1), model.rng, whiten=True).T
        self.z = np.ascontiguousarray(points[:k].T)
        self.y = model.link(self.z) + model.link.noise * points[k]
        self.xi = points[k + 1 :].reshape(n_steps + 1, m, N)
        self.g, self.u = np.empty((2, n_steps + 1, m, N))
        # per step: forces, their orthonormal basis, and tangents started with random signs
        self.force, self.basis, self.tangent = np.empty((3, max(n_steps, 1), m, N))
        self.shadow = np.empty((max(n_steps, 1), m, m, N))
        self.means = np.zeros((max(n_steps, 1), max(n_steps, 1), m, m))
        self.Rw = np.zeros((n_steps + 1, n_steps + 1, m, m))
        self.Rl = np.zeros((n_steps, n_steps, m, m))
        self.overlaps = np.zeros((n_steps + 1, m, k))
        self.overlaps[0] = model.overlaps
        self.g[0] = model.overlaps @ self.z.T + model._root @ self.xi[0]
        self.u[0] = self.g[0]
        order = 1 << max(1, math.ceil(math.log2((n_steps + 1) * m + 1)))
        self.signs = hadamard(order).astype(np.float64)
        self.row = _spread_rows(np.concatenate([self.y[None], self.u[0]]), order)
        self.zeta = self.signs[:, : (n_steps + 1) * m].T.reshape(n_steps + 1, m, -1)[:, :, self.row]
        self.easy = self._easy_projector()

    def _easy_projector(self) -> FloatArray:
        """Return the projector on the directions whose overlap may leave zero at once, shape (k, k)."""
        k = self.model.link.k
        if np.any(self.model.overlaps != 0.0):
            return np.eye(k)
        easy = self.model.link.easy_hard().easy
        return np.asarray(easy @ easy.T)

    def step(self, t: int) -> None:
        """Advance from step t to t + 1."""
        model, m, N = self.model, self.model.network.m, self.model.n_samples
        eta, delta = model.eta, model.delta
        self.force[t] = model.network.force(self.u[t], self.y)
        S = model.network.blocks(self.u[t], self.y)
        self._respond(t, S)
        root = self._noise_root(t)
        pulled = np.einsum("sij,sjk->ik", self.Rl[t, : t + 1], self.overlaps[: t + 1])
        star = (self.force[t] @ self.z / N - pulled) @ self.easy
        drift = self.Rl[t, : t + 1].transpose(1, 0, 2).reshape(m, -1) @ self.g[: t + 1].reshape(-1, N)
        noise = root.transpose(1, 0, 2).reshape(m, -1) @ self.xi[1 : t + 2].reshape(-1, N)
        self.g[t + 1] = self.g[t] - eta * (drift + star @ self.z.T) + (eta / math.sqrt(delta)) * noise
        self.overlaps[t + 1] = self.overlaps[t] - eta * (pulled + star)
        self._propagate(t)
        self.u[t + 1] = self.g[t + 1] - (eta / delta) * self._memory(t + 1, self.force)

    def _memory(self, t: int, history: FloatArray) -> FloatArray:
        """Return sum over s < t of Rw(t, s) history(s), shape (m, N)."""
        m, N = history.shape[1:]
        return np.asarray(self.Rw[t, :t].transpose(1, 0, 2).reshape(m, -1) @ history[:t].reshape(-1, N))

    def _respond(self, t: int, S: FloatArray) -> None:
        """Fill in Rl(t, s) for s <= t: a control variate that needs no history, and the rest from the tangents."""
        m, N = self.model.network.m, self.model.n_samples
        rate = -self.model.eta / self.model.delta
        S = np.ascontiguousarray(S.transpose(1, 2, 0))
        self.Rl[t, t] = np.mean(S, axis=2)
        late = rate * _product(S, self._memory(t, self.tangent)) if t else np.zeros((m, N))
        rest = late.copy()
        if t:
            self._shadow(t, S, rest)
            order = len(self.signs)
            sums = np.stack([np.bincount(self.row, weights=line, minlength=order) for line in rest])
            self.Rl[t, :t] += (sums @ self.signs[:, : t * m] / N).reshape(m, t, m).transpose(1, 0, 2)
        self.tangent[t] = late + _product(S, self.zeta[t])
        self.shadow[t] = S

    def _shadow(self, t: int, S: FloatArray, rest: FloatArray) -> None:
        """Put the means of the approximate responses into Rl(t, s), and take their part out of the tangents.

        With Z(t, s) = sum over r of Rw(t, r) dL(r)/dg(s), one has dL(t)/dg(s) = -(eta/delta) S(t) Z(t, s) and
        Z(t+1, s) = Z(t, s) + dL(t)/dg(s) - eta sum over r of Rl(t, r) Z(r, s).  In the last sum all but r = t, which
        are of second order in eta, are replaced by their means, so that no history of single samples is needed.
        """
        eta, rate = self.model.eta, -self.model.eta / self.model.delta
        for s in reversed(range(t)):
            Z = self.shadow[s]
            response = rate * (S * Z if len(S) == 1 else np.einsum("ijn,jkn->ikn", S, Z))
            self.Rl[t, s] = np.mean(response, axis=2)
            rest -= _product(response, self.zeta[s])
            self.means[t, s] = np.mean(Z, axis=2)
            mean = np.einsum("rij,rjk->ik", self.Rl[t, s + 1 : t], self.means[s + 1 : t, s])
            Z += response - eta * (_left(self.Rl[t, t], Z) + mean[:, :, None])

    def _noise_root(self, t: int) -> FloatArray:
        """Return B(t, s), s <= t, with B B' = E[L L'], by orthonormalising the forces; shape (t + 1, m, m)."""
        m, N = self.model.network.m, self.model.n_samples
        root = np.zeros((t + 1, m, m))
        rest = self.force[t].copy()
        old = self.basis[:t].reshape(-1, N)
        for _ in range(2 if t else 0):  # twice is enough
            shares = rest @ old.T / N
            rest -= shares @ old
            root[:t] += shares.reshape(m, t, m).transpose(1, 0, 2)
        size = float(np.mean(self.force[t] ** 2))
        values, vectors = np.linalg.eigh(rest @ rest.T / N)
        kept = values > 1e-20 * max(size, 1e-300)
        lengths = np.sqrt(np.where(kept, values, 0.0))
        root[t] = vectors * lengths
        inverse = np.where(kept, 1.0 / np.where(kept, lengths, 1.0), 0.0)
        self.basis[t] = inverse[:, None] * (vectors.T @ rest)
        return root

    def _propagate(self, t: int) -> None:
        """Fill in Rw(t + 1, s) for s <= t."""
        self.Rw[t + 1, t] = np.eye(self.model.network.m)
        for s in range(t):
            pull = np.einsum("rij,rjk->ik", self.Rl[t, s + 1 : t + 1], self.Rw[s + 1 : t + 1, s])
            self.Rw[t + 1, s] = self.Rw[t, s] - self.model.eta * pull

    def result(self) -> DMFTResult:
        """Return the limits."""
        network, N = self.model.network, self.model.n_samples
        T, m = self.n_steps + 1, network.m
        flat = self.g.reshape(-1, N)
        covariances = (flat @ flat.T / N).reshape(T, m, T, m).transpose(0, 2, 1, 3)
        return DMFTResult(
            self.overlaps,
            covariances,
            self.Rw,
            self.Rl,
            np.array([network.risk(u, self.y) for u in self.u]),
            np.array([network.risk(g, self.y) for g in self.g]),
            self.u,
            self.z,
            self.y,
            network,
        )


def _product(S: FloatArray, x: FloatArray) -> FloatArray:
    """Return S x for each sample, shape (m, N)."""
    return np.asarray(S[0] * x if len(x) == 1 else np.einsum("ijn,jn->in", S, x))


def _left(A: FloatArray, Z: FloatArray) -> FloatArray:
    """Return A Z for each sample, shape (m, m, N)."""
    return np.asarray(A[0, 0] * Z if len(A) == 1 else np.tensordot(A, Z, axes=1))


def _spread_rows(coordinates: FloatArray, order: int) -> np.ndarray:
    """Return for each sample a row of the Hadamard matrix, every row once among each `order` similar samples."""
    # Within a group of equal tangents the signs average out exactly, so what is left is the variation inside groups.
    # They are found by halving at medians, one coordinate after the other.
    N = coordinates.shape[1]
    rng = np.random.default_rng(0)
    if order >= N:
        return rng.permutation(N) % order
    groups = np.arange(N)[None]
    level = 0
    while groups.shape[1] > order:
        axis = coordinates[level % len(coordinates)]
        ranks = np.argsort(axis[groups], axis=1, kind="stable")
        groups = np.take_along_axis(groups, ranks, axis=1).reshape(2 * len(groups), -1)
        level += 1
    rows = np.empty(N, dtype=np.int64)
    for group in groups:
        rows[group] = rng.permutation(order)
    return rows
