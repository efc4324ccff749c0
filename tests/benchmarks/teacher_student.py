"""The figures of derand.teacher_student next to what they should be, peers and references in the same run.

    python -m tests.benchmarks.teacher_student [--only PART ...] [--quick]

Parts: equations, geometry, sgd, laws, speed, limits.  ``--quick`` leaves out what takes longer than a minute: N = 1e5
and the laws of SGD.  Every line ends with "ok" or "MISSED"; the exit code is the number of lines missed.

Euler's error is linear in its step, so the step that reaches 1e-5 is extrapolated from the finest one that is run, and
its time with it (it is proportional to the number of steps).  The reference of the speed part is the integration at
rtol 2.5e-14.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time

if __name__ == "__main__":
    for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(_name, "1")

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import brentq
from scipy.special import erf

from derand.gaussian import tensor_gauss_hermite
from derand.teacher_student import SmoothActivation, TeacherStudent, conserved_frame
from derand.teacher_student.flow import velocity
from tests.teacher_student.reference import dense_hessian, orthogonal_start, random_start, riccati_losses, weights_for
from tests.teacher_student.test_relu import on_the_circle, quadrature

ALPHAS = np.linspace(0.0, 100.0, 101)
TARGET = 1e-5
MISSED: list[str] = []


def report(name, figure, bar, is_met):
    """Print one line."""
    print(f"{name:<68} {figure:>12}   {bar:<18} {'ok' if is_met else 'MISSED'}", flush=True)
    if not is_met:
        MISSED.append(name)


def at_most(name, figure, bar):
    """Print a line for a figure that should not exceed its bar."""
    report(name, f"{figure:.2e}", f"<= {bar:g}", figure <= bar)


def timed(function, *args, **keywords):
    """Return a result and the processor time it took."""
    begin = time.process_time()
    result = function(*args, **keywords)
    return result, time.process_time() - begin


def rhs_error(activation, scale, n_nodes, p=2, p_star=1):
    """Return the largest difference of the right-hand side from a product rule with n_nodes in each direction."""
    rho, Q, T = random_start(p, p_star, seed=2, scale=scale)
    model = TeacherStudent(p, p_star, activation, T=T, lr=0.3, noise=0.2, second_layer=np.linspace(1.0, -0.5, p))
    setting = model.parameters
    nodes, weights = tensor_gauss_hermite(n_nodes, p + p_star)
    z = nodes @ np.linalg.cholesky(np.block([[Q, rho], [rho.T, T]])).T
    u, slopes = setting.activation.value(z) @ setting.output, setting.activation.derivative(z[:, :p])
    rates = setting.step * setting.output[:p]
    drift = -rates[:, None] * ((slopes * (weights * u)[:, None]).T @ z)
    kick = np.outer(rates, rates) * ((slopes * (weights * (u**2 + 0.2))[:, None]).T @ slopes)
    d_rho, d_q = model.rhs(rho, Q)
    own = drift[:, :p]
    return max(np.max(np.abs(d_rho - drift[:, p:])), np.max(np.abs(d_q - own - own.T - kick)))


def single_relu(alphas, gamma, rho, q):
    """Return the losses of one ReLU neuron and one teacher from the two scalar equations, written by angles."""

    def parts(y):
        r, s = y
        theta = math.acos(r / math.sqrt(s))
        cross = (math.pi - theta) / (2.0 * math.pi)
        return theta, cross, math.sin(theta) / (2.0 * math.pi)

    def loss(y):
        theta, _, _ = parts(y)
        root = math.sqrt(y[1])
        kernel = root * (math.sin(theta) + (math.pi - theta) * math.cos(theta)) / (2.0 * math.pi)
        return 0.5 * (0.5 * y[1] + 0.5 - 2.0 * kernel)

    def speed(_, y):
        r, s = y
        _, cross, sine = parts(y)
        root = math.sqrt(s)
        # E[u g' z*] and E[u g' z] with u = g(z) - g(z*)
        to_teacher = 0.5 * r - (cross + sine * r / root)
        to_self = 0.5 * s - (cross * r + sine * root)
        return [-gamma * to_teacher, -2.0 * gamma * to_self]

    done = solve_ivp(speed, (0.0, alphas[-1]), [rho, q], method="LSODA", t_eval=alphas, rtol=1e-13, atol=1e-14)
    return np.array([loss(y) for y in done.y.T])


def equations():
    """Right-hand sides and trajectories against independent derivations."""
    at_most("right-hand side, square, exact quadrature", rhs_error("square", 1.0, 8), 1e-13)
    at_most("right-hand side, square, p = p* = 2", rhs_error("square", 1.0, 8, 2, 2), 1e-13)
    at_most("right-hand side, erf, quadrature", rhs_error("erf", math.sqrt(0.3), 64), 1e-13)
    tanh = SmoothActivation(np.tanh, lambda z: np.cosh(z) ** -2.0)
    at_most("right-hand side, tanh, product rule of 128^3 nodes", rhs_error(tanh, math.sqrt(0.4), 128), 1e-9)
    rho, Q, T = random_start(2, 1, seed=2)
    sigma, c = np.block([[Q, rho], [rho.T, T]]), np.array([0.5, -0.7, -0.4])
    setting = TeacherStudent(2, 1, "relu").parameters.activation
    pairs = zip(setting.moments(sigma, c, 2), quadrature(sigma, c, 2), strict=False)
    at_most("averages, ReLU, quadrature over orthants", max(np.max(np.abs(a - b)) for a, b in pairs), 1e-9)
    plane = np.random.default_rng(1).standard_normal((6, 2))
    weights = np.linspace(1.0, -1.0, 6)
    exact = on_the_circle(plane, weights, 4)
    error = np.max(np.abs(setting.moments(plane @ plane.T, weights, 4).noise - exact))
    at_most("averages, ReLU, six fields of rank two, exact", error, 1e-9)
    worst = 0.0
    for p, t in ((4, [1.0, 1.0]), (2, [1.5, 0.5]), (6, [1.0, 1.0, 1.0])):
        start = orthogonal_start(p, len(t), 0.05, seed=p)
        alphas = np.linspace(0.0, 20.0 * len(t), 41)
        run = TeacherStudent(p, len(t), T=np.diag(t), lr=0.05).solve(*start, alphas, second_order=False)
        worst = max(worst, np.max(np.abs(run.loss - riccati_losses(*start, np.array(t), 0.05, alphas))))
    at_most("trajectory, square, scalar Riccati form", worst, 1e-11)
    smooth = SmoothActivation(lambda z: erf(z / np.sqrt(2)), lambda z: np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2))
    alphas = np.linspace(0.0, 20.0, 11)
    runs = [TeacherStudent(1, 1, g, T=[[0.5]], lr=0.5).solve([[0.05]], [[0.3]], alphas) for g in ("erf", smooth)]
    at_most("trajectory, erf, averages by expansions", np.max(np.abs(runs[0].loss - runs[1].loss)), 1e-11)
    run = TeacherStudent(1, 1, "relu", lr=0.5).solve([[0.1]], [[0.8]], alphas, second_order=False)
    at_most("trajectory, ReLU, angles", np.max(np.abs(run.loss - single_relu(alphas, 0.5, 0.1, 0.8))), 1e-9)


def geometry():
    """Conservation, selected solutions and Hessian spectra."""
    drift = gap = 0.0
    for p, p_star, size, second in ((4, 2, 1e-2, True), (8, 3, 1e-4, True), (3, 3, 1e-2, False), (5, 2, 0.2, False)):
        rho, Q = orthogonal_start(p, p_star, size, seed=p)
        if second:  # any Q0 that commutes with rho0 rho0'
            Q = np.eye(p) + 0.3 * rho @ rho.T / np.linalg.norm(rho @ rho.T)
        model = TeacherStudent(p, p_star, lr=0.1)
        run = model.solve(rho, Q, np.linspace(0.0, 200.0, 41), second_order=second)
        drift = max(drift, np.max(np.abs(conserved_frame(run.rho) - conserved_frame(rho))))
        W, W_star = weights_for(rho, Q, np.eye(p_star), 30)
        padded = math.sqrt(p / p_star) * np.vstack([W_star, np.zeros((p - p_star, 30))])
        closest = orthogonal_procrustes(padded.T, W.T)[0].T @ padded
        end = model.selected_solution(rho, Q, second_order=second)
        gap = max(gap, np.max(np.abs(end.rho - closest @ W_star.T / 30)))
        gap = max(gap, np.max(np.abs(end.Q - closest @ closest.T / 30)))
    at_most("|S - S_0| along runs that conserve it", drift, 1e-12)
    at_most("selected solution against Procrustes in weight space", gap, 1e-10)
    wrong, n, p, p_star = 0, 10**9, 4, 2
    model = TeacherStudent(p, p_star)
    rho, zero = math.sqrt(2.0) * np.eye(p, p_star), np.zeros((p, p_star))
    expected = {
        "zero": ((zero, np.zeros((p, p))), (p * n, 0, 0)),
        "plateau": ((zero, 2 / 3 * np.eye(p)), (8, p * (n - p - p_star) + 6, 10)),
        "solution": ((rho, rho @ rho.T), (0, 2 * n + 1, 2 * n - 1)),
    }
    for point, counts in expected.values():
        wrong += model.hessian_spectrum(*point, n).inertia() != counts
    report("Hessian counts at N = 1e9: points that differ", str(wrong), "0", wrong == 0)
    worst = 0.0
    for n, p, t in ((12, 4, [1.3, 0.7]), (60, 3, [1.0, 1.0]), (40, 2, [1.5, 1.0, 0.2])):
        T, k = np.diag(t), len(t)
        model = TeacherStudent(p, k, T=T)
        random = random_start(p, k, seed=4)
        q = model.plateau(second_order=False).q
        points = [(np.zeros((p, k)), np.zeros((p, p))), (np.zeros((p, k)), q * np.eye(p)), (0.3 * random[0], random[1])]
        points += [model.closest_solution(np.eye(p, k))] if p >= k else []
        for point in points:
            found = model.hessian_spectrum(*point, n)
            output = model.parameters.output
            dense = dense_hessian(*weights_for(*point, T, n), output[:p], -output[p:])
            values = np.repeat(found.values, found.multiplicities)
            worst = max(worst, np.max(np.abs(values - np.linalg.eigvalsh(dense))))
    at_most("Hessian spectra against dense ones, N <= 60", worst, 1e-12)


def worst_z(first, second):
    """Return the largest difference of two samples' means in standard errors, and how many were compared."""
    error = np.sqrt((first.var(axis=0) + second.var(axis=0)) / len(first))
    free = error > 1e-12
    z = np.abs(first.mean(axis=0) - second.mean(axis=0))[free] / error[free]
    return np.max(z), z.size


def sgd(quick):
    """One-pass SGD against its equations, and the exact simulator against weight space."""
    rho, Q = orthogonal_start(4, 2, 0.5, q=2.0)
    model, alphas = TeacherStudent(4, 2, lr=0.1), np.linspace(0.0, 10.0, 11)
    predicted = model.solve(rho, Q, alphas).rho
    for n in (100, 1000, 10_000) + (() if quick else (100_000,)):
        run = model.simulate(rho, Q, n, alphas, n_replicas=16, rng=n)
        figure = math.sqrt(n) * np.mean(np.max(np.abs(run.rho - predicted), axis=(1, 2, 3)))
        report(f"sqrt(N) max |rho_SGD - rho_ODE|, N = {n:.0e}, 16 runs", f"{figure:.2f}", "1 to 4", 1 < figure < 4)
    settings = (
        {},
        {"noise": 0.3},
        {"constraint": "norm"},
        {"second_layer": [1.0, -1.0, 1.0], "second_layer_lr": 0.2},
        {"activation": "erf", "lr": 0.5},
        {"activation": "relu", "lr": 0.5},
    )
    rho, Q, T = random_start(3, 2, n_inputs=30)
    for keywords in settings:
        model = TeacherStudent(3, 2, T=T, **({"lr": 0.05} | keywords))
        samples = []
        for method, seed in (("exact", 1), ("weights", 2)):
            run = model.simulate(rho, Q, 30, [1.0], n_replicas=8000, method=method, rng=seed)
            upper = np.triu_indices(3)
            samples.append(np.concatenate([run.rho[:, 0].reshape(8000, -1), run.Q[:, 0][:, *upper]], axis=1))
        centre = samples[1].mean(axis=0)
        rows, columns = np.triu_indices(centre.size)
        products = [(a - centre)[:, rows] * (a - centre)[:, columns] for a in samples]
        (mean, n_means), (second, n_products) = worst_z(*samples), worst_z(*products)
        name = ", ".join(f"{k}={v}" for k, v in keywords.items()) or "plain"
        # three standard errors each; the largest of n normal variables exceeds it with probability n 0.0027
        report(f"exact simulator, {name}: means"[:68], f"{mean:.1f} of {n_means}", "<= 3 s.e.", mean <= 3.0)
        report("    variances and covariances", f"{second:.1f} of {n_products}", "<= 3 s.e.", second <= 3.0)


def cold_runs(p, p_star, lr, n, replicas, horizon, t=None):
    """Return model, initial overlaps and runs of SGD from random weights, T = diag(t)."""
    rng, t = np.random.default_rng(7), np.ones(p_star) if t is None else np.array(t)
    rho, Q = np.empty((replicas, p, p_star)), np.empty((replicas, p, p))
    for index in range(replicas):
        weights = rng.standard_normal((p, n))
        rho[index], Q[index] = weights[:, :p_star] * np.sqrt(t / n), weights @ weights.T / n
    model = TeacherStudent(p, p_star, lr=lr, T=np.diag(t))
    return model, rho, model.simulate(rho, Q, n, np.linspace(0.0, horizon, 601), n_replicas=replicas, rng=rng)


def laws():
    """Escape times and overlaps of SGD, N = 1500 and 2000, against their laws, in joint standard errors."""

    def compare(name, samples, law, error):
        mean, own = samples.mean(), samples.std() / math.sqrt(samples.size)
        z = abs(mean - law) / math.hypot(own, error)
        report(f"{name}: {mean:.3f}({own:.3f}), law {law:.3f}", f"{z:.1f} s.e.", "<= 2", z <= 2.0)

    def half_times(model, run):
        return run.alphas[np.argmax(run.loss < 0.5 * model.plateau().loss, axis=1)] - 0.5 * run.alphas[1]

    for p, p_star, lr, horizon in ((4, 1, 0.08, 45.0), (2, 2, 0.15, 90.0), (4, 2, 0.15, 60.0), (8, 2, 0.15, 60.0)):
        model, _, run = cold_runs(p, p_star, lr, 2000, 64, horizon)
        law = model.escape_time(2000, n_starts=1000, fluctuations=True, rng=0)
        compare(f"escape time, p={p} p*={p_star} lr={lr}", half_times(model, run), law.time, law.standard_error)
    settings = ((0.2, 60.0, None), (0.1, 100.0, None), (0.05, 200.0, None), (0.1, 110.0, (1.2, 0.8)))
    for lr, horizon, t in (*settings, (0.1, 130.0, (1.4, 0.6))):
        model, rho, run = cold_runs(4, 2, lr, 1500, 64, horizon, t)
        overlaps = np.sum(conserved_frame(rho) * conserved_frame(run.rho[:, -1]), axis=(1, 2)) / 2
        law = model.overlap_law(N=1500, rng=0)
        name = f"lr={lr}" + (f", t={t}" if t else "")
        compare(f"overlap tr S_0'S_end/p*, {name}", overlaps, law.mean, law.standard_error)
        if t:
            law = model.escape_time(1500, n_starts=500, fluctuations=True, rng=0)
            compare(f"escape time, {name}", half_times(model, run), law.time, law.standard_error)


def euler(p, p_star, gamma, rho, Q, steps):
    """Return losses at ALPHAS from fixed-step Euler, written as one would by hand for T = I."""
    h = (ALPHAS[1] - ALPHAS[0]) / steps
    losses = []
    for index in range(len(ALPHAS)):
        for _ in range(steps if index else 0):
            q_rho, square, cross = Q @ rho, Q @ Q, rho @ rho.T
            m = np.trace(Q) / p - 1.0
            e2 = m * m + 2.0 * (np.trace(square) / p**2 + 1.0 / p_star - 2.0 * np.trace(cross) / (p * p_star))
            f = square / p - cross / p_star
            q_cross = Q @ cross
            g = square @ Q / p**2 - (q_cross + q_cross.T) / (p * p_star) + cross / p_star**2
            d_rho = -2.0 * gamma * (m * rho + 2.0 * q_rho / p - 2.0 * rho / p_star)
            Q = Q + h * (-4.0 * gamma * (m * Q + 2.0 * f) + 4.0 * gamma**2 * (e2 * Q + 4.0 * m * f + 8.0 * g))
            rho = rho + h * d_rho
        m = np.trace(Q) / p - 1.0
        losses.append(0.5 * m * m + np.sum(Q * Q) / p**2 + 1.0 / p_star - 2.0 * np.sum(rho * rho) / (p * p_star))
    return np.array(losses)


def compare(p=4, p_star=2, gamma=0.1, steps=(10, 40, 160)):
    """Print error against processor time and return the ratio of the times at an error of 1e-5."""
    model, (rho, Q) = TeacherStudent(p, p_star, lr=gamma), orthogonal_start(p, p_star, 0.01)
    reference = model.solve(rho, Q, ALPHAS, rtol=2.5e-14).loss
    ours = np.inf
    for rtol in (1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12):
        run, cpu = timed(model.solve, rho, Q, ALPHAS, rtol=rtol)
        error = np.max(np.abs(run.loss - reference))
        ours = min(ours, cpu) if error <= TARGET else ours
        print(f"    derand rtol={rtol:.0e}  {1e3 * cpu:9.2f} ms  error {error:.1e}")
    for count in steps:
        losses, cpu = timed(euler, p, p_star, gamma, rho, Q, count)
        error = np.max(np.abs(losses - reference))
        print(f"    Euler  h={1.0 / count:.5f}  {1e3 * cpu:9.2f} ms  error {error:.1e}")
    return cpu * error / TARGET / ours


def speed():
    """Integration against Euler's method, and the simulators."""
    for p, p_star, gamma in ((4, 2, 0.1), (6, 2, 0.1)):
        ratio = compare(p, p_star, gamma)
        report(f"CPU of Euler over ours at an error of 1e-5, p = {p}", f"{ratio:.0f}", ">= 100", ratio >= 100)
    rho, Q = orthogonal_start(4, 2, 0.03)
    model = TeacherStudent(4, 2, lr=0.1)

    def cost(n, replicas, n_steps=64, **keywords):
        times = [
            timed(model.simulate, rho, Q, n, [n_steps / n], n_replicas=replicas, rng=0, **keywords)[1] for _ in range(3)
        ]
        return min(times) / (n_steps * replicas)

    # Interleaved, best of all: what else the machine does disturbs a single repeat more than the ratio.
    sizes = (1000, 10**5, 10**8)
    rounds = [[cost(n, 4000) for n in sizes] for _ in range(4)]
    base, *others = np.min(rounds, axis=0)
    weights = cost(1000, 100, method="weights")
    for n, large in zip(sizes[1:], others, strict=True):
        ratio = large / base
        report(f"cost of a step of the exact simulator, N = {n:.0e} over 1e3", f"{ratio:.2f}", "<= 1.2", ratio <= 1.2)
    # The cost of a step of one replica.  Weight space gains little from many replicas, the exact process much: what
    # Python spends on a step is shared by all of them, or, for at most 48, by the steps of a block.
    name = "cost of weight space over the exact one, N = 1000, 4000 replicas"
    report(name, f"{weights / base:.0f}", ">= 50", weights / base >= 50)
    for replicas in (1, 8, 48, 200, 1000):
        n_steps = max(64, 3200 // replicas)
        rounds = [
            (cost(1000, replicas, min(n_steps, 640), method="weights"), cost(1000, replicas, n_steps)) for _ in range(3)
        ]
        slow, fast = np.min(rounds, axis=0)
        print(f"    {replicas:5d} replicas: {1e6 * slow:7.2f} us over {1e6 * fast:6.2f} us = {slow / fast:.1f}")


def abscissa(lr, T):
    """Return the largest real part of the equations linearised at the diagonal solution, p = p*."""
    model, base, h = TeacherStudent(2, 2, T=T, lr=lr), np.concatenate([np.diag(T)] * 2), 1e-5

    def move(y):
        found = velocity(model.parameters, np.diag(y[:2]), np.diag(y[2:]), second_order=True, n_inputs=None)
        return np.concatenate([np.diag(part) for part in found])

    columns = [(move(base + h * e) - move(base - h * e)) / (2 * h) for e in np.eye(4)]
    return np.max(np.linalg.eigvals(np.array(columns).T).real)


def limits():
    """Critical rates, divergence, floors and tails."""
    for T in (np.eye(2), np.diag([1.3, 0.7])):
        limit = TeacherStudent(2, 2, T=T).critical_lr().stable
        found = brentq(abscissa, 0.9 * limit, 1.1 * limit, args=(T,), xtol=1e-10)
        at_most(f"stable rate, T = {np.diag(T).tolist()}", abs(found - limit), 1e-6)
    limit = TeacherStudent(4, 2, noise=0.1).critical_lr().plateau
    zero, ends = np.zeros((4, 2)), []
    for lr in (limit * (1 - 1e-6), limit * (1 + 1e-6)):
        model = TeacherStudent(4, 2, noise=0.1, lr=lr)
        ends.append(model.solve(zero, np.eye(4), [0.0, 200_000.0], rtol=1e-8))
    is_right = ends[0].success and ends[1].status.item().name == "DIVERGED" and not ends[1].success
    report("norms just below and above the plateau's rate (1e-6)", "as said" if is_right else "not", "status", is_right)
    narrow = TeacherStudent(1, 3, lr=0.02, T=np.diag([1.5, 1.0, 0.5]))
    run = narrow.solve([[0.3, 0.1, 0.1]], [[1.0]], [0.0, 2000.0], second_order=False)
    at_most("p < p*: end of gradient flow against the floor", abs(run.loss[-1] / narrow.best_loss() - 1), 1e-2)
    for p, noise in ((2, 0.1), (4, 0.3)):
        model = TeacherStudent(p, 2, lr=0.1, noise=noise)
        rho = math.sqrt(p / 2) * np.eye(p, 2)
        run = model.solve(rho, 1.1 * (rho @ rho.T + 0.05 * np.eye(p)), [0.0, 4000.0], rtol=1e-9)
        at_most(f"noise floor, p = {p}", abs(run.loss[-1] / model.noise_floor().loss - 1), 1e-2)
    for p, T in ((4, np.eye(2)), (4, np.diag([1.4, 0.6]))):
        model = TeacherStudent(p, 2, T=T, lr=0.1)
        run = model.solve(0.3 * np.eye(p, 2), np.eye(p), [0.0, 20_000.0], rtol=1e-8)
        figure = abs(run.loss[-1] * 20_000.0**2 / model.tail().loss_prefactor - 1)
        at_most(f"algebraic tail at alpha = 2e4, T = {np.diag(T).tolist()}", figure, 1e-2)


PARTS = {"equations": equations, "geometry": geometry, "sgd": sgd, "laws": laws, "speed": speed, "limits": limits}


def main(arguments=None):
    """Run the chosen parts and return the number of missed lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    for name in options.only:
        if name == "sgd":
            sgd(options.quick)
        elif name != "laws" or not options.quick:
            PARTS[name]()
    print(f"missed: {MISSED or 'nothing'}")
    return len(MISSED)


if __name__ == "__main__":
    sys.exit(main())
