"""Limited-memory BFGS: the inverse Hessian that the last steps suggest."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from derand._utils.reductions import norm
from derand._utils.validation import FloatArray
from derand.optimize.oracle import Point

__all__ = ["LimitedMemory"]

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class LimitedMemory:
    """The BFGS inverse Hessian of the last `size` pairs of steps and gradient changes; never changed in place.

    Parameters
    ----------
    size : int
        Most pairs kept, at least 1.
    steps : tuple of ndarrays of shape (n,)
        Steps s, oldest first, scaled so that s.y = 1.
    changes : tuple of ndarrays of shape (n,)
        Gradient changes y, scaled alike.
    scale : float
        Curvature scale of the initial inverse Hessian, ``scale * I``.

    References
    ----------
    J. Nocedal, Math. Comp. 35 (1980) 773-782 (two-loop recursion).
    """

    size: int
    steps: tuple[FloatArray, ...] = ()
    changes: tuple[FloatArray, ...] = ()
    scale: float = 1.0

    def updated(self, start: Point, end: Point) -> LimitedMemory:
        """Return the memory with the pair of one more step.

        The gradient change y is corrected by the function values, y + (theta / s.s) s with
        theta = 6 (f0 - f1) + 3 (g0 + g1).s, which makes s.y the curvature at the end of the step to third order; it
        is what lets the memory see that a step left a saddle.  A pair without clearly positive curvature is left out.

        Parameters
        ----------
        start, end : Point
            Ends of the step.

        Returns
        -------
        LimitedMemory
            This memory, or a new one.

        References
        ----------
        J. Zhang, N. Deng, L. Chen, J. Optim. Theory Appl. 102 (1999) 147-167 (the corrected secant equation).
        """
        step, change = end.x - start.x, end.jac - start.jac
        curvature, square = float(step @ change), float(step @ step)
        noise = 24.0 * _EPS * max(abs(start.fun), abs(end.fun))
        if noise < 0.1 * abs(curvature) and square > 0.0:
            theta = 6.0 * (start.fun - end.fun) + 3.0 * float((start.jac + end.jac) @ step)
            theta = max(theta, -0.5 * curvature)
            change = change + (theta / square) * step
            curvature += theta
        if not _EPS * norm(step) * norm(change) < curvature < math.inf:
            return self
        root = math.sqrt(curvature)
        change = change / root
        if not 1e-300 < float(change @ change) < 1e300:
            return self
        changes = (*self.changes, change)[-self.size :]
        # One pair may be far from typical: the scale is the geometric mean of what the last three suggest.
        logs = [math.log(float(y @ y)) for y in changes[-3:]]
        return replace(
            self,
            steps=(*self.steps, step / root)[-self.size :],
            changes=changes,
            scale=math.exp(-sum(logs) / len(logs)),
        )

    def apply(self, vector: FloatArray) -> FloatArray:
        """Return the product of the inverse Hessian with a vector of shape (n,)."""
        q = np.array(vector, dtype=np.float64)
        shares = []
        for s, y in zip(reversed(self.steps), reversed(self.changes), strict=True):
            share = float(s @ q)
            q -= share * y
            shares.append(share)
        q *= self.scale
        for s, y, share in zip(self.steps, self.changes, reversed(shares), strict=True):
            q += (share - float(y @ q)) * s
        return q
