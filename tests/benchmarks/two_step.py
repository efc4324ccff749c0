"""The figures that two gradient steps are held to, next to their bars.

    python -m tests.benchmarks.two_step [exact theory memory outliers grid learning cost ...]

Without arguments everything runs, some twelve minutes on one core.  Times are processor times, compared within one run.
"""

from __future__ import annotations

import os
import sys
import time
import warnings

if __name__ == "__main__":
    for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(_name, "1")

import math
from fractions import Fraction

import numpy as np
import scipy.linalg
import scipy.stats

from derand.two_step import (
    AssumptionWarning,
    alignment,
    correlation_gradient,
    extract_directions,
    learned_directions,
    phase_diagram,
    predict_outliers,
    predicted_count,
    random_problem,
    sampling_chance,
    step_sizes,
    theory_alignment,
    two_step_update,
)
from tests.two_step.reference import averaged_direction, he23, ie3, plain_directions, worst_hermite_error


def line(text, figure, bar, met):
    """Print a figure next to its bar."""
    print(f"{'ok  ' if met else 'MISS'} {text}: {figure} (bar {bar})", flush=True)
    return met


def exact():
    """Bar 1: counts on all pairs of two decimals, Hermite coefficients."""
    wrong = naive = 0
    for i in range(50):
        for j in range(50):
            truth = 1 + j // (50 - i)
            wrong += predicted_count(i / 100, j / 100) != truth
            wrong += predicted_count(i / 100, j / 100, 5) != min(truth, 5)
            naive += 1 + math.floor((j / 100) / (0.5 - i / 100)) != truth
    error = worst_hermite_error()
    return [
        line("wrong counts of 2,500 pairs", f"{wrong}, float floor {naive}", 0, wrong == 0),
        line("Hermite coefficients against 40 digits", f"{error:.1e}", 1e-13, error <= 1e-13),
    ]


def theory(d=3000, seeds=32, orders=4):
    """Bar 2: plain directions in simulation, every overlap and inner product against its limit."""
    scores = []
    for gamma in (0.5, 1.0, 2.0):
        for batch in ("reuse", "fresh"):
            n = round(d / gamma) * (2 if batch == "fresh" else 1)
            draws = []
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                X = rng.standard_normal((n, d), dtype=np.float32).astype(np.float64)
                rows = plain_directions(X, ie3(X[:, 0]) + np.tanh(X[:, 1]), orders, batch)
                draws.append(np.concatenate([rows[:, 0], rows[:, 1], np.sum(rows**2, axis=1)]))
            found = theory_alignment([ie3, np.tanh], gamma, kmax=orders, batch=batch)
            limit = np.concatenate([found.overlap[:, 0], found.overlap[:, 1], np.diag(found.gram)])
            mean, error = np.mean(draws, axis=0), np.std(draws, axis=0, ddof=1) / math.sqrt(seeds)
            z = np.abs(mean - limit) / error
            scores.append(z)
            print(f"     gamma={gamma}, {batch}: largest of {z.size} {z.max():.2f} s.e.", flush=True)
    z = np.concatenate(scores)
    chance = z.size * 2.0 * scipy.stats.t.sf(3.0, seeds - 1)
    text = (
        f"closed forms, d={d}, {seeds} seeds: {np.sum(z > 3)} of {z.size} beyond 3 s.e. (chance: {chance:.1f}), largest"
    )
    return [line(text, f"{z.max():.2f} s.e.", 3, z.max() <= 3.0)]


def memory():
    """Bar 3: error of the first learned direction with and without the memory."""
    sizes, errors = (100, 200, 400, 800, 1600), {True: [], False: []}
    for d in sizes:
        found = {True: [], False: []}
        for seed in range(4 if d < 1000 else 2):
            problem = random_problem(d, d, d, [np.tanh, lambda z: np.sin(2 * z)], rng=seed)
            run = two_step_update(*problem[:4], 1.0, 1.0, activation=[0.0, 1.0, 0.5, 0.3])
            truth = averaged_direction(run, 1)
            for flag in (True, False):
                gap = np.linalg.norm(learned_directions(run, memory=flag)[1] - truth)
                found[flag].append(gap / np.linalg.norm(truth))
        for flag in (True, False):
            errors[flag].append(float(np.mean(found[flag])))
    slope = np.polyfit(np.log(sizes), np.log(errors[True]), 1)[0]
    plain = np.polyfit(np.log(sizes), np.log(errors[False]), 1)[0]
    print("     with memory", np.round(errors[True], 3), "plain", np.round(errors[False], 3))
    return [line("slope with memory, plain", f"{slope:.2f}, {plain:.2f}", "-1/2, 0", slope < -0.4 and plain > -0.1)]


def outliers(sizes=(1000, 2000)):
    """Bar 4: first and second outlier against the singular values."""
    worst = {1: [], 2: []}
    for size in sizes:
        for degree in (2, 3):
            series = [0.0, *(1.0 / math.factorial(k) for k in range(1, degree + 1))]
            for seed, ratio in ((0, (1, 1)), (1, (1, 2)), (2, (2, 1))):
                d, n = int(size * ratio[0] / max(ratio)) if ratio[0] < ratio[1] else size, size * ratio[1] // ratio[0]
                problem = random_problem(size, d, max(n, 500), [np.tanh, lambda z: np.sin(2 * z)], rng=seed)
                for alphas in ((0.1, 0.3), (0.3, 0.3), (0.2, 0.45), (0.4, 0.4), (0.45, 0.3)):
                    batch = ("reuse", "fresh")[seed % 2]
                    etas = step_sizes(problem.X, problem.y, size, series, alphas=alphas, kappas=(0.5, 0.5), batch=batch)
                    run = two_step_update(*problem[:4], *etas, activation=series, batch=batch)
                    found = predict_outliers(run)
                    values = np.sqrt(scipy.linalg.eigvalsh(run.W2 @ run.W2.T)[::-1][:2])
                    for j in range(min(2, found.location.size)):
                        if found.theta[j] > 1.3 * (size / d) ** 0.25:
                            worst[j + 1].append(abs(found.location[j] / values[j] - 1.0))
    return [
        line(
            f"outlier {j}: {len(worst[j])} cases, median, share within the bar, worst",
            f"{np.median(worst[j]):.2%}, {np.mean(np.array(worst[j]) <= bar):.0%}, {max(worst[j]):.2%}",
            f"{bar:.0%}",
            max(worst[j]) <= bar,
        )
        for j, bar in ((1, 0.01), (2, 0.03))
    ]


def grid(size=2000):
    """Bar 4: count against prediction on a 10 x 10 grid."""
    alphas, met = [round(0.05 * i, 2) for i in range(10)], []
    for degree, kappa in ((2, 1.0), (3, 0.5)):
        series = [0.0, *(1.0 / math.factorial(k) for k in range(1, degree + 1))]
        problem = random_problem(size, size, size, [np.tanh, lambda z: np.sin(2 * z)], rng=degree)
        found = phase_diagram(alphas, alphas, *problem[:4], activation=series, kappas=(kappa, kappa))
        floor = np.mean(found.counted == found.asymptotic)
        plain = np.mean(found.counted == np.sum(found.theta > 1.0, axis=2))
        spikes = np.mean(found.counted == found.predicted - found.own)
        text = (
            f"grid, L={degree}, kappa={kappa}, N={size}: floor formula {floor:.0%}, theta > 1 {plain:.0%}, spikes "
            f"alone {spikes:.0%}, with the full-rank part's own outliers"
        )
        met.append(line(text, f"{found.agreement:.0%}", "95%", found.agreement >= 0.95))
        for i, j in np.argwhere((found.counted != found.predicted) | (found.own > 0)):
            print(
                f"     {alphas[i]}, {alphas[j]}: predicted {found.predicted[i, j]}, of them {found.own[i, j]} the "
                f"full-rank part's own, counted {found.counted[i, j]}"
            )
    return met


def learn(link, gamma, size, alphas, series, batch, seed, method="wls", kappa=0.7):
    """Return the projection of the target on the directions extracted from W2 - W0, and what chance gives."""
    n = round(size / gamma) * (2 if batch == "fresh" else 1)
    problem = random_problem(size, size, n, [link], rng=seed)
    etas = step_sizes(problem.X, problem.y, size, series, alphas=alphas, kappas=(kappa, kappa), batch=batch)
    run = two_step_update(*problem[:4], *etas, activation=series, batch=batch, dtype=np.float32)
    found = extract_directions(run.W2 - run.W0, run.a0, len(series) - 1, method=method)
    chance = sampling_chance(run, problem.directions)
    return float(alignment(found.directions, problem.directions).span[0]), float(chance[0])


def without_chance(pairs):
    """Return root mean square alignment with that of chance taken out, and the standard error of its square."""
    excess = np.array([span**2 - chance**2 for span, chance in pairs])
    mean = float(np.mean(excess))
    return math.copysign(math.sqrt(abs(mean)), mean), float(np.std(excess, ddof=1)) / math.sqrt(excess.size)


def learning():
    """Bar 5: reuse against fresh, weighted least squares against singular vectors."""
    met = []
    limit = theory_alignment(he23, 0.5, kmax=1).span[0]
    for size, seeds in ((250, 8), (500, 8), (1000, 8), (2000, 8)):
        spans = {
            batch: [learn(he23, 0.5, size, (0.45, 0.3), [0.0, 1.0, 0.5], batch, seed) for seed in range(seeds)]
            for batch in ("reuse", "fresh")
        }
        raw, chance = ({b: float(np.mean([pair[k] for pair in spans[b]])) for b in spans} for k in (0, 1))
        (reuse, _), (fresh, error) = without_chance(spans["reuse"]), without_chance(spans["fresh"])
        text = (
            f"(He2+He3)/sqrt2, gamma=0.5, N={size}: reuse {raw['reuse']:.3f}, fresh {raw['fresh']:.3f} where chance "
            f"gives {chance['reuse']:.3f}, {chance['fresh']:.3f}; limits {limit:.3f}, 0; without chance"
        )
        figure = f"{reuse:.3f}, {fresh:.3f} (square {fresh * abs(fresh):.4f} +- {error:.4f})"
        if size < 2000:
            print(f"     {text}: {figure}", flush=True)
        else:
            met.append(line(text, figure, "0.35, 0.10", min(reuse, raw["reuse"]) >= 0.35 and fresh <= 0.10))
            text = f"the same, chance not taken out (which alone gives {chance['fresh']:.3f}): fresh"
            met.append(line(text, f"{raw['fresh']:.3f}", "0.10", raw["fresh"] <= 0.10))
    series, alphas = [0.0, 1.0, 0.5, 1.0 / 6.0], (0.45, 0.45)
    limit = float(theory_alignment(ie3, 0.2, kmax=2, memory=True, coefficients=series).span[0])
    spans = {
        method: np.mean([learn(ie3, 0.2, 1000, alphas, series, "reuse", seed, method)[0] for seed in range(4)])
        for method in ("wls", "svd")
    }
    ratio, off = spans["wls"] / spans["svd"], abs(spans["wls"] / limit - 1.0)
    met.append(line("bounded IE 3 link, N=1000: WLS / SVD", f"{ratio:.2f}", 2, ratio >= 2.0))
    met.append(line("WLS against theory", f"{spans['wls']:.3f} / {limit:.3f}, off {off:.0%}", "25%", off <= 0.25))
    return met


def cost(size=1000):
    """Bar 6: a diagram of 40 cells against ten gradients and its singular value decompositions."""
    problem = random_problem(size, size, size, [np.tanh, lambda z: np.sin(2 * z)], rng=0)
    series = [0.0, 1.0, 0.5, 1.0 / 6.0]

    def timed(call):
        """Return the processor time of a call."""
        begin = time.process_time()
        call()
        return time.process_time() - begin

    def references():
        """Return the times of a gradient, a decomposition and its values alone."""
        return (
            min(timed(lambda: correlation_gradient(*problem[:4], series)) for _ in range(4)),
            timed(lambda: np.linalg.svd(problem.W0)),
            min(timed(lambda: np.linalg.svd(problem.W0, compute_uv=False)) for _ in range(4)),
        )

    alphas1, alphas2 = [0.05 * i for i in range(10)], [0.1, 0.2, 0.3, 0.4]
    before, used = [references()], []
    for _ in range(3):
        used.append(timed(lambda: phase_diagram(alphas1, alphas2, *problem[:4], activation=series)))
        before.append(references())
    gradient, svd, values = np.min(before, axis=0)
    bar = 4.0 * (10.0 * gradient) + 40.0 * values
    text = f"40 cells in s (gradient {gradient:.3f}, singular values {values:.3f}, full SVD {svd:.3f})"
    full = 4.0 * (10.0 * gradient) + 40.0 * svd
    ok = line(text, f"{min(used):.1f}", f"{bar:.1f} with values alone; {full:.1f} with full SVDs", min(used) <= bar)
    blocks = [correlation_gradient(*problem[:4], series, block=block) for block in (1000, 130, 7)]
    gap = max(float(np.max(np.abs(block - blocks[0]))) for block in blocks)
    return [ok, line("blocks differ by", f"{gap:.1e}", 1e-12, gap <= 1e-12)]


def rational_alignment():
    """Bar 2: a polynomial case against exact rational moments: y = He_2 + He_3, s = gamma y + tau g, p = 1."""
    from tests.two_step.reference import exact_he23_cosine

    worst = 0.0
    for gamma in (Fraction(1), Fraction(1, 2), Fraction(1, 10)):
        found = theory_alignment(lambda z: z**2 - 1 + z**3 - 3 * z, float(gamma), kmax=1).cosine[1, 0]
        worst = max(worst, abs(found - exact_he23_cosine(gamma)))
    return [line("polynomial alignment against rational moments", f"{worst:.1e}", 1e-10, worst <= 1e-10)]


PARTS = {
    "exact": exact,
    "rational": rational_alignment,
    "theory": theory,
    "memory": memory,
    "outliers": outliers,
    "grid": grid,
    "learning": learning,
    "cost": cost,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore", AssumptionWarning)
    chosen = sys.argv[1:] or list(PARTS)
    results = [met for name in chosen for met in PARTS[name]()]
    sys.exit(0 if all(results) else 1)
