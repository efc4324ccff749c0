"""Capped conjugate gradients: a Newton step, or a direction of negative curvature."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from derand._utils.reductions import dot, norm
from derand._utils.validation import FloatArray

__all__ = ["CappedCGResult", "capped_cg"]


@dataclass(frozen=True)
class CappedCGResult:
    """Outcome of capped conjugate gradients.

    Parameters
    ----------
    direction : ndarray of shape (n,)
        Newton step or direction of negative curvature d.
    is_negative : bool
        Whether d has curvature below ``-damping`` (the paper's NC), else d is a damped Newton step (SOL).
    curvature : float
        ``d.H d / d.d``.
    stretch : float
        ``|H d| / |d|``.
    residual : float
        Norm of ``(H + 2 damping) d + g``.
    iterate : ndarray of shape (n,)
        Last iterate with damped curvature all along its way: `direction` unless is_negative; 0 at the first step.
    n_products : int
        Products spent.
    """

    direction: FloatArray
    is_negative: bool
    curvature: float
    stretch: float
    residual: float
    iterate: FloatArray
    n_products: int


class _Cap:
    """Estimate M of the norm of H, and what the paper derives from it: accuracy, and the cap on the residuals."""

    def __init__(self, damping: float, accuracy: float) -> None:
        self.damping, self.accuracy, self.bound = damping, accuracy, 0.0

    def see(self, v: FloatArray, damped_product: FloatArray) -> None:
        """Raise M to the stretch that H gives v."""
        size = norm(v)
        if size > 0.0:
            self.bound = max(self.bound, norm(damped_product - 2.0 * self.damping * v) / size)

    @property
    def kappa(self) -> float:
        """Condition number of the damped Hessian as far as it is known."""
        return (self.bound + 2.0 * self.damping) / self.damping

    @property
    def relative_accuracy(self) -> float:
        """Relative residual at which the solution is accepted."""
        return self.accuracy / (3.0 * self.kappa)

    def residual_limit(self, j: int) -> float:
        """Largest relative residual that step j can have when H + 2 damping has no eigenvalue below damping."""
        tau = math.sqrt(self.kappa) / (math.sqrt(self.kappa) + 1.0)
        return 2.0 * self.kappa**2 / (1.0 - math.sqrt(tau)) * math.pow(tau, 0.5 * j)


class _CG:
    """Iterates of conjugate gradients for (H + 2 damping) y = -g, one product a step.

    Products of iterates and residuals with the damped matrix follow from that of the direction.
    """

    def __init__(self, product: Callable[[FloatArray], FloatArray], g: FloatArray) -> None:
        self.product, self.g = product, g
        self.y, self.r, self.p = np.zeros_like(g), g.copy(), -g
        self.hp = product(self.p)
        self.hr = -self.hp
        self.n_products = 1
        self.iterates = [self.y]
        self.images = [np.zeros_like(g)]

    def advanced(self) -> tuple[FloatArray, FloatArray]:
        """Return the next iterate and its residual."""
        alpha = dot(self.r, self.r) / dot(self.p, self.hp)
        return self.y + alpha * self.p, self.r + alpha * self.hp

    def step(self) -> None:
        """Take one step."""
        old = dot(self.r, self.r)
        self.y, self.r = self.advanced()
        beta = dot(self.r, self.r) / old
        before, self.p = self.hp, -self.r + beta * self.p
        self.hp = self.product(self.p)
        self.n_products += 1
        self.hr = beta * before - self.hp
        self.iterates.append(self.y)
        self.images.append(self.r - self.g)


def capped_cg(
    product: Callable[[FloatArray], FloatArray], g: FloatArray, damping: float, *, accuracy: float = 0.5
) -> CappedCGResult:
    r"""Return a damped Newton step, or a direction whose curvature is below -damping.

    Conjugate gradients for :math:`(H + 2 \epsilon I) d = -g` that watch, at no further product, whether an iterate, a
    direction or a difference of iterates shows curvature below :math:`\epsilon` of the damped matrix; the last is
    bound to exist when the residual falls more slowly than the condition number M/epsilon allows.

    Guaranteed (Lemmas 1 and 3): with is_negative, :math:`d^T H d \le -\epsilon \|d\|^2`.  Otherwise
    :math:`d^T (H + 2 \epsilon I) d \ge \epsilon \|d\|^2` and the residual is at most
    :math:`\frac12 \zeta \epsilon \|d\|`, zeta being `accuracy`.  Not guaranteed: that negative curvature of H is
    found.  Where rounding keeps the residual up and no difference of iterates shows it either, the last iterate is
    returned and `residual` tells.

    Parameters
    ----------
    product : callable
        v -> H v.
    g : ndarray of shape (n,)
        Gradient, not zero.
    damping : float
        Damping epsilon, positive.
    accuracy : float in (0, 1), default 0.5
        Accuracy zeta.

    Returns
    -------
    CappedCGResult
        Direction, its type and its curvature.

    Notes
    -----
    The paper stops at a residual of zeta/(3 kappa) |g|, with kappa = (M + 2 eps)/eps; since its proofs use only the
    inequality above, meeting that one ends the iteration too.  M grows from 0 with the stretches that are seen.

    At most min(n, O(sqrt(kappa) log(kappa/zeta))) products but for rounding, and as many vectors of memory, twice.
    Deterministic.

    References
    ----------
    C. W. Royer, M. O'Neill, S. J. Wright, A Newton-CG algorithm with complexity guarantees for smooth unconstrained
    optimization, Math. Program. 180 (2020) 451-488, arXiv:1803.02924, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> found = capped_cg(lambda v: np.array([1.0, -1.0]) * v, np.array([1.0, 1.0]), 0.1)
    >>> found.is_negative, bool(found.curvature < -0.1)
    (True, True)
    """
    cap = _Cap(damping, accuracy)
    cg = _CG(lambda v: product(v) + 2.0 * damping * v, g)
    start = norm(g)
    if _is_flat(cg.p, cg.hp, damping):
        return _result(cg, cg.p, cg.hp, damping, is_negative=True)
    cap.see(cg.p, cg.hp)
    while True:
        cg.step()
        image = cg.r - cg.g
        for vector, stretched in ((cg.p, cg.hp), (cg.y, image), (cg.r, cg.hr)):
            cap.see(vector, stretched)
        size = norm(cg.r)
        if _is_flat(cg.y, image, damping):
            return _result(cg, cg.y, image, damping, is_negative=True)
        if size <= max(cap.relative_accuracy * start, 0.5 * accuracy * damping * norm(cg.y)):
            return _result(cg, cg.y, image, damping, is_negative=False)
        if _is_flat(cg.p, cg.hp, damping):
            return _result(cg, cg.p, cg.hp, damping, is_negative=True)
        if size > cap.residual_limit(cg.n_products - 1) * start:
            return _from_differences(cg, damping)


def _is_flat(d: FloatArray, image: FloatArray, damping: float) -> bool:
    """Whether the damped curvature along d is below the damping."""
    return dot(d, image) < damping * dot(d, d)


def _from_differences(cg: _CG, damping: float) -> CappedCGResult:
    """Return the difference of two iterates with negative curvature, which exact arithmetic guarantees."""
    ahead, residual = cg.advanced()
    image = residual - cg.g
    for y, y_image in zip(cg.iterates[:-1], cg.images[:-1], strict=True):
        if _is_flat(ahead - y, image - y_image, damping):
            return _result(cg, ahead - y, image - y_image, damping, is_negative=True)
    return _result(cg, cg.y, cg.r - cg.g, damping, is_negative=False)


def _result(cg: _CG, d: FloatArray, image: FloatArray, damping: float, *, is_negative: bool) -> CappedCGResult:
    """Put together a result; `image` is the product of the damped matrix with d."""
    return CappedCGResult(
        direction=d,
        is_negative=is_negative,
        curvature=dot(d, image) / dot(d, d) - 2.0 * damping,
        stretch=norm(image - 2.0 * damping * d) / norm(d),
        residual=norm(image + cg.g),
        iterate=cg.iterates[-2] if d is cg.y and is_negative else cg.y,
        n_products=cg.n_products,
    )
