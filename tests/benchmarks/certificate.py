"""Calibration and price of the certificate, through `minimize_sosp` itself: ``python -m tests.benchmarks.certificate``.

Planted: the start is the stationary point of a quadratic whose smallest eigenvalue is -1.01 tol, so that every
certificate is false.  Products: how many a true certificate takes, against the a-priori count of Kuczynski and
Wozniakowski.  Bounds: how often the reported lower bound lies above the smallest eigenvalue of random problems.
"""

import argparse
import math

import numpy as np
from scipy.fft import dct

from derand.optimize import minimize_sosp
from derand.optimize.certificate import Tolerances, certify
from derand.optimize.oracle import Oracle

N = 200
SPECTRA = ("uniform", "geometric", "half zeros", "edge cluster")


def spectrum(name, n=N):
    """Return n eigenvalues in ascending order between 0 and 1, without the planted one."""
    if name == "uniform":
        return np.linspace(0.0, 1.0, n)
    if name == "geometric":
        return np.geomspace(1e-6, 1.0, n)
    if name == "half zeros":
        return np.sort(np.concatenate([np.zeros(n // 2), np.linspace(0.1, 1.0, n - n // 2)]))
    # density x^-1/2 at the lower edge, as of a square Wishart matrix
    return ((np.arange(n) + 0.5) / n) ** 2


def turned(eigenvalues, seed=None):
    """Return the quadratic with these eigenvalues and its products, in a rotated basis (a cosine transform).

    The certificate's start vector is uniform, so the basis doesn't matter to it; a rotated one spares the test the
    doubt.
    """
    d = np.asarray(eigenvalues, dtype=np.float64)
    sign = np.ones(d.size) if seed is None else np.random.default_rng(seed).choice([-1.0, 1.0], d.size)

    def product(v):
        return sign * dct(d * dct(sign * v, norm="ortho"), type=3, norm="ortho")

    def fun(x):
        gradient = product(x)
        return 0.5 * float(x @ gradient), gradient

    return fun, lambda _, v: product(v)


def false_certificates(name, delta, runs, *, tol=1e-3):
    """Return the share of runs that certify a stationary point with smallest eigenvalue -1.01 tol."""
    d = spectrum(name)
    d[0] = -1.01 * tol
    fun, hessp = turned(d)
    count = 0
    for seed in range(runs):
        result = minimize_sosp(
            fun,
            np.zeros(d.size),
            hessp=hessp,
            gtol=1e-6,
            curv_tol=tol,
            # The first certificate may spend the share 6 / pi^2 of the error probability: delta of the first is meant.
            confidence=1.0 - delta * math.pi**2 / 6.0,
            rng=seed,
            max_evals=5 * d.size,
            max_iter=1,
        )
        count += result.success
    return count / runs


def a_priori_count(n, norm, tol, delta):
    """Return the products after which Lanczos proves lambda_min >= -tol, whatever the spectrum.

    Kuczynski and Wozniakowski (1992), Theorem 4.2: from a random start, the k-step estimate of an extreme eigenvalue of
    an n x n matrix misses by more than epsilon times the spread of the spectrum with probability at most
    1.648 sqrt(n) exp(-sqrt(epsilon) (2k - 1)).  Nothing is known of the spectrum but its norm, so the spread is at most
    2 norm; a Ritz value above -tol/2 proves lambda_min >= -tol when the miss is at most tol/2.  Solved for k that is
    the count of Royer, O'Neill and Wright (arXiv:1803.02924), 1 + ln(2.75 n / delta^2) sqrt(norm / tol) / 2.
    """
    return min(n, 1 + math.ceil(0.5 * math.log(2.75 * n / delta**2) * math.sqrt(norm / tol)))


def informed_count(n, spread, tol, delta):
    """Return the count of the same theorem for somebody who knows the spread and that lambda_min >= 0."""
    return min(n, math.ceil(0.5 * (1.0 + math.log(1.648 * math.sqrt(n) / delta) / math.sqrt(tol / spread))))


def products(name, *, n=5000, tol=1e-3, delta=1e-6):
    """Return the products of a certificate of a minimum with this spectrum, and the two a-priori counts."""
    d = spectrum(name, n)
    fun, hessp = turned(d)
    oracle = Oracle(fun, hessp)
    proof, _ = certify(oracle, oracle.evaluate(np.zeros(n)), Tolerances(1e-6, tol, 1.0 - delta), rng=0)
    assert proof.is_certified
    return proof.n_products, a_priori_count(n, d[-1], tol, delta), informed_count(n, d[-1] - d[0], tol, delta)


def violations(runs, *, confidence=1.0 - 1e-6, products_given=True):
    """Return how many of `runs` random problems report a bound above the eigenvalue, and how many are certified."""
    rng = np.random.default_rng(0)
    wrong = certified = 0
    for seed in range(runs):
        n = int(rng.integers(11, 120))
        d = np.sort(rng.uniform(-0.01, 1.0, n) ** int(rng.choice([1, 3])) * 10.0 ** rng.uniform(-2.0, 3.0))
        tol = max(1.5 * abs(min(d[0], 0.0)), 1e-3 * d[-1])
        fun, hessp = turned(d, seed)
        result = minimize_sosp(
            fun,
            np.zeros(n),
            hessp=hessp if products_given else None,
            gtol=1e-6,
            curv_tol=tol,
            confidence=confidence,
            rng=seed,
        )
        certified += result.success
        # The spectrum is known up to the rounding of the products, n eps ||H||.
        wrong += result.certificate.min_eigenvalue_lower > d[0] + n * 2.3e-16 * d[-1]
    return wrong, certified


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print(f"False certificates with a planted eigenvalue at -1.01 tol, n = {N}, {runs} runs")
    print(f"{'spectrum':14s} {'delta':>6s} {'rate':>7s} {'standard error':>15s}")
    for name in SPECTRA:
        for delta in (0.3, 0.05):
            rate = false_certificates(name, delta, runs)
            print(f"{name:14s} {delta:6.2f} {rate:7.3f} {math.sqrt(delta * (1.0 - delta) / runs):15.3f}")
    print("\nProducts of a certificate at delta = 1e-6, n = 5000, against the a-priori count")
    print(f"{'spectrum':14s} {'tol/||H||':>9s} {'products':>9s} {'a priori':>9s} {'ratio':>6s} {'informed':>9s}")
    for name in SPECTRA:
        for tol in (1e-3, 1e-4):
            used, bound, informed = products(name, tol=tol)
            print(f"{name:14s} {tol:9.0e} {used:9d} {bound:9d} {used / bound:6.2f} {informed:9d}")
    for given in (True, False):
        wrong, certified = violations(runs, products_given=given)
        kind = "products" if given else "gradients only"
        print(f"\nLower bound above the eigenvalue, {kind}: {wrong} of {runs} random problems ({certified} certified)")


if __name__ == "__main__":
    main()
