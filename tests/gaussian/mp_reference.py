"""Bivariate normal probabilities by one-dimensional integrals in mpmath, sharing no formula with the library."""

import mpmath as mp


def phi2(h, k, rho, digits=25):
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
        bottom = min(h, k * rho, mp.mpf(0)) - 15
        centre = k / rho if rho else bottom
        cuts = {bottom, h}
        width = q / abs(rho) if rho else mp.mpf(1)
        for step in (-40, -12, -4, -1, 0, 1, 4, 12, 40):
            cuts.add(centre + step * width)
        cuts |= {mp.mpf(c) for c in (-12, -6, -3, 0, 3, 6, 12)} | {h - 1, h - 4}
        cuts |= {h - step / (1 + abs(h)) for step in (1, 4, 12, 40)} | {
            k * rho + step for step in (-6, -2, -1, 0, 1, 2, 6)
        }
        points = sorted(c for c in cuts if bottom <= c <= h)

        def integrand(x):
            return mp.npdf(x) * mp.ncdf((k - rho * x) / q)

        # mp.quad stops at an absolute error: only an integrand of size one gives a tail its digits
        scale = max(max(integrand(c) for c in points), mp.mpf(10) ** -2000)
        return scale * mp.quad(lambda x: integrand(x) / scale, points)


def sign_disagreement(h, k, rho):
    """Return P(sgn(X + h) != sgn(Y + k)), from the two quadrants, each without subtraction."""
    return phi2(h, -k, -rho) + phi2(-h, k, -rho)
