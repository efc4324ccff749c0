"""A Hessian as a scipy LinearOperator, from exact products or from differences of gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator

from derand._utils.reductions import norm
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError, InputTypeError
from derand.hessian.symmetric import SymmetricMatrix, materialise

__all__ = ["HessianOperator", "PrincipalBlock"]

_PROBE_SEED = 20170302  # fixed, so that two operators at one point have the same error estimate
_ESTIMATE_SAFETY = 4.0


class _SymmetricOperator(LinearOperator):
    """Operator that is its own adjoint and knows how to become an array."""

    def dense(self) -> FloatArray:
        """Return the matrix, symmetrised, from n products.

        Returns
        -------
        ndarray of shape (n, n)
            (H + H') / 2.

        Raises
        ------
        InputError
            If a product isn't finite.
        """
        # Not by as_symmetric: that would ask for the error bound, which costs gradients.
        return materialise(SymmetricMatrix(self.shape[0], self, None, None))

    def _adjoint(self) -> Self:
        return self

    _transpose = _adjoint


class HessianOperator(_SymmetricOperator):
    r"""Hessian of a function at one point, as a symmetric scipy ``LinearOperator``.

    With `hessp` the products are the user's.  With `fun` or `gradient` they are forward differences along the unit
    vector u = v / ||v||,

    .. math:: H v \approx \|v\| \, \frac{\nabla f(x + h u) - \nabla f(x)}{h}, \qquad
              \text{error} \le \|v\| \Big( \frac{L h}{2} + \frac{2 \varepsilon}{h} \Big),

    where L is the Lipschitz constant of the Hessian and epsilon a bound on the error of a computed gradient.

    Parameters
    ----------
    x : array of shape (n,)
        The point.  A float32 array stays float32 in the calls of the user's functions, and the step is chosen for it.
    hessp : callable, optional
        ``hessp(x, v)`` returns H v, shape (n,).
    fun : callable, optional
        ``fun(x)`` returns (value, gradient).
    gradient : callable, optional
        ``gradient(x)`` returns the gradient, shape (n,).
    step : float, optional
        Length h > 0 of the difference step.  Default: the minimiser 2 sqrt(epsilon / L) of the error bound when
        `hessian_lipschitz` is given, else the square root of the machine epsilon times 1 + ||x||.
    hessian_lipschitz : float, optional
        Lipschitz constant L of the Hessian near x, which bounds the truncation error; estimated if not given.
    gradient_noise : float, optional
        Bound epsilon on the error of a computed gradient; estimated from seven nearby gradients when it is needed and
        not given.

    Raises
    ------
    InputError
        If not exactly one of `hessp`, `fun`, `gradient` is given, x isn't a finite vector, a number is out of range, or
        (in a product) a function returns the wrong shape or something that isn't finite.
    InputTypeError
        If an argument has the wrong type.

    Attributes
    ----------
    n_products : int
        Products computed so far, by the operator and all its blocks.
    n_gradients : int
        Gradients computed so far.

    Notes
    -----
    A product costs one call of `hessp`, or one gradient (and one more, once, at x).  Deterministic if the user's
    functions are.

    References
    ----------
    J. J. More, S. M. Wild, Estimating computational noise, SIAM J. Sci. Comput. 33 (2011) 1292-1314.

    Examples
    --------
    f(x) = x_0^2 x_1 has the Hessian [[2 x_1, 2 x_0], [2 x_0, 0]].

    >>> import numpy as np
    >>> H = HessianOperator([1.0, 3.0], gradient=lambda x: np.array([2 * x[0] * x[1], x[0] ** 2]))
    >>> np.round(H.dense(), 5)
    array([[6., 2.],
           [2., 0.]])
    >>> H.n_products
    2
    """

    def __init__(
        self,
        x: Any,
        *,
        hessp: Callable[[Any, Any], Any] | None = None,
        fun: Callable[[Any], Any] | None = None,
        gradient: Callable[[Any], Any] | None = None,
        step: float | None = None,
        hessian_lipschitz: float | None = None,
        gradient_noise: float | None = None,
    ) -> None:
        if sum(source is not None for source in (hessp, fun, gradient)) != 1:
            raise InputError("exactly one of hessp, fun and gradient must be given")
        for name, source in (("hessp", hessp), ("fun", fun), ("gradient", gradient)):
            if source is not None and not callable(source):
                raise InputTypeError(f"{name} must be callable, got {type(source).__name__}")
        self.x = check_array(x, "x", ndim=1)
        if self.x.size == 0:
            raise InputError("x must not be empty")
        dtype = getattr(x, "dtype", np.dtype(np.float64))
        self._argument_dtype = np.dtype(dtype) if dtype in (np.float32, np.float16) else np.dtype(np.float64)
        self._hessp, self._fun, self._gradient = hessp, fun, gradient
        self._eps = float(np.finfo(self._argument_dtype).eps)
        self._step = (
            None if step is None else check_scalar(step, "step", low=0.0, high=math.inf, low_open=True, high_open=True)
        )
        self._lipschitz = _optional_size(hessian_lipschitz, "hessian_lipschitz")
        self._noise = _optional_size(gradient_noise, "gradient_noise")
        self._is_noise_given = self._noise is not None
        self._gradient_at_x: FloatArray | None = None
        self._error_bound: float | None = None
        self.n_products = 0
        self.n_gradients = 0
        super().__init__(np.dtype(np.float64), (self.x.size, self.x.size))  # type: ignore[call-arg]

    @property
    def is_exact(self) -> bool:
        """Whether the products come from `hessp` and not from differences."""
        return self._hessp is not None

    @property
    def step(self) -> float:
        """Length of the difference step; 0.0 with exact products."""
        if self.is_exact:
            return 0.0
        if self._step is None:
            self._step = self._choose_step()
        return self._step

    @property
    def gradient_noise(self) -> float:
        """Bound given for, or estimate of, the error of a computed gradient; 0.0 with exact products."""
        if self.is_exact:
            return 0.0
        if self._noise is None:
            self._noise = self._estimate_noise()
        return self._noise

    @property
    def error_bound_source(self) -> str:
        """Where `error_bound` comes from.

        ``"exact"``: there is no error.  ``"given"``: it is a bound, from the user's `hessian_lipschitz` and
        `gradient_noise`.  ``"lipschitz"``: the truncation error is bounded, the noise estimated.  ``"estimated"``:
        both are.
        """
        if self.is_exact:
            return "exact"
        if self._lipschitz is None:
            return "estimated"
        return "given" if self._is_noise_given else "lipschitz"

    @property
    def error_bound(self) -> float:
        """Bound on the error of a product with a unit vector; 0.0 with exact products.

        It is L h / 2 + 2 epsilon / h with `hessian_lipschitz`.  Without it, the truncation error is estimated from
        products with steps h and 4 h along two fixed directions (times 4 for the directions that were not tried): four
        gradients, once.
        """
        if self._error_bound is None:
            self._error_bound = 0.0 if self.is_exact else self._truncation() + 2.0 * self.gradient_noise / self.step
        return self._error_bound

    def block(self, indices: Any) -> PrincipalBlock:
        """Return the principal block H[indices, indices] as an operator that counts its products here.

        Parameters
        ----------
        indices : slice, sequence of int or boolean mask of shape (n,)
            Variables of the block, without repetition.

        Returns
        -------
        PrincipalBlock
            The block, of order ``len(indices)``.

        Raises
        ------
        InputError
            If the selection is empty, repeats a variable or leaves the range.
        InputTypeError
            If it isn't a selection of integers.
        """
        return PrincipalBlock(self, _selection(indices, self.x.size))

    def symmetry_error(self, *, n_pairs: int = 4, rng: RNGLike = 0) -> float:
        r"""Return an estimate of ||H - H'||_F / ||H||_F, from 2 `n_pairs` products.

        For random unit vectors, :math:`E (u'Hv - v'Hu)^2 = \|H - H'\|_F^2 / n^2` and :math:`E \|Hv\|^2 = \|H\|_F^2 /
        n`.

        Parameters
        ----------
        n_pairs : int, default 4
            Number of random pairs, at least 1.
        rng : int, Generator or None
            Source of the pairs.

        Returns
        -------
        float
            0.0 for a symmetric matrix up to rounding (and the error of differences), of order 1 for a one-sided
            mistake.

        Raises
        ------
        InputError
            If a parameter is out of range or a product isn't finite.
        InputTypeError
            If a parameter has the wrong type.
        """
        n_pairs = check_int(n_pairs, "n_pairs", low=1)
        generator, n = check_rng(rng), self.x.size
        difference = total = 0.0
        for _ in range(n_pairs):
            u, v = generator.standard_normal((2, n))
            u, v = u / norm(u), v / norm(v)
            Hu, Hv = self.matvec(u), self.matvec(v)
            difference += float(u @ Hv - v @ Hu) ** 2
            total += 0.5 * (norm(Hu) ** 2 + norm(Hv) ** 2)
        return math.sqrt(n * difference / total) if total > 0.0 else 0.0

    def _matvec(self, v: Any) -> FloatArray:
        v = np.asarray(v, dtype=np.float64).ravel()
        self.n_products += 1
        if self._hessp is not None:
            x = self.x.astype(self._argument_dtype)
            return self._checked(self._hessp(x, v.astype(self._argument_dtype)), "hessp")
        length = norm(v)
        if length == 0.0:
            return np.zeros_like(v)
        return length * self._difference(v / length, self.step)

    def _difference(self, unit: FloatArray, step: float) -> FloatArray:
        """Return the forward difference of the gradient along a unit vector."""
        if self._gradient_at_x is None:
            self._gradient_at_x = self._evaluate_gradient(self.x)
        return (self._evaluate_gradient(self.x + step * unit) - self._gradient_at_x) / step

    def _evaluate_gradient(self, x: FloatArray) -> FloatArray:
        """Return the user's gradient in float64; a gradient of lower precision raises the assumed epsilon."""
        self.n_gradients += 1
        point = x.astype(self._argument_dtype)
        if self._gradient is not None:
            raw, name = self._gradient(point), "gradient"
        else:
            assert self._fun is not None
            pair, name = self._fun(point), "fun"
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InputTypeError("fun must return a pair (value, gradient)")
            raw = pair[1]
        dtype = getattr(raw, "dtype", None)
        if dtype in (np.float32, np.float16):
            self._eps = max(self._eps, float(np.finfo(dtype).eps))
        return self._checked(raw, name)

    def _checked(self, raw: Any, name: str) -> FloatArray:
        """Return what the user's function gave as a finite vector of shape (n,)."""
        return check_array(raw, f"the result of {name}", shape=(self.x.size,))

    def _choose_step(self) -> float:
        """Return the step that minimises the error bound as far as its constants are known."""
        if self._gradient_at_x is None:
            self._gradient_at_x = self._evaluate_gradient(self.x)
        default = math.sqrt(self._eps) * (1.0 + norm(self.x))
        if self._lipschitz is None:
            return default
        noise = self.gradient_noise
        if self._lipschitz == 0.0 or noise == 0.0:
            return 1.0 + norm(self.x) if self._lipschitz == 0.0 else default
        return max(2.0 * math.sqrt(noise / self._lipschitz), 16.0 * self._eps * norm(self.x))

    def _estimate_noise(self) -> float:
        """Return three standard deviations of the gradient's error, shape ()."""
        # Differences of order k of independent errors of standard deviation s have variance s^2 (2k)! / (k!)^2, while
        # the smooth part of the gradient shrinks like the k-th power of the spacing.
        unit = check_rng(_PROBE_SEED).standard_normal(self.x.size)
        unit /= norm(unit)
        spacing = 100.0 * self._eps * (1.0 + norm(self.x))
        table = np.stack([self._evaluate_gradient(self.x + i * spacing * unit) for i in range(7)])
        deviations = []
        for order in (4, 5):
            differences = np.diff(table, n=order, axis=0)
            mean_square = float(np.mean(np.sum(differences**2, axis=1)))
            deviations.append(math.sqrt(mean_square / math.comb(2 * order, order)))
        # x + h u is rounded too, by eps ||x||, which the Hessian turns into an error of the gradient.
        argument = self._eps * norm(self.x) * norm(table[6] - table[0]) / (6.0 * spacing)
        return 3.0 * max(deviations) + 2.0 * argument + self._eps * norm(table[0])

    def _truncation(self) -> float:
        """Return the bound L h / 2, or the estimate of it from two directions."""
        h = self.step
        if self._lipschitz is not None:
            return 0.5 * self._lipschitz * h
        generator, worst = check_rng(_PROBE_SEED + 1), 0.0
        for _ in range(2):
            unit = generator.standard_normal(self.x.size)
            unit /= norm(unit)
            # With error L_u h / 2 at step h, the steps h and 4 h differ by three times the error that is wanted.
            worst = max(worst, norm(self._difference(unit, 4.0 * h) - self._difference(unit, h)) / 3.0)
        return _ESTIMATE_SAFETY * worst


class PrincipalBlock(_SymmetricOperator):
    """Principal block H[indices, indices] of a Hessian; see `HessianOperator.block`.

    Parameters
    ----------
    parent : HessianOperator
        The whole Hessian; it counts the products.
    indices : ndarray of int, shape (m,)
        Variables of the block.

    Examples
    --------
    >>> import numpy as np
    >>> H = HessianOperator(np.zeros(3), hessp=lambda x, v: np.array([1.0, 2.0, 3.0]) * v)
    >>> H.block(slice(1, 3)).dense()
    array([[2., 0.],
           [0., 3.]])
    """

    def __init__(self, parent: HessianOperator, indices: Any) -> None:
        self.parent, self.indices = parent, indices
        super().__init__(np.dtype(np.float64), (len(indices), len(indices)))  # type: ignore[call-arg]

    @property
    def error_bound(self) -> float:
        """Bound of the parent on the error of a product with a unit vector."""
        return self.parent.error_bound

    def _matvec(self, v: Any) -> FloatArray:
        whole = np.zeros(self.parent.shape[0])
        whole[self.indices] = np.asarray(v, dtype=np.float64).ravel()
        return np.asarray(self.parent.matvec(whole)[self.indices])


def _optional_size(value: float | None, name: str) -> float | None:
    """Return a nonnegative finite number, or None."""
    return None if value is None else check_scalar(value, name, low=0.0, high=math.inf, high_open=True)


def _selection(indices: Any, n: int) -> Any:
    """Return the selected variables as distinct integers in 0..n-1."""
    try:
        chosen = np.atleast_1d(np.arange(n)[indices if isinstance(indices, slice) else np.asarray(indices)])
    except IndexError as error:
        known = np.asarray(indices).dtype.kind in "iub" or np.size(indices) == 0
        kind = InputError if known else InputTypeError
        raise kind(f"indices must select variables out of {n}: {error}") from error
    if chosen.size == 0 or chosen.ndim != 1 or np.unique(chosen).size != chosen.size:
        raise InputError("indices must select at least one variable and none twice")
    return chosen
