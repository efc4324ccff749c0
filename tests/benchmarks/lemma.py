"""The figures of the derandomization lemma in one table: python -m tests.benchmarks.lemma (about a minute)."""

from __future__ import annotations

import numpy as np

from derand.objectives import SmoothedObjective
from tests.objectives.reference import gaussian_slope
from tests.theory.test_lemma import LAM, integrands, parts, relative, sampled_problems, solve, starts


def identity():
    """Worst relative error of grad_W f = (H + 2 lam I) W: closed forms against numpy's rule, and on grids."""
    rng = np.random.default_rng(0)
    closed = grid = 0.0
    for g in integrands(3).values():
        exact = SmoothedObjective(g, 3, 2, LAM)
        rule = SmoothedObjective(g, 3, 2, LAM, expectation="quadrature", n_nodes=80)
        W, b = 0.4 * rng.standard_normal((3, 2)), 0.5 * rng.standard_normal(3)
        independent = gaussian_slope(g, b, W, 80) + 2 * LAM * W
        closed = max(closed, relative(independent, parts(exact, exact.pack(W, b))[1]))
        grid = max(grid, relative(*parts(rule, rule.pack(W, b))))
    return closed, grid


def weight_bounds(n=2000):
    """How often the a-posteriori bound holds and is finite, and the largest ||W|| / bound."""
    rng = np.random.default_rng(1)
    choices = list(integrands(3).values())
    ratios = []
    for i in range(n):
        f = SmoothedObjective(choices[i % len(choices)], 3, int(rng.integers(1, 6)), float(10.0 ** rng.uniform(-2, 1)))
        W, b = 10.0 ** rng.uniform(-6, 0) * rng.standard_normal((3, f.d)), rng.standard_normal(3)
        ratios.append(np.linalg.norm(W) / f.weight_bound(W, b))
    return sum(r <= 1.0 for r in ratios), sum(r > 0.0 for r in ratios), max(ratios)


def sampled(g, n_starts=20, **kwargs):
    """Runs at k = 6, d = 30, lam = 0.02: certified for the sample, W -> 0, called derandomized."""
    certified = vanished = believed = 0
    for seed, (W, b) in starts(SmoothedObjective(g, 6, 30, 0.02), n_starts):
        f = SmoothedObjective(g, 6, 30, 0.02, rng=seed, **kwargs)
        result = solve(f, f.pack(W, b))
        check = f.derandomization_check(result.x)
        certified += result.success
        vanished += check.weight_norm <= 1e-4
        believed += check.is_derandomized
    return certified, vanished, believed


def main():
    """Print all figures."""
    closed, grid = identity()
    print(f"identity, worst relative error: closed forms {closed:.1e}, Gauss-Hermite {grid:.1e}")
    held, finite, tightest = weight_bounds()
    print(f"weight bound: holds {held}/2000, finite {finite}/2000, largest ||W||/bound {tightest:.6f}")
    settings = {
        "16 draws in 30 dimensions": {"expectation": "mc", "n_samples": 16, "reduce": False},
        "1024 Sobol points, reduced to 6": {"expectation": "qmc", "n_samples": 1024},
    }
    for name, g in sampled_problems().items():
        for label, kwargs in settings.items():
            certified, vanished, believed = sampled(g, **kwargs)
            print(f"{name}, {label}: certified {certified}/20, W -> 0 {vanished}/20, called derandomized {believed}/20")


if __name__ == "__main__":
    main()
