"""The spectral module's figures, each beside its bar.

    python -m tests.benchmarks.spectral [1 2 3 4 5 6 7 8]

Without numbers all sections but 8 run, in about ten minutes on one core; 8 is the experiment of gradient descent at
d = 200.  Processor times are printed also as multiples of one 4000 x 4000 matrix product in the same run.
"""

from __future__ import annotations

import os
import sys
import time

if __name__ == "__main__":
    for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(_name, "1")

import math
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.linalg import eigh
from scipy.linalg.blas import dsyrk
from scipy.special import k0, k1
from scipy.stats import norm

from derand.estimators.spectral_index import SpectralIndexEstimator
from derand.gaussian.qmc import sobol_normal
from derand.spectral import (
    DMFT,
    MatrixSpectralLaw,
    MultiIndexLink,
    SpectralLaw,
    TwoLayerGD,
    as_loss,
    nn_threshold,
    success_curve,
)
from derand.spectral.network import make_network


def timed(function, *args, **kwargs):
    """Return a result and the processor time it took."""
    begin = time.process_time()
    result = function(*args, **kwargs)
    return result, time.process_time() - begin


def unit():
    """Return the time of one product of 4000 x 4000 matrices."""
    A = np.random.default_rng(0).standard_normal((4000, 4000))
    return timed(np.matmul, A, A)[1]


def known_values(product):
    print("1. delta_alg")
    for text, k, exact in (
        ("z**2", 1, 0.5),
        ("abs(z)", 1, 0.5),
        ("cosh(z)", 1, 0.5),
        ("sign(z1*z2)", 2, math.pi**2 / 4),
        ("cos(z)", 1, 1.0 / _cosine()),
        ("z1*z2", 2, 1.0 / _bessel()),
        ("z**2*exp(-z**2)", 1, math.inf),
        ("sign(z1*z2*z3)", 3, math.inf),
    ):
        found, cpu = timed(MultiIndexLink(text, k).delta_alg)
        error = 0.0 if found.value == exact else abs(found.value - exact)
        print(f"   {text:18s} {found.value:.15g}  error {error:.1e}  {cpu:.2f} s")
    for activation in ("quad", "gelu"):
        print(f"   square loss, {activation}: {nn_threshold(activation, 'square', 'z**2').value} (bar: none finite)")


def _cosine():
    """Return E[E[z^2 - 1|cos z]^2] by quad over the branches."""

    def deviation(z):
        shifts = 2 * np.pi * np.arange(-4, 5)
        branches = np.concatenate([z + shifts, -z + shifts])
        weights = np.exp(-(branches**2) / 2)
        return weights @ (branches**2 - 1) / weights.sum()

    def term(z):
        return 2 * norm.pdf(z) * deviation(z) ** 2

    return sum(quad(term, k * np.pi, (k + 1) * np.pi, epsabs=1e-15, epsrel=1e-13)[0] for k in range(3))


def _bessel():
    """Return the information of z1 z2 by quad over Bessel functions."""
    cuts = (0, 1e-8, 1e-4, 1e-2, 1, 10, 40)
    return 1 + 2 * sum(
        quad(lambda y: k0(y) / np.pi * (y * k1(y) / k0(y) - 1) ** 2, a, b, epsabs=1e-15, epsrel=1e-13, limit=300)[0]
        for a, b in pairwise(cuts)
    )


def scalar_law(product):
    print("2. scalar law")
    worst = 0.0
    for delta in (1.5, 4.0, 30.0):
        edges = SpectralLaw([1.0], weights=[1.0]).edges(delta)
        worst = max(
            worst, abs(edges.left.value - (1 - delta**-0.5) ** 2), abs(edges.right.value - (1 + delta**-0.5) ** 2)
        )
    print(f"   Marchenko-Pastur edges: error {worst:.1e} (bar 1e-12)")
    worst = 0.0
    for delta in (0.7, 2.0, 9.0):
        q = min(r.real for r in np.roots([delta - 1.0, delta + 2.0, -1.0]) if r.real > 0.0)
        z = -1.0 / (delta * math.sqrt(q)) - math.sqrt(q) / (1.0 - q)
        worst = max(worst, abs(SpectralLaw([1.0, -1.0], weights=[0.5, 0.5]).edges(delta).left.value - z))
    print(f"   +-1 weights: error {worst:.1e} (bar 1e-12)")
    law = SpectralLaw.from_function(lambda z: 1.0 - 1.0 / z**2, breakpoints=[0.0])
    error = abs(law.threshold("right").value - 0.5), abs(law.outliers(2.0, "right")[0].value - 0.5)
    print(f"   T = 1 - 1/y: threshold error {error[0]:.1e}, outlier error {error[1]:.1e} (bar 1e-12)")
    kinked = SpectralLaw.from_function(lambda z: -np.minimum(z**2, 1.0), breakpoints=[-1.0, 1.0])
    print(f"   declared kinks: own error estimate {kinked.threshold('left').error:.1e} (bar 1e-8, test_law checks it)")
    for name, G, p in (
        ("+-1, delta 1", [1.0, -1.0], [0.5, 0.5]),
        ("tanh sample", np.tanh(np.random.default_rng(0).standard_normal(300)), np.full(300, 1 / 300)),
    ):
        found = SpectralLaw(G, weights=p)
        mass = np.sum(found.integration_rule(1.0)[1]) + found.atom(1.0)
        print(f"   density of {name}: mass - 1 = {mass - 1:.1e} (bar 1e-6)")
    z = np.linspace(-8.0, 8.0, 1000)
    nodes = SpectralLaw(-np.tanh(z**2), z, norm.pdf(z))
    found, cpu = timed(nodes.threshold, "left")
    tau = 0.5

    def integrand(x):
        g = -math.tanh(x * x)
        return (g * tau / (1 + g * tau)) ** 2 * math.exp(-x * x / 2)

    _, peer = timed(lambda: [quad(integrand, -8, 8) for _ in range(100)])
    print(
        f"   threshold at 1,000 nodes: {cpu:.4f} s = {cpu / product:.4f} products (bar 0.1 s); 100 quad: {peer:.3f} s"
    )


def simulation(product, d=1000, seeds=10):
    print(f"3. theory against simulation, d = {d}, {seeds} seeds")
    print("   edge: seen, of its mean in d dimensions, the latter less what the runs' own weights move their edges,")
    print("   and of the mean that HessianSnapshot.law().extreme_eigenvalue(delta, d) predicts for each run")
    counts = np.zeros(4, dtype=int)
    for activation, delta in (("half-quad", 4.0), ("gelu", 6.0), ("silu", 6.0)):
        for loss in ("pseudo-huber", "log-cosh"):
            theory = DMFT(activation, loss, "z**2", delta=delta, eta=0.2, n_samples=1 << 17).run(15)
            model = TwoLayerGD(activation, loss, "z**2", d=d, delta=delta, eta=0.2, init="orthogonal")
            runs = [model.run(15, record=[15], hessian=[0, 5, 15], n_eigenvalues=2, rng=s) for s in range(seeds)]
            for index, t in enumerate((0, 5, 15)):
                shots = [run.snapshots[index] for run in runs]
                counts += _compare(f"{activation:9s} {loss:12s} t={t:2d}", theory.hessian_law(t), shots, delta, d)
    print(f"   edges within 1 % of 18: {counts.tolist()}")


def _compare(name, law, shots, delta, d):
    """Print how far runs are from a law; return which of the four ways to compare edges are within 1 %."""
    edge, found = law.edges(delta).left.value, law.outliers(delta, "left")
    values = np.array([shot.values for shot in shots])
    seen = values[:, 1] if found else values[:, 0]
    mean, deviation = law.extreme_eigenvalue(delta, d, "left", random_weights=True)
    laws = [shot.law() for shot in shots]
    own = np.mean([law.edges(delta).left.value for law in laws])
    each = np.mean([law.extreme_eigenvalue(delta, d)[0] for law in laws])
    average = np.mean(seen)
    ratios = np.array([average / edge, average / mean, (average - own + edge) / mean, average / each]) - 1.0
    text = "no outlier"
    if found:
        text = f"outlier {np.mean(values[:, 0]) / found[0].value - 1:+.2%} (2 %)"
        text += f"  overlap {np.mean([shot.hard_overlaps[0] for shot in shots]) - found[0].overlap:+.3f} (0.03)"
    error = deviation / abs(mean) / math.sqrt(len(shots))
    print(f"   {name}  edge {', '.join(f'{r:+.2%}' for r in ratios)} (1 %; se {error:.2%})  {text}", flush=True)
    return np.abs(ratios) <= 0.01


def dynamics(product):
    print("4. DMFT")
    x, w = SpectralLaw([1.0], weights=[1.0]).integration_rule(2.0)
    run = DMFT("linear", "square", "z", delta=2.0, eta=0.3, n_samples=1024).run(20)
    powers = (1.0 - 0.3 * x) ** np.arange(21)[:, None]
    print(f"   linear: error {np.max(np.abs(run.overlaps[:, 0, 0] - 1 + powers @ w)):.1e} (bar 1e-8)")
    for activation, m, size in (("tanh", 1, 19), ("gelu", 1, 19), ("tanh", 2, 19), ("gelu", 2, 19), ("tanh", 4, 18)):
        a = [1.0, 1.0, -1.0, 1.0][:m]
        kwargs = {"delta": 4.0, "eta": 0.2, "a": a}
        coarse, first = timed(DMFT(activation, "pseudo-huber", "z**2", m, n_samples=1 << (size - 1), **kwargs).run, 50)
        fine, second = timed(DMFT(activation, "pseudo-huber", "z**2", m, n_samples=1 << size, rng=1, **kwargs).run, 50)
        change = np.abs(np.diagonal(coarse.covariances - fine.covariances, axis1=2, axis2=3))
        risk = np.max(np.abs(coarse.test_risk - fine.test_risk))
        del coarse, fine
        print(
            f"   {activation}, m={m}, T=50, N=2^{size}: changes {np.max(change):.1e} and {risk:.1e} (bar 1e-3), "
            f"{first:.1f} and {second:.1f} s (bar 60 s), {second / product:.1f} products",
            flush=True,
        )
    model = DMFT("gelu", "pseudo-huber", "z**2", delta=4.0, eta=0.2, n_samples=1 << 15)
    times = [timed(model.run, T)[1] for T in (25, 50, 100)]
    print(f"   time at T = 25, 50, 100: {times[0]:.2f}, {times[1]:.2f}, {times[2]:.2f} s (T^2: factors of 4)")
    limit = DMFT("gelu", "pseudo-huber", "z**2", delta=4.0, eta=0.2, n_samples=1 << 16).run(20)
    model = TwoLayerGD("gelu", "pseudo-huber", "z**2", d=2000, delta=4.0, eta=0.2, init="orthogonal")
    runs = [model.run(20, record=[20], rng=s) for s in range(6)]
    for name, value, samples in (
        ("train risk", limit.train_risk[20], [r.train_risk[0] for r in runs]),
        ("test risk", limit.test_risk[20], [r.test_risk[0] for r in runs]),
        ("norm^2", limit.covariances[20, 20, 0, 0], [r.norms[0, 0] ** 2 for r in runs]),
    ):
        error = np.std(samples, ddof=1) / len(samples) ** 0.5
        print(
            f"   d=2000 {name} {np.mean(samples):.5f}, theory {value:.5f}, {(np.mean(samples) - value) / error:+.1f} se"
        )


def blocks(product, d=1000, seeds=12):
    print("5. matrix law, 10^4 samples")
    for m in (2, 4):
        points = sobol_normal(1 << 14, m + 1, 0)[:10_000]  # independent ones would move the edge by about 1 %
        u, z = np.ascontiguousarray(points[:, 1:].T), points[:, 0]
        network = make_network("half-quad", "pseudo-huber", m, [1.0, 1.0, -1.0, 1.0][:m])
        law = MatrixSpectralLaw(network.blocks(u, z**2), z)
        edges, first = timed(law.edges, 4.0)
        outliers, second = timed(law.outliers, 4.0, "left")
        print(f"   m={m}: edges {first:.2f} s, outliers {second:.2f} s (bar 2 s each), {first / product:.2f} products")
        model = TwoLayerGD(
            "half-quad", "pseudo-huber", "z**2", m, d=d, delta=4.0, eta=0.2, init="orthogonal", a=network.a
        )
        count = len(outliers) + 1
        shots = [model.run(0, hessian=[0], n_eigenvalues=count, rng=s).snapshots[0] for s in range(seeds)]
        every = np.array([shot.values for shot in shots])
        values, errors = np.mean(every, axis=0), np.std(every, axis=0, ddof=1) / seeds**0.5
        own = np.mean([shot.law().edges(4.0).left.value for shot in shots])
        edge = edges.left.value
        mean, deviation = law.extreme_eigenvalue(4.0, d, "left", random_weights=True)
        shifts = ", ".join(
            f"{v / o.value - 1:+.2%} (se {e / abs(o.value):.2%})"
            for v, e, o in zip(values, errors, outliers, strict=False)
        )
        finite = law.finite_outliers(4.0, d, random_weights=True)
        against = ", ".join(f"{v / f.mean - 1:+.2%}" for v, f in zip(values, finite, strict=False))
        limit, cluster = np.mean([f.limit for f in finite]), np.mean(every[:, : len(finite)], axis=1)
        gaps = np.ptp(every[:, : len(finite)], axis=1)
        ratios = (values[-1] / edge - 1, values[-1] / mean - 1, (values[-1] - own + edge) / mean - 1)
        print(
            f"        simulation d={d}, {seeds} seeds: outliers {shifts}; edge, of its mean in {d} dimensions, "
            f"less what the runs' own weights do: {', '.join(f'{r:+.2%}' for r in ratios)} "
            f"(1 %; se {deviation / abs(mean) / seeds**0.5:.2%})",
            flush=True,
        )
        print(
            f"        outliers in a cluster of {finite[0].cluster_size}: of their sorted means in {d} dimensions "
            f"{against}; mean of the cluster {np.mean(cluster) / limit - 1:+.2%} (se "
            f"{np.std(cluster, ddof=1) / seeds**0.5 / abs(limit):.2%}); spread {np.mean(gaps):.4f} "
            f"+- {np.std(gaps, ddof=1) / seeds**0.5:.4f}, predicted {abs(finite[0].mean - finite[-1].mean):.4f}",
            flush=True,
        )


def network_thresholds(product):
    print("6. delta_NN")
    for activation in ("half-quad", "gelu"):
        for t in (0, 5, 10, 15):
            found, cpu = timed(
                nn_threshold, activation, "pseudo-huber", "z**2", t=t, n_samples=1 << 18, n_replicas=8, rtol=5e-4
            )
            print(
                f"   {activation:9s} t={t:2d}: {found.value:.5f} +- {found.error:.5f}, relative "
                f"{found.error / found.value:.1e} (bar 5e-4), {len(found.replicas)} replicas  {cpu:.1f} s",
                flush=True,
            )
    for loss, scale in (("huber", 0.605), ("log-cosh", 0.45), ("pseudo-huber", 0.385)):
        pair = [nn_threshold(s, as_loss(loss, scale), "z**2", "zero_output", math.inf) for s in ("quad", "gelu")]
        print(f"   zero output, {loss} {scale}: " + ", ".join(f"{f.value:.6f} +- {f.error:.0e}" for f in pair))


def estimator(product, seeds=10):
    print("7. spectral estimator, phase retrieval")
    for delta in (1, 2, 4):
        overlaps = []
        for seed in range(seeds):
            X = np.random.default_rng(seed).standard_normal((1000 * delta, 1000))
            found = SpectralIndexEstimator(link="z**2").fit(X, X[:, 0] ** 2)
            overlaps.append(found.components_[0, 0] ** 2)
        error = np.std(overlaps, ddof=1) / seeds**0.5
        print(
            f"   delta={delta}: {np.mean(overlaps):.4f} +- {error:.4f}, theory {found.predicted_overlap_:.4f} "
            f"(bar 0.03)",
            flush=True,
        )
    X = np.random.default_rng(0).standard_normal((8000, 2000))
    y = X[:, 0] ** 2
    T = MultiIndexLink("z**2").optimal_preprocessing(floor=-10.0)(y)
    times = np.array([_estimator_times(X, y, T) for _ in range(3)]).min(axis=0)
    for name, dense in zip(
        ("numpy product + numpy eigh", "numpy product + scipy eigh, one pair", "two syrk + scipy eigh, one pair"),
        times[1:],
        strict=True,
    ):
        print(f"   d=2000, n=8000: {times[0]:.3f} s; {name} {dense:.2f} s, ratio {dense / times[0]:.1f} (20)")
    found = SpectralIndexEstimator(link="z**2").fit(X, y)
    exact = eigh((X.T * T) @ X, subset_by_index=[1999, 1999])[1][:, 0]
    sine = math.sqrt(1.0 - min(1.0, float(found.components_[0] @ exact) ** 2))
    print(f"   {found.n_iter_} products; sine of the angle to the exact eigenvector {sine:.3f}")


def _estimator_times(X, y, T):
    """Return the times of the estimator and of three dense ways to the largest eigenpair."""
    last = [len(X[0]) - 1] * 2

    def by_halves():
        """Weights of either sign through the symmetric product, which costs half as much."""
        up = np.sqrt(np.maximum(T, 0.0))[:, None] * X
        down = np.sqrt(np.maximum(-T, 0.0))[:, None] * X
        gram = dsyrk(1.0, up[T > 0.0].T) - dsyrk(1.0, down[T < 0.0].T)
        return eigh(gram, lower=False, subset_by_index=last)

    return [
        timed(SpectralIndexEstimator(link="z**2").fit, X, y)[1],
        timed(lambda: np.linalg.eigh((X.T * T) @ X))[1],
        timed(lambda: eigh((X.T * T) @ X, subset_by_index=last))[1],
        timed(by_halves)[1],
    ]


def experiment(product):
    print("8. success of gradient descent, d = 200, 10 seeds, m = 20, zero output, Huber 0.605 / 0.605")
    begin = time.perf_counter()
    loss = as_loss("huber", 0.605)
    curve = success_curve(
        "quad", loss, "z**2", 20, d=200, deltas=[2.0, 3.0, 3.6, 5.0, 7.0], eta=0.1, n_steps=800,
        init="zero_output", n_jobs=2, checkpoint=os.environ.get("DERAND_CHECKPOINT"),
    )  # fmt: skip
    print(f"   success {curve.success.tolist()} at {curve.deltas.tolist()}; {time.perf_counter() - begin:.0f} s (600)")


SECTIONS = {
    "1": known_values,
    "2": scalar_law,
    "3": simulation,
    "4": dynamics,
    "5": blocks,
    "6": network_thresholds,
    "7": estimator,
    "8": experiment,
}


def main(names):
    """Run sections."""
    product = unit()
    print(f"one 4000 x 4000 product: {product:.2f} s")
    for name in names:
        SECTIONS[name](product)


if __name__ == "__main__":
    main(sys.argv[1:] or list("1245673"))
