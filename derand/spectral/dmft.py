"""Dynamical mean-field theory of full-batch gradient descent in the limit of many dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import BudgetExceededError, InputError, InputTypeError
from derand.gaussian.qmc import sobol_normal
from derand.spectral.law import SpectralLaw
from derand.spectral.link import MultiIndexLink
from derand.spectral.matrix_law import MatrixSpectralLaw
from derand.spectral.network import Network, make_network
from derand.spectral.path_modes import principal_modes
from derand.spectral.responses import sample_responses
from derand.spectral.symmetry import Exchange

__all__ = ["DMFT", "DMFTResult"]

_MAX_NUMBERS = 400_000_000
_HUGE = 1e30
_PILOT = 1 << 11


@dataclass(frozen=True, repr=False)
class DMFTResult(ResultRepr):
    """Limits of gradient descent up to a time.

    Parameters
    ----------
    overlaps : ndarray of shape (t + 1, m, k)
        theta_j . theta*_l after each step.
    covariances : ndarray of shape (t + 1, t + 1, m, m)
        theta_i(s) . theta_j(r).
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
    eta, delta : float
        Step size and ratio of samples to dimensions.
    """

    overlaps: FloatArray
    covariances: FloatArray
    train_risk: FloatArray
    test_risk: FloatArray
    fields: FloatArray
    z: FloatArray
    y: FloatArray
    network: Network
    eta: float
    delta: float

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.overlaps) - 1

    @cached_property
    def _responses(self) -> tuple[FloatArray, FloatArray]:
        """Both responses, computed when one is first asked for: gradient descent's limit doesn't need them."""
        return sample_responses(self.network, self.fields, self.y, eta=self.eta, delta=self.delta)

    @property
    def weight_response(self) -> FloatArray:
        """Response Rw(s, r) of theta(s) to a push in step r < s, shape (t + 1, t + 1, m, m)."""
        return self._responses[0]

    @property
    def loss_response(self) -> FloatArray:
        """Mean response Rl(s, r) of the force at s to the field at r <= s, shape (t, t, m, m)."""
        return self._responses[1]

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
    By Stein's lemma both sums are projections, and no response is needed: with independent standard normal xi(r), and
    forces b(r) that are orthonormalised step by step, :math:`L(t) = \sum_{r \le t} B(t,r) b(r)`,

    .. math:: u(t) = O(t) z + \sum_{r \le t} Q(t,r) w(r), \qquad w(0) = \xi(0), \quad
              w(r) = \xi(r) - b(r-1)/\sqrt\delta,

    .. math:: O(t+1) = O(t) - \eta E[L(t) z^\top], \qquad Q(t+1,r) = Q(t,r) - \eta E[L(t) w(r)^\top], \quad r \le t,
              \qquad Q(t+1,t+1) = \eta B(t,t)/\sqrt\delta.

    The covariances of the weights are :math:`O(s) O(r)^\top + Q(s) Q(r)^\top`.

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
    has the Marchenko-Pastur integrals to rounding.  The innovations xi are made of Sobol points by a rotation in time
    that a run of few samples finds, so that the best spread coordinates move the paths most; in the order of time,
    errors at t = 50 were up to ten times as large, for two GELU neurons 1.4 times.  They fall nearly like 1/N.
    Estimated responses in the place of the projections have errors several times as large, which grow faster with t.
    Overlaps with hard directions of a start without overlap are kept at zero, their value in the limit; at finite d
    they grow like exp(rate t)/sqrt(d).

    References
    ----------
    M. Celentano, C. Cheng, A. Montanari, The high-dimensional asymptotics of first order methods with random data,
    arXiv:2112.07572.
    Y. M. Lu, Householder dice: a matrix-free algorithm for simulating dynamics on Gaussian and random orthogonal
    matrices, arXiv:2101.07464 (the projections, there at finite d).
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
        given: Any = MultiIndexLink.from_expression(link) if isinstance(link, str) else link
        if not isinstance(given, MultiIndexLink):
            advice = "; MultiIndexLink(function, k) makes one of a function" if callable(link) else ""
            raise InputTypeError(f"link must be a MultiIndexLink or an expression, got {type(link).__name__}{advice}")
        self.link = given
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
        if (n_steps + 1) * m * N > _MAX_NUMBERS:
            raise BudgetExceededError(f"{n_steps} steps of {m} neurons with {N} samples need too much memory")
        if (n_steps + 2) * m + k + 1 > N // 2:
            raise InputError(f"n_samples={N} are too few for {n_steps} steps of {m} neurons")
        pilot = _Process(self, np.eye(n_steps + 1), self._pilot_size(n_steps), 0)
        pilot.run()
        process = _Process(self, principal_modes(pilot.Q), N, self.rng)
        process.run(callback)
        return process.result()

    def _pilot_size(self, n_steps: int) -> int:
        """Return how many samples show well enough which directions matter."""
        needed = 4 * ((n_steps + 2) * self.network.m + self.link.k + 1)
        return min(self.n_samples, max(_PILOT, 1 << needed.bit_length()))

    @cached_property
    def _easy(self) -> FloatArray:
        """Projector on the directions whose overlap may leave zero at once, shape (k, k)."""
        if np.any(self.overlaps != 0.0):
            return np.eye(self.link.k)
        easy = self.link.easy_hard().easy
        return np.asarray(easy @ easy.T)


class _Process:
    """The samples of one run."""

    def __init__(self, model: DMFT, modes: FloatArray, n_samples: int, rng: RNGLike) -> None:
        self.model, self.n_steps = model, len(modes) - 1
        n_steps, m, k, N = self.n_steps, model.network.m, model.link.k, n_samples
        first = k + (1 if model.link.noise > 0.0 else 0)
        points = sobol_normal(N, first + m * (n_steps + 1), rng, whiten=True).T
        self.z = np.ascontiguousarray(points[:k].T)
        self.y = model.link(self.z) + (model.link.noise * points[k] if first > k else 0.0)
        # w(r), which is xi(r) until step r is taken; and the orthonormal forces
        self.w = (modes @ points[first:].reshape(n_steps + 1, m * N)).reshape(-1, N)
        self.basis = np.empty((n_steps * m, N))
        self.u = np.empty((n_steps + 1, m, N))
        self.overlaps = np.zeros((n_steps + 1, m, k))
        self.overlaps[0] = model.overlaps
        self.Q = np.zeros((n_steps + 1, m, (n_steps + 1) * m))
        self.Q[0, :, :m] = model._root
        self.u[0] = self._field(0)
        rows = np.column_stack([model.network.a, model.network.b, model.overlaps])
        self.exchange = Exchange(rows, model.covariance)

    def run(self, callback: Callable[[int], None] | None = None) -> None:
        """Take all steps."""
        for t in range(self.n_steps):
            self.step(t)
            if not float(np.max(np.abs(self.u[t + 1]))) < _HUGE:
                raise InputError(f"eta={self.model.eta:g} is too large: gradient descent diverges at step {t + 1}")
            if callback is not None:
                callback(t + 1)

    def _field(self, t: int) -> FloatArray:
        """Return O(t) z + sum over r of Q(t, r) w(r), shape (m, N)."""
        size = (t + 1) * self.model.network.m
        return np.asarray(self.Q[t, :, :size] @ self.w[:size] + self.overlaps[t] @ self.z.T)

    def step(self, t: int) -> None:
        """Advance from step t to t + 1."""
        eta, m, N = self.model.eta, self.model.network.m, len(self.y)
        shift = 1.0 / math.sqrt(self.model.delta)
        past, new = slice(0, (t + 1) * m), slice((t + 1) * m, (t + 2) * m)
        force = self.model.network.force(self.u[t], self.y)
        self.Q[t + 1] = self.Q[t]
        self.Q[t + 1, :, past] -= eta * self.exchange.average(force @ self.w[past].T / N)
        self.Q[t + 1, :, new] = eta * shift * self._orthonormalise(t, force)
        pull = self.exchange.average_rows(force @ self.z / N)
        self.overlaps[t + 1] = self.overlaps[t] - eta * (pull @ self.model._easy)
        self.w[new] -= shift * self.basis[t * m : (t + 1) * m]
        self.u[t + 1] = self._field(t + 1)

    def _orthonormalise(self, t: int, force: FloatArray) -> FloatArray:
        """Append what is new in the forces to the basis and return B(t, t), its symmetric root of shape (m, m)."""
        m, N = force.shape
        size = float(np.mean(force**2))
        rest, old = force, self.basis[: t * m]
        for _ in range(2 if t else 0):  # twice is enough
            rest = rest - self.exchange.average(rest @ old.T / N) @ old
        values, vectors = np.linalg.eigh(self.exchange.average(rest @ rest.T / N))
        kept = values > 1e-20 * max(size, 1e-300)
        lengths = np.sqrt(np.where(kept, values, 0.0))
        inverse = np.where(kept, 1.0 / np.where(kept, lengths, 1.0), 0.0)
        self.basis[t * m : (t + 1) * m] = (vectors * inverse) @ (vectors.T @ rest)
        return np.asarray((vectors * lengths) @ vectors.T)

    def result(self) -> DMFTResult:
        """Return the limits."""
        model, m = self.model, self.model.network.m
        self.w[m:] += self.basis / math.sqrt(model.delta)  # xi again: test samples know nothing of the forces
        total = np.concatenate([self.overlaps, self.Q], axis=2)
        return DMFTResult(
            self.overlaps,
            np.einsum("sip,rjp->srij", total, total, optimize=True),
            np.array([model.network.risk(u, self.y) for u in self.u]),
            np.array([model.network.risk(self._field(t), self.y) for t in range(self.n_steps + 1)]),
            self.u,
            self.z,
            self.y,
            model.network,
            model.eta,
            model.delta,
        )
