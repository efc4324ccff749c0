"""Directions found by derand against the efficiency limit and against peers, on the same data in one run.

Run ``python -m tests.benchmarks.structure BAR [options]``; BAR is one of

* ``limit``: error over the limit of Gaussian inputs, and the rank found (``--inputs``, ``--n``, ``--d``, ``--seeds``);
* ``predict``: 5-fold scores on scikit-learn's data;
* ``speed``: CPU time against scikit-learn's MLP and gradient boosting;
* ``cover``: coverage of the 95 per cent cones.

`tests.benchmarks.structure_table` compares all methods.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_friedman1
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NeighborhoodComponentsAnalysis
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from derand.estimators import SliceReducer, StructureClassifier, StructureRegressor
from derand.structure.estimation.efficiency import efficiency_bound
from derand.structure.subspace import orthonormal_rows, subspace_distance
from tests.structure.estimation.models import MODELS, SMOOTH, covariance, draw

warnings.simplefilter("ignore", ConvergenceWarning)


def limit_of(name: str, kind: str, n: int, d: int, B: Any) -> float:
    """Return the limit for Gaussian inputs of the same covariance."""
    model = MODELS[name]
    return efficiency_bound(
        model.link, n, d, model.sigma, k=model.k, covariance=covariance(kind, d), directions=B
    )  # fmt: skip


def known_link(name: str, X: Any, y: Any, B: Any) -> float:
    """Return the error of least squares over B alone, from the truth, with the link known: what n samples allow."""
    link, (k, d) = MODELS[name].link, B.shape
    across = scipy.linalg.qr(B.T)[0][:, k:].T

    def residual(D: Any) -> Any:
        """Return the residuals at B moved by D across it; a rotation of B isn't free, for the link is known."""
        return link(X @ orthonormal_rows(B + D.reshape(k, d - k) @ across).T) - y

    found = scipy.optimize.least_squares(residual, np.zeros(k * (d - k)), method="lm")
    return subspace_distance(B + found.x.reshape(k, d - k) @ across, B)


def limit(args: Any) -> None:
    """Print the error over the limit with the rank given, and how often the rank was found."""
    right = total = 0
    for name in args.models or SMOOTH:
        errors, limits, known, found = [], [], [], 0
        for seed in range(args.seeds):
            X, y, B = draw(name, args.inputs, args.n, args.d, seed)
            errors.append(subspace_distance(StructureRegressor(len(B)).fit(X, y).components_, B))
            known.append(known_link(name, X, y, B))
            limits.append(limit_of(name, args.inputs, args.n, args.d, B))
            if not args.given:
                found += StructureRegressor().fit(X, y).n_components_ == len(B)
        rms, bound, floor = (float(np.sqrt(np.mean(np.square(v)))) for v in (errors, limits, known))
        right, total = right + found, total + args.seeds
        rank = "" if args.given else f"  rank right {found}/{args.seeds}"
        print(
            f"{name:6} {args.inputs} n={args.n} d={args.d}: limit {bound:.4f} RMS {rms:.4f} ratio {rms / bound:.3f} "
            f"(median {np.median(errors) / bound:.3f}, worst {max(errors) / bound:.2f}), "
            f"least squares with the link known {floor / bound:.3f}, over it {rms / floor:.3f}{rank}",
            flush=True,
        )
    if not args.given:
        print(f"rank right in {right} of {total}; bar 95 %")


def predict(args: Any) -> None:
    """Print 5-fold scores; the bar is one standard error below the best linear-subspace method."""
    scaled = lambda model: make_pipeline(StandardScaler(), model)  # noqa: E731
    regressors = {
        "ridge": scaled(RidgeCV(np.logspace(-3, 3, 13))),
        "SIR+kNN": scaled(make_pipeline(SliceReducer(2, method="sir"), KNeighborsRegressor(15))),
        "PLS": scaled(PLSRegression(2)),
        "MLP": scaled(MLPRegressor(early_stopping=True, max_iter=500, random_state=0)),
        "HGB": HistGradientBoostingRegressor(random_state=0),
        "SVR": scaled(SVR(C=10.0)),
        "kNN": scaled(KNeighborsRegressor(15)),
        "derand": StructureRegressor(),
    }
    classifiers = {
        "logistic": scaled(LogisticRegression(max_iter=1000)),
        "LDA": LinearDiscriminantAnalysis(),
        "NCA+kNN": scaled(
            make_pipeline(NeighborhoodComponentsAnalysis(2, random_state=0, max_iter=50), KNeighborsClassifier(15))
        ),
        "MLP": scaled(MLPClassifier(early_stopping=True, max_iter=500, random_state=0)),
        "HGB": HistGradientBoostingClassifier(max_iter=50, random_state=0),
        "SVC": scaled(SVC()),
        "kNN": scaled(KNeighborsClassifier(15)),
        "derand": StructureClassifier(),
    }
    linear = {"ridge", "SIR+kNN", "PLS", "logistic", "LDA", "NCA+kNN"}
    data = {
        "diabetes": load_diabetes(return_X_y=True),
        "friedman1": make_friedman1(1000, 20, noise=1.0, random_state=0),
        "cancer": load_breast_cancer(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "digits": load_digits(return_X_y=True),
    }
    for name in args.models or data:
        X, y = data[name]
        is_regression = name in {"diabetes", "friedman1"}
        folds = (KFold if is_regression else StratifiedKFold)(5, shuffle=True, random_state=0)
        scores = {
            m: cross_val_score(e, X, y, cv=folds) for m, e in (regressors if is_regression else classifiers).items()
        }
        best = max((m for m in scores if m in linear), key=lambda m: scores[m].mean())
        bar = scores[best].mean() - scores[best].std(ddof=1) / 5**0.5
        text = " ".join(f"{m} {s.mean():.4f}" for m, s in scores.items())
        verdict = "met" if scores["derand"].mean() >= bar else "missed"
        print(f"{name}: {text}; bar {best} less one standard error {bar:.4f}: {verdict}", flush=True)


def cpu(model: Any, X: Any, y: Any) -> float:
    """Return CPU seconds of a fit."""
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def speed(args: Any) -> None:
    """Print CPU time ratios."""
    for name in args.models or SMOOTH:
        X, y, B = draw(name, "gaussian", 2000, 50, 0)
        models = (
            MLPRegressor(early_stopping=True, max_iter=500, random_state=0),
            StructureRegressor(len(B)),
            StructureRegressor(),
        )
        # Interleaved, the least of each: other work on the machine only ever adds.
        mlp, given, auto = np.min([[cpu(model, X, y) for model in models] for _ in range(args.repeats)], axis=0)
        print(
            f"{name} n=2000 d=50: MLP {mlp:.2f} s, rank given {given / mlp:.2f} (bar 1), auto {auto / mlp:.2f} (bar 4)"
        )
    if args.large:
        X, y, _ = draw("li1", "gaussian", 100_000, 100, 0)
        boosting = cpu(HistGradientBoostingRegressor(random_state=0), X, y)
        own, auto = (cpu(StructureRegressor(k), X, y) for k in (2, "auto"))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"li1 n=100000 d=100: HGB {boosting:.1f} s, rank given {own / boosting:.2f}, auto {auto / boosting:.2f} "
            f"(bar 10), {memory:.2f} GiB (bar 4)"
        )


def cover(args: Any) -> None:
    """Print how often the truth lies in the 95 per cent cone."""
    for name in args.models or SMOOTH:
        inside = 0
        for seed in range(args.seeds):
            X, y, B = draw(name, args.inputs, args.n, args.d, seed)
            model = StructureRegressor(len(B)).fit(X, y)
            inside += subspace_distance(model.components_, B) <= model.certificate_.angle(0.95)
        print(
            f"{name} n={args.n} d={args.d}: {inside / args.seeds:.3f} of {args.seeds} covered; bar 0.93 to 0.97",
            flush=True,
        )


def main() -> None:
    """Read the options and print what they ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    bars = {"limit": limit, "predict": predict, "speed": speed, "cover": cover}
    parser.add_argument("bar", choices=bars)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--inputs", default="gaussian")
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--d", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--given", action="store_true", help="don't look for the rank")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    args = parser.parse_args()
    bars[args.bar](args)


if __name__ == "__main__":
    main()
