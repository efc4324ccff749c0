"""Bivariate normal probabilities to 30 digits by one-dimensional integrals, sharing no formula with the library."""

import mpmath as mp


def phi2(h, k, rho, digits=40):
    """Return P(X <= h, Y <= k) as the integral of phi(x) Phi((k - rho x)/q) over x <= h; arguments are exact floats."""
    with mp.workdps(digits):
        h, k, rho = mp.mpf(h), mp.mpf(k), mp.mpf(rho)
        if h == -mp.inf or k == -mp.inf:
            return mp.mpf(0)
        if h == mp.inf or k == mp.inf:
            return mp.ncdf(min(h, k))
        if rho == 1:
            return mp.ncdf(min(h, k))
        if rho == -1:
            return max(mp.mpf(0), mp.ncdf(h) - mp.ncdf(-k))
        q = mp.sqrt((1 - rho) * (1 + rho))
        bottom = min(h, mp.mpf(0)) - 15
        centre = k / rho if rho else bottom
        cuts = {bottom, h}
        width = q / abs(rho) if rho else mp.mpf(1)
        for step in (-40, -12, -4, -1, 0, 1, 4, 12, 40):
            cuts.add(centre + step * width)
        cuts |= {mp.mpf(c) for c in (-12, -6, -3, 0, 3, 6, 12)} | {h - 1, h - 4}
        points = sorted(c for c in cuts if bottom <= c <= h)
        return mp.quad(lambda x: mp.npdf(x) * mp.ncdf((k - rho * x) / q), points)


def sign_disagreement(h, k, rho):
    """Return P(sgn(X + h) != sgn(Y + k)), from the two quadrants, each without subtraction."""
    return phi2(h, -k, -rho) + phi2(-h, k, -rho)
