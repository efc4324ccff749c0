"""Double wells with constants known in closed form, for tests of methods whose theorems need them."""

from __future__ import annotations

import numpy as np


class CosineWell:
    """f(x, y) = cos(x) + stiffness |y|^2 / 2 on R^n, whose saddle at 0 lies between minima at x = +-pi, y = 0.

    The Hessian is diag(-cos x, stiffness, ...): the gradient is max(1, stiffness)-Lipschitz, the Hessian 1-Lipschitz,
    and f(0) - min f = 2.
    """

    hess_lip, delta_f = 1.0, 2.0

    def __init__(self, n: int, stiffness: float = 1.0) -> None:
        self.n, self.stiffness, self.grad_lip = n, stiffness, max(1.0, stiffness)

    def __call__(self, x):
        y = x[1:]
        gradient = np.concatenate([[-np.sin(x[0])], self.stiffness * y])
        return float(np.cos(x[0]) + 0.5 * self.stiffness * (y @ y)), gradient

    def eigenvalues(self, x):
        return np.append(np.full(self.n - 1, self.stiffness), -np.cos(x[0]))

    @property
    def constants(self):
        return {"grad_lip": self.grad_lip, "hess_lip": self.hess_lip, "delta_f": self.delta_f}


def assert_same_run(first, second):
    """Two results agree bit for bit."""
    assert first.x.tobytes() == second.x.tobytes()
    assert first.jac.tobytes() == second.jac.tobytes()
    assert (first.status, first.fun, first.nit, first.nfev, first.nhev, first.n_escapes, first.history) == (
        second.status,
        second.fun,
        second.nit,
        second.nfev,
        second.nhev,
        second.n_escapes,
        second.history,
    )
