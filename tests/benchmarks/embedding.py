"""Distortion of learned maps against random projections, principal axes and a lower bound, on the same data in one run.

Run ``python -m tests.benchmarks.embedding [--scale N] [--path] [--least] [--held-out] [--bounds] [--bits] [NAME ...]``.
Without options: the table of data sets at their dimensions.  Every distortion is the maximum over all pairs, by
explicit differences in double precision; random and principal maps are given their best scale.  ``--scale N`` fits N
patches and prints the CPU time in units of one full scan and the largest resident memory; ``--path`` runs
method="derand" from ten seeds; ``--least`` finds the least dimension for eps = 0.1; ``--held-out`` measures new points;
``--bounds`` sets the lower bounds against all maps on 50 random sets; ``--bits`` compares fits with 1 and 2 threads and
jobs.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_sample_images
from sklearn.decomposition import PCA
from sklearn.manifold import MDS
from sklearn.neighbors import NearestNeighbors
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection, johnson_lindenstrauss_min_dim

from derand._utils.threads import blas_threads
from derand.embedding import distortion_report, embedding_lower_bound, jl_min_dim, learn_embedding, linear_lower_bound
from derand.estimators import LearnedJL

#: Images of scikit-image that need no download.
SHIPPED = (
    *("camera", "astronaut", "coffee", "chelsea", "coins", "moon"),
    *("brick", "grass", "gravel", "rocket", "page", "text"),
)
TABLE = (("digits", 8), ("digits", 16), ("digits", 32), ("patches", 16), ("cancer", 5))


def digits(n: int = 1000, start: int = 0) -> Any:
    """Return rows of scikit-learn's digits."""
    return load_digits().data[start : start + n]


def cancer(n: int = 400, start: int = 0) -> Any:
    """Return standardised rows of scikit-learn's breast cancer data."""
    X = load_breast_cancer().data
    return ((X - X.mean(axis=0)) / X.std(axis=0))[start : start + n]


def photographs() -> list[Any]:
    """Return the sample photographs that scikit-image ships, in grey; scikit-learn's two where it isn't installed."""
    try:
        from skimage import color, data
    except ImportError:
        return [image.mean(axis=2) for image in load_sample_images().images]
    images = [getattr(data, name)() for name in SHIPPED]
    return [color.rgb2gray(image) if image.ndim == 3 else image / 255.0 for image in images]


def patches(n: int = 1000, start: int = 0) -> Any:
    """Return 12 x 12 patches at random places of `photographs`."""
    images, rng, rows = photographs(), np.random.default_rng(0), []
    for _ in range(start + n):
        image = images[rng.integers(len(images))]
        i, j = rng.integers(image.shape[0] - 12), rng.integers(image.shape[1] - 12)
        rows.append(image[i : i + 12, j : j + 12].ravel())
    return np.array(rows[start:])


DATA = {"digits": digits, "cancer": cancer, "patches": patches}


def scaled(X: Any, M: Any) -> float:
    """Return the distortion of the best multiple of M."""
    low, high = distortion_report(X, M, n_worst=1).ratio_range
    return (high - low) / (high + low)


def row(name: str, k: int, n_random: int) -> None:
    """Print one line of the table."""
    X = DATA[name]()
    random = [scaled(X, GaussianRandomProjection(k, random_state=s).fit(X).components_) for s in range(n_random)]
    sparse = [scaled(X, SparseRandomProjection(k, random_state=s).fit(X).components_.toarray()) for s in range(10)]
    principal = scaled(X, PCA(k).fit(X).components_)
    start = time.process_time()
    result = learn_embedding(X, k)
    seconds, learned = time.process_time() - start, result.report
    bound = linear_lower_bound(X, k, M=result.components)
    print(
        f"{name:8} n={len(X)} k={k:2}  Gaussian best of {n_random} {min(random):.3f}  "
        f"sparse best of 10 {min(sparse):.3f}  PCA {principal:.3f}  "
        f"derand {learned.distortion:.4f} (mean {learned.mean_distortion:.3f})  "
        f"bound {bound.value:.4f} (any map {bound.any_map:.4f})  "
        f"ratio {learned.distortion / bound.value:.2f}  {seconds:.1f} s CPU",
        flush=True,
    )


def scale(n: int) -> None:
    """Fit many patches."""
    X = patches(n)
    start = time.process_time()
    distortion_report(X, PCA(16).fit(X).components_)
    scan = time.process_time() - start
    start = time.process_time()
    result = learn_embedding(X, 16)
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"patches n={n} k=16: {result.report.distortion:.4f} after {seconds:.1f} s CPU = {seconds / scan:.1f} scans of "
        f"{scan:.2f} s, {len(result.history)} scans made, {memory:.2f} GiB"
    )


def path() -> None:
    """Run the path from the random map on 100 points in 200 dimensions."""
    X = np.random.default_rng(5).standard_normal((100, 200))
    for seed in range(10):
        start = time.process_time()
        result = learn_embedding(X, 16, method="derand", rng=seed)
        c = result.certificate
        print(
            f"seed {seed}: bound {c.start_bound:.4f} -> {c.end_bound:.4f}, sigma {c.sigma:g}, never rose "
            f"{c.never_rose}, distortion {result.report.distortion:.4f}, {time.process_time() - start:.1f} s CPU",
            flush=True,
        )


def least() -> None:
    """Find the least dimension for digits at eps = 0.1."""
    X, start = digits(), time.process_time()
    result = learn_embedding(X, eps=0.1)
    seconds = time.process_time() - start
    principal = next(k for k in range(1, 65) if scaled(X, PCA(k).fit(X).components_) <= 0.1)
    print(
        f"digits eps=0.1: k={result.components.shape[0]} with distortion {result.report.distortion:.4f}, "
        f"{seconds:.0f} s CPU; PCA {principal}, chi-square {jl_min_dim(1000, 0.1)}, "
        f"formula {johnson_lindenstrauss_min_dim(1000, eps=0.1)}"
    )


def held_out() -> None:
    """Measure new points: 99.9 % quantile, maximum and recall of ten neighbours, against PCA."""
    for name, k in (("digits", 16), ("digits", 32), ("patches", 16)):
        X, new = DATA[name](), DATA[name](500, 1000)
        axes = PCA(k).fit(X)
        low, high = distortion_report(X, axes.components_).ratio_range
        learned = [LearnedJL(k).fit(X), LearnedJL(k, validation_fraction=0.2).fit(X)]
        maps = [axes.components_ * np.sqrt(2 / (low + high)), *(each.components_ for each in learned)]
        for title, M in zip(("PCA", "derand", "derand, validated"), maps, strict=True):
            learned[0].components_ = M
            truth = NearestNeighbors(n_neighbors=10).fit(new).kneighbors(return_distance=False)
            near = NearestNeighbors(n_neighbors=10).fit(new @ M.T).kneighbors(return_distance=False)
            recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(truth, near, strict=True)])
            top, most = learned[0].distortion(new, quantile=0.999), learned[0].distortion(new)
            print(
                f"{name} k={k} {title}: held-out 99.9 % {top:.3f}, maximum {most:.3f}, recall@10 {recall:.3f}",
                flush=True,
            )


def random_points(seed: int) -> Any:
    """Return points of a random number, dimension and law."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(15, 90)), int(rng.integers(4, 50))
    if seed % 5 == 0:  # an ill-conditioned cloud
        return rng.standard_normal((n, d)) * np.geomspace(1.0, 1e-3, d)
    if seed % 5 == 1:  # clusters
        return 8.0 * rng.standard_normal((4, d))[rng.integers(0, 4, n)] + rng.standard_normal((n, d))
    if seed % 5 == 2:  # heavy tails
        return rng.standard_t(1.5, (n, d))
    if seed % 5 == 3:  # a grid, with equal distances and duplicates
        return rng.integers(0, 3, (n, d)).astype(float)
    return rng.standard_normal((n, d))


def bounds(n_sets: int = 50) -> None:
    """Set lower bounds against maps: any map's against all, linear maps' against linear ones, at their best scale."""
    n_broken, closest = 0, {"any map": np.inf, "linear": np.inf}
    for seed in range(n_sets):
        X, rng = random_points(seed), np.random.default_rng(1000 + seed)
        k = int(rng.integers(1, max(2, min(X.shape) // 3)))
        learned = learn_embedding(X, k).components
        linear = [learned, PCA(k).fit(X).components_, *rng.standard_normal((5, k, X.shape[1]))]
        images = [X @ M.T for M in linear]
        images.append(MDS(k, n_init=1, init="random", random_state=seed, normalized_stress=False).fit_transform(X))
        apart = [np.square(Y[:, None] - Y).sum(axis=2)[np.triu_indices(len(X), 1)] for Y in (X, *images)]
        ratios = [each[apart[0] > 0.0] / apart[0][apart[0] > 0.0] for each in apart[1:]]
        found = [(r.max() - r.min()) / (r.max() + r.min()) for r in ratios]
        for name, bound, reached in (
            ("any map", embedding_lower_bound(X, k).value, min(found)),
            ("linear", linear_lower_bound(X, k, M=learned).value, min(found[:-1])),
        ):
            n_broken += bound > reached * (1.0 + 1e-9)
            closest[name] = min(closest[name], reached / bound if bound > 0.0 else np.inf)
    print(
        f"lower bounds on {n_sets} random sets: {n_broken} above the distortion of a map (bar 0), least ratio {closest}"
    )


def bits() -> None:
    """Compare the bits of maps and reports for 1 and 2 threads of BLAS and 1 and 2 jobs."""
    for name, k in (("digits", 16), ("cancer", 5)):
        seen = set()
        for threads in (1, 2):
            for jobs in (1, 2):
                with blas_threads(threads):
                    fit = LearnedJL(k, n_jobs=jobs).fit(DATA[name]())
                said = fit.components_.tobytes() + np.float64([fit.distortion_, fit.mean_distortion_]).tobytes()
                seen.add(hashlib.sha256(said).hexdigest())
        print(f"{name} k={k}: {len(seen)} different outcomes of 4 for threads x jobs in {{1, 2}} (bar 1)", flush=True)


def main() -> None:
    """Read the options and print what they ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--scale", type=int)
    parser.add_argument("--n-random", type=int, default=100)
    parts = {"path": path, "least": least, "held_out": held_out, "bounds": bounds, "bits": bits}
    for option in parts:
        parser.add_argument(f"--{option.replace('_', '-')}", action="store_true")
    args = parser.parse_args()
    if args.scale:
        scale(args.scale)
    chosen = [part for option, part in parts.items() if getattr(args, option)]
    for part in chosen:
        part()
    if not args.scale and not chosen:
        for name, k in TABLE:
            if not args.names or name in args.names:
                row(name, k, args.n_random)


if __name__ == "__main__":
    main()
