"""Small graphs whose cuts are known in closed form, and brute force for the rest."""

import itertools

import numpy as np

from derand.maxcut.problem import MaxCutProblem


def cycle(n, weight=1):
    index = np.arange(n)
    return MaxCutProblem.from_edges(index, (index + 1) % n, [weight] * n)


def complete(n):
    heads, tails = np.triu_indices(n, 1)
    return MaxCutProblem.from_edges(heads, tails)


def petersen():
    outer = np.arange(5)
    heads = np.concatenate([outer, outer, outer + 5])
    tails = np.concatenate([(outer + 1) % 5, outer + 5, (outer + 2) % 5 + 5])
    return MaxCutProblem.from_edges(heads, tails)


def karloff(m, t, b):
    """Vertices: t-subsets of m things; edges between subsets that share exactly b."""
    subsets = [frozenset(s) for s in itertools.combinations(range(m), t)]
    pairs = [(i, j) for i, j in itertools.combinations(range(len(subsets)), 2) if len(subsets[i] & subsets[j]) == b]
    return MaxCutProblem.from_edges(*zip(*pairs, strict=True))


def torus(rows, columns, rng):
    index = np.arange(rows * columns)
    x, y = index // columns, index % columns
    heads = np.concatenate([index, index])
    tails = np.concatenate([(x + 1) % rows * columns + y, x * columns + (y + 1) % columns])
    return MaxCutProblem.from_edges(heads, tails, rng.choice([-1, 1], heads.size))


def random_graph(rng, n, m, weights="int"):
    heads, tails = rng.integers(0, n, m), rng.integers(0, n, m)
    values = {
        "int": lambda: rng.integers(-9, 10, m),
        "float": lambda: rng.standard_normal(m),
        "unit": lambda: np.ones(m, dtype=np.int64),
        "large": lambda: rng.integers(-(10**15), 10**15, m),
        "huge": lambda: np.array(
            [
                int(w) * 10**15 + int(v)
                for w, v in zip(rng.integers(-(10**15), 10**15, m), rng.integers(0, 10**15, m), strict=True)
            ],
            dtype=object,
        ),
        "negative": lambda: -rng.integers(1, 10, m),
        "wide": lambda: rng.choice([-1, 1], m) * 10 ** rng.integers(0, 15, m),
    }[weights]()
    return MaxCutProblem.from_edges(heads, tails, values, n=n)


def brute_force(problem):
    """The optimum over all cuts, by exact sums."""
    best = 0
    for bits in itertools.product([1, -1], repeat=max(problem.n - 1, 0)):
        best = max(best, problem.cut_value(np.array([1, *bits])[: problem.n]))
    return best
