"""Responses of gradient descent's limit, estimated from sample paths of its fields."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import hadamard

from derand._utils.validation import FloatArray
from derand.spectral.network import Network

__all__ = ["sample_responses"]

_MOST = 1 << 15


def sample_responses(
    network: Network, fields: FloatArray, y: FloatArray, *, eta: float, delta: float
) -> tuple[FloatArray, FloatArray]:
    r"""Return the responses of the weights and of the forces along sample paths of the fields.

    .. math:: R_w(t+1,s) = R_w(t,s) - \eta \sum_{s<r\le t} R_l(t,r) R_w(r,s), \qquad
              \frac{dL(t)}{dg(s)} = S(t) \Big( 1_{t=s} - \frac{\eta}{\delta} \sum_{s \le r<t} R_w(t,r)
              \frac{dL(r)}{dg(s)} \Big), \qquad R_l(t,s) = E\Big[\frac{dL(t)}{dg(s)}\Big].

    Parameters
    ----------
    network : Network
        The network, whose blocks S are the derivatives of the forces L.
    fields : ndarray of shape (t + 1, m, N)
        Fields of N training samples; of more than 32,768 the first ones are used.
    y : ndarray of shape (N,)
        Their responses.
    eta : float
        Step size.
    delta : float
        Ratio of samples to dimensions.

    Returns
    -------
    weight_response : ndarray of shape (t + 1, t + 1, m, m)
        Response Rw(s, r) of theta(s) to a push in step r < s.
    loss_response : ndarray of shape (t, t, m, m)
        Rl(s, r) for r <= s.

    Notes
    -----
    O(t^2 m^3 N): one tangent for each sample, started at every time and neuron with signs from a Hadamard matrix,
    instead of one for each start, which would cost t^3.  The signs of different times are exactly orthogonal over any
    group of similar samples.  Deterministic.

    Examples
    --------
    A linear neuron with the square loss: L(t) = u(t) - y, so that dL(0)/dg(0) = 1 and dL(1)/dg(0) = -eta/delta.

    >>> from derand.spectral.network import make_network
    >>> net = make_network("linear", "square", 1)
    >>> fields, y = np.zeros((3, 1, 64)), np.zeros(64)
    >>> Rw, Rl = sample_responses(net, fields, y, eta=0.5, delta=2.0)
    >>> Rl[:, :, 0, 0].round(12).tolist(), Rw[:, :, 0, 0].round(12).tolist()
    ([[1.0, 0.0], [-0.25, 1.0]], [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 1.0, 0.0]])
    """
    tangents = _Tangents(network, fields[:, :, :_MOST], y[:_MOST], eta, delta)
    for t in range(len(fields) - 1):
        tangents.step(t)
    return tangents.Rw, tangents.Rl


class _Tangents:
    """The tangents of all samples, advanced step by step."""

    def __init__(self, network: Network, fields: FloatArray, y: FloatArray, eta: float, delta: float) -> None:
        self.network, self.fields, self.y, self.eta, self.delta = network, fields, y, eta, delta
        n_steps, (m, N) = len(fields) - 1, fields.shape[1:]
        self.Rw = np.zeros((n_steps + 1, n_steps + 1, m, m))
        self.Rl = np.zeros((n_steps, n_steps, m, m))
        self.tangent = np.empty((n_steps, m, N))
        self.shadow = np.empty((n_steps, m, m, N))
        self.means = np.zeros((n_steps, n_steps, m, m))
        order = 1 << max(1, math.ceil(math.log2((n_steps + 1) * m + 1)))
        self.signs = hadamard(order).astype(np.float64)
        self.row = _spread_rows(np.concatenate([y[None], fields[0]]), order)
        self.zeta = self.signs[:, : (n_steps + 1) * m].T.reshape(n_steps + 1, m, -1)[:, :, self.row]

    def step(self, t: int) -> None:
        """Fill in Rl(t, s) for s <= t and Rw(t + 1, s)."""
        self._respond(t, np.ascontiguousarray(self.network.blocks(self.fields[t], self.y).transpose(1, 2, 0)))
        self.Rw[t + 1, t] = np.eye(self.network.m)
        for s in range(t):
            pull = np.einsum("rij,rjk->ik", self.Rl[t, s + 1 : t + 1], self.Rw[s + 1 : t + 1, s])
            self.Rw[t + 1, s] = self.Rw[t, s] - self.eta * pull

    def _respond(self, t: int, S: FloatArray) -> None:
        """Fill in Rl(t, s) for s <= t: a control variate that needs no history, and the rest from the tangents."""
        m, N = self.tangent.shape[1:]
        self.Rl[t, t] = np.mean(S, axis=2)
        late: FloatArray = np.zeros((m, N))
        if t:
            past = self.Rw[t, :t].transpose(1, 0, 2).reshape(m, -1) @ self.tangent[:t].reshape(-1, N)
            late = -self.eta / self.delta * _product(S, past)
            rest = late.copy()
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
        eta, rate = self.eta, -self.eta / self.delta
        for s in reversed(range(t)):
            Z = self.shadow[s]
            response = rate * (S * Z if len(S) == 1 else np.einsum("ijn,jkn->ikn", S, Z))
            self.Rl[t, s] = np.mean(response, axis=2)
            rest -= _product(response, self.zeta[s])
            self.means[t, s] = np.mean(Z, axis=2)
            mean = np.einsum("rij,rjk->ik", self.Rl[t, s + 1 : t], self.means[s + 1 : t, s])
            Z += response - eta * (_left(self.Rl[t, t], Z) + mean[:, :, None])


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
