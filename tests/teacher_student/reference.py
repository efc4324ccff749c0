"""Independent references: random realisable starts, the scalar Riccati form of gradient flow, dense Hessians."""

import numpy as np
from scipy.integrate import solve_ivp


def random_start(p, p_star, seed=0, n_inputs=40, scale=1.0):
    """Return rho, Q, T of random weight vectors."""
    weights = scale * np.random.default_rng(seed).standard_normal((p + p_star, n_inputs))
    gram = weights @ weights.T / n_inputs
    return gram[:p, p:], gram[:p, :p], gram[p:, p:]


def orthogonal_start(p, p_star, size, seed=0, q=1.0):
    """Return rho with random entries of the given size, and Q = q I; T = I."""
    rho = size * np.random.default_rng(seed).standard_normal((p, p_star))
    return rho, q * np.eye(p)


def riccati_losses(rho0, q0, t, gamma, alphas):
    """Return the gradient-flow losses from p_star + 2 scalar equations, for T = diag(t).

    X = W'W/p solves dX = AX + XA' - 8 gamma X^2 with A = 4 gamma Y - 2 gamma m, Y = W*'W*/p*, m = tr(X - Y), so that
    X = F V'(I + 8 gamma K)^(-1) V F, F = exp(int A), V = W_0/sqrt(p), K = int V F^2 V'.  F is scalar on each principal
    direction of the teacher and on the rest; the scalars are log s = -2 gamma int m and the integrals of s^2 exp(..).
    """
    p, p_star = rho0.shape
    y = t / p_star
    v = rho0 / np.sqrt(t * p)
    rest = q0 / p - v @ v.T

    def parts(alpha, state):
        rates = np.exp(2.0 * state[0] + 8.0 * gamma * np.concatenate([[0.0], y]) * alpha)
        grown = state[1] * rest + (v * state[2:]) @ v.T
        kernel = np.linalg.inv(np.eye(p) + 8.0 * gamma * grown)
        speed = rates[0] * rest + (v * rates[1:]) @ v.T
        return rates, kernel @ speed, kernel @ ((v * (rates[1:] * y)) @ v.T)

    def rhs(alpha, state):
        rates, x, _ = parts(alpha, state)
        return np.concatenate([[-2.0 * gamma * (np.trace(x) - np.sum(y))], rates])

    done = solve_ivp(
        rhs, (0.0, alphas[-1]), np.zeros(p_star + 2), method="DOP853", t_eval=alphas, rtol=1e-13, atol=1e-14
    )
    losses = []
    for alpha, state in zip(alphas, done.y.T, strict=True):
        _, x, cross = parts(alpha, state)
        trace = np.trace(x) - np.sum(y)
        losses.append(0.5 * trace**2 + np.trace(x @ x) - 2.0 * np.trace(cross) + np.sum(y**2))
    return np.array(losses)


def dense_hessian(W, W_star, a, b):
    """Return the Hessian of N R from second derivatives of R = m^2/2 + tr M^2, direction by direction."""
    own, teacher = W / np.sqrt(W.shape[1]), W_star / np.sqrt(W.shape[1])
    M = own.T @ (a[:, None] * own) - teacher.T @ (b[:, None] * teacher)
    columns = []
    for index in np.ndindex(own.shape):
        d = np.zeros(own.shape)
        d[index] = 1.0
        d_m = d.T @ (a[:, None] * own) + own.T @ (a[:, None] * d)
        # gradient of R is 2 A W (tr M + 2 M)
        column = 2.0 * a[:, None] * (d * np.trace(M) + own * np.trace(d_m) + 2.0 * d @ M + 2.0 * own @ d_m)
        columns.append(column.ravel())
    return np.array(columns).T


def weights_for(rho, Q, T, n_inputs, seed=0):
    """Return weight matrices with the given order parameters in a random position."""
    p = Q.shape[0]
    sigma = np.block([[Q, rho], [rho.T, T]])
    values, vectors = np.linalg.eigh(sigma)
    values = np.where(values > 1e-13 * values[-1], values, 0.0)
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((n_inputs, sigma.shape[0])))[0]
    both = np.sqrt(n_inputs) * (vectors * np.sqrt(values)) @ basis.T
    return both[:p], both[p:]
