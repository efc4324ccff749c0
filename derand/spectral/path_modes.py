"""Order of the coordinates of Gaussian sample paths: those that move the paths most come first."""

from __future__ import annotations

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["principal_modes"]

_SMALLEST = 1e-10


def principal_modes(Q: FloatArray) -> FloatArray:
    r"""Return an orthogonal matrix of time, in whose columns the innovations of a process have least to say at the end.

    The paths are :math:`g_i(t) = \sum_{r \le t, j} Q(t, r)_{ij}\, \xi_j(r)`.  Innovations
    :math:`\xi_j(r) = \sum_q V_{rq}\, \eta_j(q)` have the same law as :math:`\eta`, and with the eigenvectors of
    :math:`\sum_{t,i,j} Q(t, r)_{ij} Q(t, s)_{ij}` in the columns of V the variance of the paths that is left after the
    first few :math:`\eta(q)` is as small as it can be.  Points whose first coordinates are the best spread ones, as
    those of Sobol are, then sample what matters.

    Parameters
    ----------
    Q : ndarray of shape (t + 1, m, (t + 1) m)
        Coefficients of the innovations r = 0, ..., t, m of them at a time.

    Returns
    -------
    ndarray of shape (t + 1, t + 1)
        The matrix V.  Modes that carry less than 1e-10 of the first one's variance aren't told apart.

    Notes
    -----
    O(t^3 m + t^2 m^2).  The signs are fixed, and the matrix depends continuously on Q, except where two of the leading
    modes carry the same variance.

    Examples
    --------
    A random walk: the first mode of its steps is highest at the start, since early steps move more of the path.

    >>> V = principal_modes(np.tril(np.ones((3, 3)))[:, None, :])
    >>> V[:, 0].round(3).tolist(), bool(np.allclose(V @ V.T, np.eye(3)))
    ([0.737, 0.591, 0.328], True)
    """
    times, m = Q.shape[:2]
    columns = Q.reshape(times * m, times, m).transpose(0, 2, 1).reshape(-1, times)
    values, vectors = np.linalg.eigh(columns.T @ columns)
    leading = vectors[:, ::-1][:, values[::-1] > _SMALLEST * values[-1]]
    largest = np.take_along_axis(leading, np.argmax(np.abs(leading), axis=0)[None], axis=0)[0]
    basis, triangle = np.linalg.qr(leading * np.sign(largest), mode="complete")
    basis[:, : leading.shape[1]] *= np.sign(np.diag(triangle))
    return np.asarray(basis)
