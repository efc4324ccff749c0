"""delta_NN(t): how many samples gradient descent needs before the Hessian shows it the hard directions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_option, check_scalar
from derand.exceptions import InputError, InputTypeError, PrecisionWarning
from derand.spectral.activations import as_activation
from derand.spectral.dmft import DMFT
from derand.spectral.fibres import Branches
from derand.spectral.functions import of_points
from derand.spectral.law import SpectralLaw
from derand.spectral.link import MultiIndexLink
from derand.spectral.losses import as_loss
from derand.spectral.matrix_law import MatrixSpectralLaw
from derand.spectral.network import make_network
from derand.spectral.replicas import ReplicaMean, ReplicaRoots, replica_mean

__all__ = ["NNThreshold", "nn_threshold"]

_GRID = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_COARSE = 1 << 12


@dataclass(frozen=True, repr=False)
class NNThreshold(ResultRepr):
    """The threshold delta_NN(t) of a network.

    Parameters
    ----------
    value : float
        From this ratio of samples to dimensions on the Hessian after t steps has a negative outlier along a hard
        direction; infinite where there is none.
    error : float
        Quadrature: difference from a second resolution.  Dynamics: standard error over the replicas, by Student's law,
        and a third of their change from a quarter as many samples, for a bias that falls like 1/n.
    method : {"quadrature", "dynamics", "none"}
        How it was found.
    replicas : ndarray
        Values of the replicas (dynamics).
    reason : str
        Why there is no finite threshold; empty otherwise.
    """

    value: float
    error: float
    method: str
    replicas: FloatArray
    reason: str = ""

    @property
    def is_finite(self) -> bool:
        """Whether there is a finite threshold."""
        return math.isfinite(self.value)


def nn_threshold(
    activation: Any,
    loss: Any,
    link: MultiIndexLink | str,
    init: str = "random",
    m: float = 1,
    *,
    eta: float = 0.2,
    t: int = 0,
    a: Any = None,
    b: Any = None,
    n_samples: int = 1 << 16,
    n_replicas: int = 4,
    rtol: float | None = None,
    max_samples: int = 1 << 24,
    callback: Callable[[NNThreshold], object] | None = None,
    rng: RNGLike = 0,
) -> NNThreshold:
    r"""Return delta_NN(t), from which on m times the Hessian after t steps has a negative outlier in a hard direction.

    The outlier has to lie below the bulk and below zero.  The threshold depends on the activation, the loss and its
    scale, the start, the width, the step size and the time; a number without all of them means nothing.  It is one of
    the limit d -> infinity at fixed t, in which gradient descent keeps no overlap with the hard directions; at finite d
    it may succeed earlier.

    Parameters
    ----------
    activation : str or SmoothFunction
        See `as_activation`.
    loss : str or Loss
        See `as_loss`.
    link : MultiIndexLink or str
        What is learned, with at least one hard direction.
    init : {"random", "zero_output"}
        "random": independent unit vectors.  "zero_output": neurons come in pairs of equal weights with second layers +1
        and -1, so that f = 0 at the start.
    m : int or inf, default 1
        Number of neurons.  Infinite width, where the neurons' blocks decouple, is known for "zero_output" at t = 0.
    eta : float, default 0.2
        Step size, see `DMFT`; irrelevant at t = 0.
    t : int, default 0
        Number of steps.
    a, b : array_like of shape (m,), optional
        Second layer (ones; for "zero_output" alternating signs) and biases (zeros).
    n_samples : int, default 65536
        Samples of the dynamics, a power of two.
    n_replicas : int, default 4
        Independent scramblings for the error bar, at least 2.
    rtol : float, optional
        Relative error to reach: replicas are added, and their size doubled where the bias is in the way, until the
        error is at most rtol times the value.  5e-4 gives three digits; begin with 8 replicas or more.
    max_samples : int, default 2^24
        Samples over all replicas after which no more are added for rtol.
    callback : callable, optional
        Called with the threshold so far after every replica from the second on; an answer of True ends the work with
        that.
    rng : None, int or Generator
        Source of the seeds.  For each replica the same random numbers are used at every delta.

    Returns
    -------
    NNThreshold
        Value and error; infinite with a reason when the weights are unbounded or no outlier appears up to delta = 64.

    Raises
    ------
    InputError
        If a number is out of range, the link has no hard direction, or the combination isn't covered.
    InputTypeError
        If an argument has the wrong type.
    KeyboardInterrupt
        On Ctrl-C; its ``partial`` is the threshold so far, and is missing before the second replica.

    Warns
    -----
    PrecisionWarning
        If rtol wasn't reached within max_samples.

    Notes
    -----
    t = 0 with one neuron, or infinite width: quadrature, six digits and more.  Otherwise each evaluation runs the
    `DMFT`, two or three times for each replica: secants begin at the mean of the replicas so far.

    References
    ----------
    A. Montanari, Z. Wang, Phase transitions for feature learning in neural networks, arXiv:2602.01434.

    Examples
    --------
    >>> nn_threshold("quad", "square", "z**2").value
    inf
    >>> round(nn_threshold("half-quad", "pseudo-huber", "z**2").value, 5)
    0.84663
    """
    problem = _Problem.checked(activation, loss, link, init, m, eta=eta, a=a, b=b)
    t = check_int(t, "t", low=0)
    n_samples = check_int(n_samples, "n_samples", low=2 * _COARSE)
    n_replicas = check_int(n_replicas, "n_replicas", low=2)
    rtol = None if rtol is None else check_scalar(rtol, "rtol", low=0.0, low_open=True)
    max_samples = check_int(max_samples, "max_samples", low=1)
    if math.isinf(problem.m):
        if t > 0:
            raise InputError("t must be 0 for infinite width: the limit of its dynamics isn't implemented")
        return problem.wide()
    if problem.m == 1 and t == 0 and problem.init == "random":
        return problem.single()
    try:
        found = _dynamic(problem, t, _Sampling(n_samples, n_replicas, rtol, max_samples, check_rng(rng)), callback)
    except KeyboardInterrupt as interrupt:
        if hasattr(interrupt, "partial"):
            interrupt.partial = _of_replicas(interrupt.partial)
        raise
    if isinstance(found, str):
        return NNThreshold(math.inf, 0.0, "none", np.zeros(0), found)
    if rtol is not None and found.error > rtol * found.value:
        warnings.warn(
            f"the error {found.error:.2g} is above rtol * value = {rtol * found.value:.2g}; raise max_samples",
            PrecisionWarning,
            stacklevel=2,
        )
    return _of_replicas(found)


def _of_replicas(found: ReplicaMean) -> NNThreshold:
    """Return the threshold that replicas of the dynamics show."""
    return NNThreshold(found.value, found.error, "dynamics", found.values)


@dataclass(frozen=True)
class _Sampling:
    """How many samples to take."""

    n_samples: int
    n_replicas: int
    rtol: float | None
    max_samples: int
    rng: np.random.Generator

    def draw(self) -> int:
        """Return a fresh seed."""
        return int(self.rng.integers(0, 2**31))


@dataclass(frozen=True)
class _Problem:
    """A checked setting."""

    activation: Any
    loss: Any
    link: MultiIndexLink
    init: str
    m: float
    eta: float
    a: FloatArray
    b: FloatArray
    covariance: FloatArray
    hard: FloatArray

    @classmethod
    def checked(
        cls, activation: Any, loss: Any, link: Any, init: str, m: Any, *, eta: float, a: Any, b: Any
    ) -> _Problem:
        """Return the setting from a user's arguments."""
        link = MultiIndexLink.from_expression(link) if isinstance(link, str) else link
        if not isinstance(link, MultiIndexLink):
            advice = "; MultiIndexLink(function, k) makes one of a function" if callable(link) else ""
            raise InputTypeError(f"link must be a MultiIndexLink or an expression, got {type(link).__name__}{advice}")
        check_option(init, "init", ("random", "zero_output"))
        check_scalar(eta, "eta", low=0.0, high=math.inf, high_open=True)
        hard = link.easy_hard().hard
        if hard.shape[1] == 0:
            raise InputError("the link has no hard direction")
        is_wide = isinstance(m, float) and math.isinf(m)
        if is_wide and init != "zero_output":
            raise InputError("m must be finite for init='random'")
        size = 2 if is_wide else check_int(int(m) if isinstance(m, float) and m.is_integer() else m, "m", low=1)
        if init == "zero_output" and size % 2:
            raise InputError(f"m must be even for init='zero_output', got {size}")
        signs = np.where(np.arange(size) % 2 == 0, 1.0, -1.0) if init == "zero_output" else np.ones(size)
        a = signs if a is None else check_array(a, "a", shape=(size,))
        b = np.zeros(size) if b is None else check_array(b, "b", shape=(size,))
        covariance: FloatArray = np.eye(size)
        if init == "zero_output":
            covariance = np.asarray(np.kron(np.eye(size // 2), np.ones((2, 2))), dtype=np.float64)
        width = math.inf if is_wide else size
        return cls(as_activation(activation), as_loss(loss), link, init, width, eta, a, b, covariance, hard)

    def wide(self) -> NNThreshold:
        """Return the threshold of decoupled neurons with f = 0: G = a l'(0, y) s''(u), the better of both signs."""
        best = NNThreshold(math.inf, 0.0, "none", np.zeros(0), "no neuron has a negative outlier")
        for sign in (1.0, -1.0):

            def weights(z: FloatArray, y: FloatArray, u: FloatArray, sign: float = sign) -> FloatArray:
                """Return G."""
                return np.asarray(sign * self.loss.dl(np.zeros_like(y), y) * self.activation.second(u))

            found = self._quadrature(weights)
            if found.value < best.value or not best.is_finite:
                best = found
        return best

    def single(self) -> NNThreshold:
        """Return the threshold of one neuron at its start."""
        network = make_network(self.activation, self.loss, 1, self.a, self.b)

        def weights(z: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
            """Return G."""
            return network.blocks(u[None], y)[:, 0, 0]

        return self._quadrature(weights)

    def _quadrature(self, weights: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]) -> NNThreshold:
        """Return the threshold of weights that depend on z, y and an independent normal u."""
        link, k = self.link, self.link.k
        n_latent = 2 if link.noise > 0.0 else 1

        def function(points: FloatArray) -> FloatArray:
            """Return G at latent coordinates, u and the noise."""
            z = points[:, :k]
            y = link(z) + (link.noise * points[:, k + 1] if n_latent == 2 else 0.0)
            return weights(z, y, points[:, k])

        law = SpectralLaw.from_function(
            _with_arity(function, k + n_latent),
            k,
            n_latent=n_latent,
            breakpoints=self._kinks(),
            order={2: 24, 3: 6}.get(k + n_latent, 3),
        )
        found = _restricted(law, self.hard).threshold("left", 0.0)
        if not found.is_finite:
            return NNThreshold(math.inf, 0.0, "none", np.zeros(0), found.reason)
        return NNThreshold(found.value, found.error, "quadrature", np.zeros(0))

    def _kinks(self) -> tuple[float, ...]:
        """Return the kinks along the axes: those of the link, and where the loss of f = 0 has one."""
        link = self.link
        if not (self.loss.breakpoints and link.k == 1 and link.noise == 0.0 and math.isinf(self.m)):
            return link.breakpoints
        branches = Branches(link, link.breakpoints)
        levels = np.array([self.loss.scale * c for c in self.loss.breakpoints])
        inner = [branches._preimages(piece, levels, None) for piece in branches.pieces if not piece.is_constant]
        cuts = np.concatenate([np.zeros(0), *inner])
        return tuple(sorted({*link.breakpoints, *cuts[np.isfinite(cuts)].tolist()}))

    def law(self, delta: float, t: int, n_samples: int, seed: int) -> SpectralLaw | MatrixSpectralLaw:
        """Return the law of the Hessian's blocks with the hard directions planted."""
        model = DMFT(
            self.activation,
            self.loss,
            self.link,
            int(self.m),
            delta=delta,
            eta=self.eta,
            a=self.a,
            b=self.b,
            covariance=self.covariance,
            n_samples=n_samples,
            rng=seed,
        )
        run = model.run(t)
        v = run.z @ self.hard
        S = run.network.blocks(run.fields[t], run.y)
        # with a bounded slope of the loss and a bounded s'' the smallest weights are bounded, whatever a sample shows
        is_bounded = self.loss.is_lipschitz and _is_bounded(self.activation.second)
        if S.shape[1] > 1:
            return MatrixSpectralLaw(S, v, is_bounded=(True, False) if is_bounded else None)
        G = S[:, 0, 0]
        support = (float(np.min(G)), math.inf) if is_bounded else None
        return SpectralLaw(G, v, support=support)


def _dynamic(
    problem: _Problem, t: int, sampling: _Sampling, callback: Callable[[NNThreshold], object] | None = None
) -> ReplicaMean | str:
    """Return the threshold from the dynamics, or why there is none."""

    def excess(log_delta: float, size: int, seed: int) -> float:
        """Return the margin: negative where there is an outlier."""
        delta = math.exp(log_delta)
        return problem.law(delta, t, size, seed).margin(delta, "left", 0.0)

    grid, seed = np.log(np.array(_GRID)), sampling.draw()
    coarse = np.array([excess(x, _COARSE, seed) for x in grid])
    if np.all(np.isinf(coarse)):
        return "the weights are unbounded below: there is no edge"
    appears = np.flatnonzero((coarse[:-1] >= 0.0) & (coarse[1:] < 0.0))
    if not len(appears):
        where = f"at delta = {_GRID[0]:g} to {_GRID[-1]:g}"
        return f"no outlier {where}" if coarse[0] >= 0.0 else f"there is an outlier {where}: no threshold in between"
    last = int(appears[-1])
    size = sampling.n_samples
    roots = ReplicaRoots(excess, grid[last], grid[last + 1], (max(_COARSE, size // 16), seed))

    def root(size: int, seed: int) -> float:
        """Return the threshold of one replica."""
        return math.exp(roots.root(size, seed))

    sizes = (size, max(_COARSE, size // 4))
    return replica_mean(
        root,
        sampling.draw,
        sizes,
        sampling.n_replicas,
        rtol=sampling.rtol,
        max_samples=sampling.max_samples,
        callback=None if callback is None else lambda mean: callback(_of_replicas(mean)),
    )


def _restricted(law: SpectralLaw, hard: FloatArray) -> SpectralLaw:
    """Return the law with the hard directions planted only."""
    if hard.shape[0] == hard.shape[1]:
        return law
    bounds = (law.support.low, law.support.high)
    coarse = None if law._coarse is None else _restricted(law._coarse, hard)
    return SpectralLaw(law.G, law.v @ hard, law.weights, support=bounds, coarse=coarse)


def _is_bounded(function: Callable[[FloatArray], FloatArray]) -> bool:
    """Return whether a function of one variable is bounded, as far as values up to 1e4 show it."""
    near = np.abs(function(np.linspace(-50.0, 50.0, 2001)))
    far = np.abs(function(np.array([-1e4, -1e3, 1e3, 1e4])))
    return bool(np.all(np.isfinite(far)) and np.max(far) <= 1.5 * np.max(near))


def _with_arity(function: Callable[[FloatArray], FloatArray], dim: int) -> Callable[..., Any]:
    """Return a function of points in the form that `SpectralLaw.from_function` calls it in."""
    if dim == 2:
        return lambda a, b: function(np.stack([a, b], axis=1))
    return function if dim > 2 else of_points(lambda z: function(z[:, None]), 1, "G")
