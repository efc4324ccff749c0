"""Test problems whose unknown is a low-rank matrix, a set of unit vectors or a signal in quadratic measurements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray
from tests.problems_base import AnyArray, Objective, Problem, make, polish, random_orthogonal


class MaskedFactorisation(Objective):
    """1/2 ||P o (U V' - M)||^2 with U (p, r), V (q, r) and a 0/1 mask P (p, q)."""

    def __init__(self, matrix: FloatArray, rank: int, mask: FloatArray | None = None) -> None:
        self.matrix, self.rank = matrix, rank
        self.mask = np.ones_like(matrix) if mask is None else mask
        self.n = sum(matrix.shape) * rank

    def _split(self, x: AnyArray) -> tuple[AnyArray, AnyArray]:
        cut = self.matrix.shape[0] * self.rank
        return x[:cut].reshape(-1, self.rank), x[cut:].reshape(-1, self.rank)

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        U, V = self._split(x)
        residual = self.mask * (U @ V.T - self.matrix)
        return 0.5 * np.sum(residual * residual), np.concatenate([(residual @ V).ravel(), (residual.T @ U).ravel()])

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        (U, V), (dU, dV) = self._split(x), self._split(v)
        residual = self.mask * (U @ V.T - self.matrix)
        change = self.mask * (dU @ V.T + U @ dV.T)
        return np.concatenate([(change @ V + residual @ dV).ravel(), (change.T @ U + residual.T @ dU).ravel()])


class SymmetricFactorisation(Objective):
    """1/4 ||U U' - M||^2 with U (p, r)."""

    def __init__(self, matrix: FloatArray, rank: int) -> None:
        self.matrix, self.rank = matrix, rank
        self.n = matrix.shape[0] * rank

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        U = x.reshape(-1, self.rank)
        residual = U @ U.T - self.matrix
        return 0.25 * np.sum(residual * residual), (residual @ U).ravel()

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        U, dU = x.reshape(-1, self.rank), v.reshape(-1, self.rank)
        return (U @ (U.T @ dU) - self.matrix @ dU + dU @ (U.T @ U) + U @ (dU.T @ U)).ravel()


class LinearAutoencoder(Objective):
    """1/2 tr((A B - I) C (A B - I)') with decoder A (p, r), encoder B (r, p) and covariance C."""

    def __init__(self, covariance: FloatArray, rank: int) -> None:
        self.covariance, self.rank = covariance, rank
        self.n = 2 * covariance.shape[0] * rank

    def _split(self, x: AnyArray) -> tuple[AnyArray, AnyArray]:
        half = self.n // 2
        return x[:half].reshape(-1, self.rank), x[half:].reshape(self.rank, -1)

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        A, B = self._split(x)
        error = A @ B - np.eye(len(A))
        weighted = error @ self.covariance
        return 0.5 * np.sum(weighted * error), np.concatenate([(weighted @ B.T).ravel(), (A.T @ weighted).ravel()])

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        (A, B), (dA, dB) = self._split(x), self._split(v)
        weighted = (A @ B - np.eye(len(A))) @ self.covariance
        change = (dA @ B + A @ dB) @ self.covariance
        return np.concatenate([(change @ B.T + weighted @ dB.T).ravel(), (dA.T @ weighted + A.T @ change).ravel()])


class QuadraticMeasurements(Objective):
    """Mean of loss(sum_j (w_j . a_i)^2 - y_i) over the rows a_i of A (m, d); W (width, d) holds the w_j."""

    def __init__(
        self, A: FloatArray, y: FloatArray, width: int, loss: Callable[[AnyArray], tuple[AnyArray, ...]]
    ) -> None:
        self.A, self.y, self.width, self.loss = A, y, width, loss
        self.n = width * A.shape[1]

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        U = self.A @ x.reshape(self.width, -1).T
        value, first, _ = self.loss(np.sum(U * U, axis=1) - self.y)
        return np.mean(value), ((2.0 / len(self.y)) * ((first[:, None] * U).T @ self.A)).ravel()

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        U, dU = self.A @ x.reshape(self.width, -1).T, self.A @ v.reshape(self.width, -1).T
        _, first, second = self.loss(np.sum(U * U, axis=1) - self.y)
        change = 2.0 * second * np.sum(U * dU, axis=1)
        return ((2.0 / len(self.y)) * ((change[:, None] * U + first[:, None] * dU).T @ self.A)).ravel()


def quarter_square(r: AnyArray) -> tuple[AnyArray, ...]:
    """Return r^2/4 with its two derivatives."""
    return 0.25 * r * r, 0.5 * r, np.full(r.shape, 0.5)


def pseudo_huber(r: AnyArray) -> tuple[AnyArray, ...]:
    """Return sqrt(1 + r^2) - 1 with its two derivatives."""
    root = np.sqrt(1.0 + r * r)
    return root - 1.0, r / root, root**-3


class BlindDeconvolution(Objective):
    """1/2 mean((b_i . h)(c_i . x) - y_i)^2 + 1/8 (|h|^2 - |x|^2)^2 for B, C (m, d)."""

    def __init__(self, B: FloatArray, C: FloatArray, y: FloatArray) -> None:
        self.B, self.C, self.y = B, C, y
        self.n = B.shape[1] + C.shape[1]

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        h, z = np.split(x, [self.B.shape[1]])
        u, w = self.B @ h, self.C @ z
        residual = (u * w - self.y) / len(self.y)
        balance = h @ h - z @ z
        value = 0.5 * len(self.y) * (residual @ residual) + 0.125 * balance * balance
        return value, np.concatenate(
            [self.B.T @ (residual * w) + 0.5 * balance * h, self.C.T @ (residual * u) - 0.5 * balance * z]
        )

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        cut = [self.B.shape[1]]
        (h, z), (dh, dz) = np.split(x, cut), np.split(v, cut)
        u, w, du, dw = self.B @ h, self.C @ z, self.B @ dh, self.C @ dz
        residual, change = (u * w - self.y) / len(self.y), (du * w + u * dw) / len(self.y)
        balance, tilt = h @ h - z @ z, 2.0 * (h @ dh - z @ dz)
        first = self.B.T @ (change * w + residual * dw) + 0.5 * (tilt * h + balance * dh)
        second = self.C.T @ (change * u + residual * du) - 0.5 * (tilt * z + balance * dz)
        return np.concatenate([first, second])


class NormalisedRows(Objective):
    """F(Z) where Z are the rows of the (p, r) variable scaled to length one; the lengths are invariant directions."""

    def __init__(self, inner: Objective, n_rows: int) -> None:
        self.inner, self.n_rows = inner, n_rows
        self.n = inner.n

    def _normalise(self, x: AnyArray) -> tuple[AnyArray, AnyArray]:
        Y = x.reshape(self.n_rows, -1)
        length = np.sqrt(np.sum(Y * Y, axis=1, keepdims=True))
        return Y / length, length

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        Z, length = self._normalise(x)
        value, gradient = self.inner.value_and_grad(Z.ravel())
        gradient = gradient.reshape(Z.shape)
        radial = np.sum(gradient * Z, axis=1, keepdims=True)
        return value, ((gradient - radial * Z) / length).ravel()

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        Z, length = self._normalise(x)
        dY = v.reshape(Z.shape)
        stretch = np.sum(dY * Z, axis=1, keepdims=True)
        dZ = (dY - stretch * Z) / length
        gradient = self.inner.value_and_grad(Z.ravel())[1].reshape(Z.shape)
        change = self.inner.hessp(Z.ravel(), dZ.ravel()).reshape(Z.shape)
        radial = np.sum(gradient * Z, axis=1, keepdims=True)
        radial_change = np.sum(change * Z + gradient * dZ, axis=1, keepdims=True)
        tangential = (gradient - radial * Z) / length
        return ((change - radial_change * Z - radial * dZ - stretch * tangential) / length).ravel()


class PairEnergy(Objective):
    """1/2 sum_ij C_ij z_i . z_j for the rows z_i of a (p, r) variable."""

    def __init__(self, couplings: FloatArray, rank: int) -> None:
        self.couplings, self.n = couplings, couplings.shape[0] * rank

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        gradient = (self.couplings @ x.reshape(len(self.couplings), -1)).ravel()
        return 0.5 * (gradient @ x), gradient

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        return (self.couplings @ v.reshape(len(self.couplings), -1)).ravel()


def _spectral_start(vectors: FloatArray, values: FloatArray) -> FloatArray:
    """Return U (p, r) with columns sqrt(value) times vector."""
    return vectors * np.sqrt(values)


def matrix_factorisation() -> Problem:
    rng = np.random.default_rng(1)
    left, right = random_orthogonal(12, rng), random_orthogonal(9, rng)
    singular = np.array([2.0, 1.6, 1.3, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05])
    keep, skip = np.array([0, 1, 2]), np.array([0, 1, 4])
    points = [
        np.concatenate([_spectral_start(m[:, c], singular[c]).ravel() for m in (left, right)]) for c in (keep, skip)
    ]
    objective = MaskedFactorisation(left[:, :9] * singular @ right.T, 3)
    minimum = 0.5 * float(np.sum(singular[3:] ** 2))
    return make(
        "matrix_factorisation",
        objective,
        points[1],
        minimum=minimum,
        minimizer=points[0],
        benign=True,
        spread=0.5,
        tuned=True,
    )


def symmetric_factorisation() -> Problem:
    rng = np.random.default_rng(2)
    vectors = random_orthogonal(40, rng)
    values = np.concatenate([[2.0, 1.8, 1.5, 1.2, 1.0], 0.4 * rng.random(20), -0.5 * rng.random(15)])
    top, skip = np.arange(5), np.array([0, 2, 4])
    saddle = np.zeros((40, 5))
    saddle[:, :3] = _spectral_start(vectors[:, skip], values[skip])
    return make(
        "symmetric_factorisation",
        SymmetricFactorisation(vectors * values @ vectors.T, 5),
        saddle,
        minimum=0.25 * float(np.sum(values[5:] ** 2)),
        minimizer=_spectral_start(vectors[:, top], values[top]),
        benign=True,
        spread=0.3,
        tuned=True,
    )


def linear_autoencoder() -> Problem:
    rng = np.random.default_rng(3)
    vectors, values = random_orthogonal(16, rng), np.linspace(2.0, 0.1, 16)
    points = []
    for chosen in (np.array([0, 1, 2]), np.array([1, 4, 7])):
        mix = np.eye(3) + 0.2 * rng.standard_normal((3, 3))
        points.append(
            np.concatenate([(vectors[:, chosen] @ mix).ravel(), np.linalg.solve(mix, vectors[:, chosen].T).ravel()])
        )
    objective = LinearAutoencoder(vectors * values @ vectors.T, 3)
    minimum = 0.5 * float(np.sum(values[3:]))
    return make(
        "linear_autoencoder", objective, points[1], minimum=minimum, minimizer=points[0], benign=True, spread=0.4
    )


def matrix_completion() -> Problem:
    rng = np.random.default_rng(4)
    U, V = rng.standard_normal((110, 3)) / 110**0.25, rng.standard_normal((90, 3)) / 90**0.25
    mask = (rng.random((110, 90)) < 0.4).astype(np.float64)
    saddle = np.zeros(600)
    return make(
        "matrix_completion",
        MaskedFactorisation(U @ V.T, 3, mask),
        saddle,
        minimum=0.0,
        minimizer=np.concatenate([U, V]),
        spread=0.3,
    )


def phase_retrieval() -> Problem:
    rng = np.random.default_rng(5)
    A, signal = rng.standard_normal((400, 40)), rng.standard_normal(40)
    signal /= np.linalg.norm(signal)
    objective = QuadraticMeasurements(A, (A @ signal) ** 2, 1, quarter_square)
    # In the limit of many measurements every x orthogonal to the signal with |x|^2 = 1/3 is a saddle.
    guess = rng.standard_normal(40)
    guess -= (guess @ signal) * signal
    saddle = polish(objective, guess / (np.sqrt(3.0) * np.linalg.norm(guess)), index=1)
    return make("phase_retrieval", objective, saddle, minimum=0.0, minimizer=signal, spread=0.2, tuned=True)


def robust_phase_retrieval() -> Problem:
    rng = np.random.default_rng(6)
    A, signal = rng.standard_normal((300, 30)), rng.standard_normal(30)
    signal /= np.linalg.norm(signal)
    y = (A @ signal) ** 2
    y[:30] += 5.0 * rng.random(30)
    return make("robust_phase_retrieval", QuadraticMeasurements(A, y, 1, pseudo_huber), np.zeros(30), spread=0.2)


def quadratic_net() -> Problem:
    rng = np.random.default_rng(7)
    X, teacher = rng.standard_normal((200, 10)), rng.standard_normal((5, 10)) / np.sqrt(10.0)
    objective = QuadraticMeasurements(X, np.sum((X @ teacher.T) ** 2, axis=1), 5, quarter_square)
    return make("quadratic_net", objective, np.zeros(50), minimum=0.0, minimizer=teacher, spread=0.3, tuned=True)


def blind_deconvolution() -> Problem:
    rng = np.random.default_rng(8)
    B, C = rng.standard_normal((300, 30)), rng.standard_normal((300, 30))
    h, z = (v / np.linalg.norm(v) for v in rng.standard_normal((2, 30)))
    objective = BlindDeconvolution(B, C, (B @ h) * (C @ z))
    return make(
        "blind_deconvolution", objective, np.zeros(60), minimum=0.0, minimizer=np.concatenate([h, z]), spread=0.2
    )


def maxcut() -> Problem:
    """Burer-Monteiro relaxation of a circulant graph: by symmetry the semidefinite optimum is p lambda_min / 2."""
    rng = np.random.default_rng(9)
    p, rank = 60, 12
    weights = np.zeros(p)
    half = rng.random(p // 2) * (rng.random(p // 2) < 0.3)
    weights[1 : p // 2 + 1] = half
    weights[p // 2 + 1 :] = half[:-1][::-1]
    couplings = weights[(np.arange(p)[:, None] - np.arange(p)) % p]
    couplings /= np.linalg.norm(couplings, 2)
    frequencies = np.real(np.fft.fft(couplings[0]))
    angle = 2.0 * np.pi * int(np.argmin(frequencies)) / p * np.arange(p)
    minimizer, saddle = np.zeros((2, p, rank))
    minimizer[:, :2] = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    saddle[:, 0] = rng.choice([-1.0, 1.0], size=p)
    objective = NormalisedRows(PairEnergy(couplings, rank), p)
    minimum = 0.5 * p * float(frequencies.min())
    return make("maxcut", objective, saddle, minimum=minimum, minimizer=minimizer, tuned=True)
