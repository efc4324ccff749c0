"""Every hostile function ends with the status and sentence that a user needs; success is confirmed by dense algebra."""

import math

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.optimize import SOSPStatus, minimize_sosp
from tests.optimize import hostile


def _confirm(result, fun, hess):
    """Check a success with a gradient and a spectrum of our own."""
    assert result.status is SOSPStatus.CERTIFIED, result.message
    assert result.success
    certificate = result.certificate
    assert np.linalg.norm(fun(result.x)[1]) <= certificate.gtol
    eigenvalues = np.linalg.eigvalsh(hess(result.x))
    rounding = 1e-13 * np.abs(eigenvalues).max()
    assert eigenvalues[0] >= -certificate.curv_tol
    assert certificate.min_eigenvalue_lower <= eigenvalues[0] + rounding


class TestUnbounded:
    @pytest.mark.parametrize(
        "fun",
        [
            lambda x: (float(x.sum()), np.ones_like(x)),
            lambda x: (-float(x @ x), -2.0 * x),
            lambda x: (-float(np.sum(x**4)), -4.0 * x**3),
            lambda x: (-float(np.sum(np.exp(x))), -np.exp(x)),
        ],
        ids=["linear", "-x^2", "-x^4", "-exp"],
    )
    @pytest.mark.parametrize("n", [1, 2, 40])
    def test_is_said_within_a_few_evaluations(self, fun, n):
        def quiet(x):
            with np.errstate(over="ignore", invalid="ignore"):
                return fun(x)

        result = minimize_sosp(quiet, np.full(n, 0.7))
        assert result.status is SOSPStatus.UNBOUNDED
        assert not result.success
        assert "at distance" in result.message
        assert result.nfev < 60

    def test_from_an_exact_maximum(self):
        result = minimize_sosp(lambda x: (-float(x @ x), -2.0 * x), np.zeros(30))
        assert result.status is SOSPStatus.UNBOUNDED

    def test_a_value_of_minus_infinity(self):
        def log(x):
            with np.errstate(all="ignore"):
                return float(np.log(x[0] ** 2 + x[1] ** 2)), 2.0 * x / (x @ x)

        # One step of length 1 from (1, 0) against the gradient lands on the pole.
        result = minimize_sosp(log, [1.0, 0.0])
        assert result.status is SOSPStatus.UNBOUNDED
        assert "-inf" in result.message
        assert math.isfinite(result.fun)

    def test_the_user_may_say_what_is_too_low(self):
        fun = hostile.quadratic([1.0, 2.0])[0]
        assert minimize_sosp(fun, [1.0, 1.0], fun_lower=0.1).status is SOSPStatus.UNBOUNDED
        assert minimize_sosp(fun, [1.0, 1.0], fun_lower=-1.0).success

    def test_falling_for_ever_towards_a_value_is_a_second_order_stationary_point(self):
        result = minimize_sosp(lambda x: (float(np.exp(x).sum()), np.exp(x)), np.zeros(3))
        _confirm(result, lambda x: (0.0, np.exp(x)), lambda x: np.diag(np.exp(x)))


class TestNotFinite:
    @pytest.mark.parametrize(("value", "gradient"), [(np.nan, 1.0), (np.inf, 1.0), (1.0, np.nan), (1.0, np.inf)])
    def test_start(self, value, gradient):
        result = minimize_sosp(lambda x: (value, np.full_like(x, gradient)), np.ones(3))
        assert result.status is SOSPStatus.NON_FINITE
        assert "x0" in result.message
        assert result.nfev == 1
        assert result.checkpoint is None
        np.testing.assert_array_equal(result.x, np.ones(3))

    def test_everywhere_but_the_start(self):
        def fun(x):
            return (1.0, x.copy()) if np.all(x == 1.0) else (np.nan, x * np.nan)

        result = minimize_sosp(fun, np.ones(3))
        assert result.status is SOSPStatus.STALLED
        assert "not finite" in result.message

    @pytest.mark.parametrize("n", [3, 30])
    @pytest.mark.parametrize("curv_tol", [None, 1e-3])
    def test_everywhere_but_a_stationary_start(self, n, curv_tol):
        def fun(x):
            return (1.0, np.zeros_like(x)) if np.all(x == 1.0) else (np.nan, x * np.nan)

        result = minimize_sosp(fun, np.ones(n), curv_tol=curv_tol)
        assert result.status is SOSPStatus.NON_FINITE
        assert "next to x" in result.message

    def test_wall_in_front_of_the_minimum(self):
        def fun(x):
            return hostile.ring(x) if x[0] <= 0.9 else (math.inf, x)

        x0 = np.r_[0.5, np.zeros(9)]
        result = minimize_sosp(fun, x0)
        assert result.status is SOSPStatus.STALLED
        assert "not finite" in result.message
        assert result.nfev < 500

    def test_barrier_is_no_obstacle(self):
        def fun(x):
            return (float(np.sum(x - np.log(x))), 1.0 - 1.0 / x) if np.all(x > 0.0) else (math.inf, x)

        _confirm(minimize_sosp(fun, np.full(20, 3.0)), fun, lambda x: np.diag(1.0 / x**2))

    def test_product(self):
        result = minimize_sosp(hostile.ring, np.zeros(20), hessp=lambda _, v: v * np.nan, curv_tol=1e-3)
        assert result.status is SOSPStatus.NON_FINITE
        assert "hessp" in result.message


class TestDegenerate:
    def test_sphere_of_minima_has_curvature_zero_and_certifies(self):
        for n in (2, 3, 30):
            for hessp in (hostile.ring_hessp, None):
                result = minimize_sosp(hostile.ring, np.zeros(n), hessp=hessp, curv_tol=1e-4)
                _confirm(result, hostile.ring, hostile.ring_hess)
                assert result.n_escapes == 1
                # The eigenvalue along the sphere is 4 (|x|^2 - 1), whose size the gradient shows.
                assert result.certificate.min_eigenvalue_lower <= 1.01 * result.certificate.gradient_norm + 1e-12

    def test_curvature_zero_certifies_below_rounding_of_differences_only_with_products(self):
        rng = np.random.default_rng(0)
        fun, hessp = hostile.quadratic(np.linspace(0.0, 1.0, 50))
        x0 = rng.standard_normal(50)
        exact = minimize_sosp(fun, x0, hessp=hessp, curv_tol=1e-12)
        _confirm(exact, fun, lambda _: np.diag(np.linspace(0.0, 1.0, 50)))
        differences = minimize_sosp(fun, x0, curv_tol=1e-12)
        assert differences.status is SOSPStatus.INCONCLUSIVE
        assert "the error of a product" in differences.message

    @pytest.mark.parametrize("hess_lip", [None, 12.0])
    def test_monkey_saddle_certifies(self, hess_lip):
        result = minimize_sosp(hostile.monkey, np.zeros(2), hess_lip=hess_lip)
        _confirm(result, hostile.monkey, lambda _: np.zeros((2, 2)))
        np.testing.assert_array_equal(result.x, np.zeros(2))

    @pytest.mark.parametrize("value", [0.0, 7.0])
    @pytest.mark.parametrize("n", [1, 2, 40])
    def test_constant(self, value, n):
        result = minimize_sosp(lambda x: (value, np.zeros_like(x)), np.ones(n))
        _confirm(result, lambda x: (value, 0.0 * x), lambda x: np.zeros((x.size, x.size)))

    @pytest.mark.parametrize("power", [4, 6])
    @pytest.mark.parametrize("n", [1, 40])
    def test_flat_minima(self, power, n):
        def fun(x):
            return float(np.sum(x**power)), power * x ** (power - 1)

        for x0 in (np.ones(n), np.zeros(n)):
            _confirm(minimize_sosp(fun, x0), fun, lambda x: np.diag(power * (power - 1) * x ** (power - 2)))

    def test_quadratic_needs_no_tolerance_although_its_hessian_is_constant(self):
        fun, hessp = hostile.quadratic([1.0, 2.0, 3.0])
        for products in (hessp, None):
            for x0 in (np.ones(3), np.zeros(3)):
                result = minimize_sosp(fun, x0, hessp=products)
                _confirm(result, fun, lambda _: np.diag([1.0, 2.0, 3.0]))
                assert result.certificate.hess_lip_source == "estimated"

    def test_one_and_many_variables(self):
        for n in (1, 2, 5000):
            for x0 in (np.zeros(n), np.full(n, 0.1), np.ones(n)):
                result = minimize_sosp(hostile.wells, x0)
                assert result.success, result.message
                np.testing.assert_allclose(np.abs(result.x), 1.0, atol=1e-5)
                assert (result.n_escapes > 0) == (x0[0] == 0.0)
        assert minimize_sosp(hostile.wells, np.ones(5000)).nfev < 40


class TestPrecision:
    @pytest.mark.parametrize("n", [3, 30])
    @pytest.mark.parametrize("shift", [0.0, 1.0])
    @pytest.mark.parametrize("hidden", [True, False])
    def test_single_precision_never_claims_too_much(self, n, shift, hidden):
        def fun(x):
            z = x.astype(np.float32) - np.float32(shift)
            excess = z @ z - np.float32(1.0)
            value, gradient = excess**2, np.float32(4.0) * excess * z
            return (float(value), gradient.astype(np.float64)) if hidden else (value, gradient)

        for x0 in (np.full(n, shift), shift + np.r_[0.5, np.zeros(n - 1)]):
            for gtol, curv_tol in [(1e-3, 0.2), (1e-4, None), (1e-9, 1e-3)]:
                result = minimize_sosp(fun, x0, gtol=gtol, curv_tol=curv_tol, max_evals=5000)
                if result.success:
                    assert np.linalg.eigvalsh(hostile.ring_hess(result.x - shift))[0] >= -result.certificate.curv_tol
                else:
                    # Near the saddle differences of steps 1e-8 are all zero; that must not read as "no curvature".
                    assert result.status in {SOSPStatus.INCONCLUSIVE, SOSPStatus.STALLED, SOSPStatus.BUDGET}

    def test_single_precision_works_where_its_type_shows(self):
        def fun(x):
            z = x.astype(np.float32) - np.float32(1.0)
            excess = z @ z - np.float32(1.0)
            return excess**2, np.float32(4.0) * excess * z

        result = minimize_sosp(fun, np.ones(20), gtol=2e-3, curv_tol=0.2)
        assert result.success, result.message
        assert result.n_escapes == 1

    @pytest.mark.parametrize("noise", [1e-12, 1e-8, 1e-4])
    @pytest.mark.parametrize("gtol", [1e-3, 1e-5, 1e-9])
    def test_noise_is_not_taken_for_a_wrong_gradient(self, noise, gtol):
        def fun(x):
            value, gradient = hostile.ring(x)
            return value + noise * math.sin(1e9 * x.sum()), gradient + noise * np.cos(1e9 * x)

        result = minimize_sosp(fun, np.r_[0.5, np.zeros(19)], gtol=gtol, max_evals=3000)
        if result.success:
            lowest = np.linalg.eigvalsh(hostile.ring_hess(result.x))[0]
            assert lowest >= -result.certificate.curv_tol
        else:
            assert result.status in {SOSPStatus.INCONCLUSIVE, SOSPStatus.STALLED, SOSPStatus.BUDGET}
            assert "gtol" in result.message

    @pytest.mark.parametrize("gtol", [1e-13, 1e-17, 1e-300])
    def test_tolerance_below_rounding(self, gtol):
        def fun(x):
            root = x**2 - np.pi
            return float(1e3 + np.sum(root**2)), 4.0 * x * root

        result = minimize_sosp(fun, np.linspace(0.5, 3.0, 12), gtol=gtol, curv_tol=1e-3)
        if result.success:
            assert np.linalg.norm(fun(result.x)[1]) <= gtol
        else:
            assert result.status is SOSPStatus.STALLED
            assert f"gtol {gtol:.3g}" in result.message
            assert result.nfev < 2000
        np.testing.assert_allclose(result.x, np.sqrt(np.pi), rtol=1e-6)

    @pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30, 1e100])
    def test_scale_of_the_values(self, scale):
        def fun(x):
            value, gradient = hostile.ring(x)
            return scale * value, scale * gradient

        for x0 in (np.zeros(20), np.r_[0.5, np.zeros(19)]):
            for hessp in (None, lambda x, v: scale * hostile.ring_hessp(x, v)):
                result = minimize_sosp(fun, x0, gtol=1e-6 * scale, curv_tol=1e-3 * scale, hessp=hessp)
                _confirm(result, fun, lambda x: scale * hostile.ring_hess(x))

    @pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30, 1e100])
    def test_scale_of_the_variables(self, scale):
        def fun(x):
            with np.errstate(over="ignore", invalid="ignore"):
                value, gradient = hostile.coupled(x / scale)
                return value, gradient / scale

        x0 = scale * np.linspace(0.3, 0.6, 12)
        result = minimize_sosp(
            fun,
            x0,
            hessp=lambda x, v: hostile.coupled_hessp(x / scale, v / scale) / scale,
            gtol=1e-6 / scale,
            curv_tol=1e-3 / scale**2,
        )
        assert result.success, result.message
        np.testing.assert_allclose(result.x / scale, 1.0, atol=1e-5)

    @pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
    def test_out_of_the_range_of_squares_nothing_false_is_said(self, scale):
        def fun(x):
            value, gradient = hostile.ring(x)
            with np.errstate(over="ignore"):
                return scale * value, scale * gradient

        for x0 in (np.zeros(20), np.r_[0.5, np.zeros(19)]):
            for curv_tol in (None, 1e-3 * scale):
                result = minimize_sosp(fun, x0, gtol=1e-6 * scale, curv_tol=curv_tol)
                if result.success:
                    assert -np.inf < result.certificate.min_eigenvalue_lower
                    assert np.linalg.eigvalsh(hostile.ring_hess(result.x))[0] * scale >= -result.certificate.curv_tol


class TestKinks:
    @pytest.mark.parametrize("n", [2, 3])
    def test_absolute_value_stalls(self, n):
        result = minimize_sosp(lambda x: (float(np.abs(x).sum()), np.sign(x)), np.linspace(1.3, -0.7, n))
        # A coordinate that hits 0 exactly has the gradient 0; then it is the differences that show the kink.
        assert result.status in {SOSPStatus.STALLED, SOSPStatus.INCONCLUSIVE}, result.message
        assert "isn't smooth" in result.message or "the error of a product" in result.message

    def test_sum_of_relus_is_no_wrong_gradient(self):
        rng = np.random.default_rng(0)
        A, b = rng.standard_normal((40, 10)), rng.standard_normal(40)

        def fun(x):
            return float(np.maximum(A @ x - b, 0.0).sum() + np.abs(x).sum()), A.T @ (A @ x > b) + np.sign(x)

        result = minimize_sosp(fun, np.ones(10), max_evals=4000)
        assert result.status in {SOSPStatus.STALLED, SOSPStatus.BUDGET}, result.message
        assert not result.success


class TestWrongDerivatives:
    KINDS = ("sign", "one sign", "zeroed", "doubled", "halved", "one doubled", "offset", "one offset", "swapped")

    @staticmethod
    def _wrong(kind, i):
        def fun(x):
            value, gradient = hostile.coupled(x)
            gradient = gradient.copy()
            if kind == "sign":
                gradient = -gradient
            elif kind == "one sign":
                gradient[i] = -gradient[i]
            elif kind == "zeroed":
                gradient[i] = 0.0
            elif kind == "doubled":
                gradient *= 2.0
            elif kind == "halved":
                gradient *= 0.5
            elif kind == "one doubled":
                gradient[i] *= 2.0
            elif kind == "offset":
                gradient += 0.01
            elif kind == "one offset":
                gradient[i] += 1e-3
            else:
                gradient[[0, 1]] = gradient[[1, 0]]
            return value, gradient

        return fun

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("n", [4, 30])
    @pytest.mark.parametrize("start", ["saddle", "random"])
    def test_gradient_is_named(self, kind, n, start):
        rng = np.random.default_rng(n)
        x0 = np.zeros(n) if start == "saddle" else rng.standard_normal(n)
        result = minimize_sosp(self._wrong(kind, 2), x0, curv_tol=1e-3, max_evals=20000)
        assert not result.success
        assert result.status in {SOSPStatus.BAD_GRADIENT, SOSPStatus.INCONCLUSIVE}, result.message
        if result.status is SOSPStatus.BAD_GRADIENT:
            assert "oordinate" in result.message
            if kind.startswith("one") or kind == "zeroed":
                assert "Coordinate 2:" in result.message or abs(self._wrong(kind, 2)(result.x)[1][2]) < 1e-4
        else:
            assert "check_gradient" in result.message

    @pytest.mark.parametrize("kind", ["doubled", "negated", "not symmetric", "of x0", "zero", "identity"])
    @pytest.mark.parametrize("n", [4, 30])
    def test_products_are_named(self, kind, n):
        rng = np.random.default_rng(n)
        x0, M = rng.standard_normal(n), 0.1 * rng.standard_normal((n, n))
        hessp = {
            "doubled": lambda x, v: 2.0 * hostile.coupled_hessp(x, v),
            "negated": lambda x, v: -hostile.coupled_hessp(x, v),
            "not symmetric": lambda x, v: hostile.coupled_hessp(x, v) + M @ v,
            "of x0": lambda _, v: hostile.coupled_hessp(x0, v),
            "zero": lambda _, v: 0.0 * v,
            "identity": lambda _, v: v.copy(),
        }[kind]
        result = minimize_sosp(hostile.coupled, x0, hessp=hessp, curv_tol=1e-3, max_evals=20000)
        assert result.status is SOSPStatus.BAD_HESSP, result.message
        assert not result.success

    def test_no_certificate_of_a_gradient_that_is_wrong_only_at_the_end(self):
        """The gradient of ||x||^2 / 2, beside 0 that of another function: it certifies what the values deny."""

        def fun(x):
            bump = 0.2 * (x[0] ** 2 - 0.25) ** 2 * x[0] if abs(x[0]) < 0.5 else 0.0
            return float(0.5 * x @ x + bump), x.copy()

        result = minimize_sosp(fun, [3.0, 0.3])
        assert result.status is SOSPStatus.BAD_GRADIENT
        assert result.certificate is None

    def test_right_derivatives_of_degenerate_functions_are_not_accused(self):
        for power in (3, 4, 5, 6, 8):

            def fun(x, p=power):
                return float(np.sum(x**p)), p * x ** (p - 1)

            for n in (1, 5, 40):
                result = minimize_sosp(fun, np.zeros(n), curv_tol=1e-3)
                assert result.success, result.message

    def test_random_sums_of_waves_are_not_accused(self):
        rng = np.random.default_rng(0)
        for _ in range(60):
            n, m = int(rng.integers(1, 30)), 40
            A, phase = rng.standard_normal((m, n)) * np.exp(rng.uniform(-1, 1)), rng.uniform(0, 6, m)
            offset = 10.0 ** rng.uniform(-3, 6)

            def fun(x, A=A, phase=phase, offset=offset):
                z = A @ x + phase
                return float(offset + np.cos(z).sum() + 0.05 * x @ x), -A.T @ np.sin(z) + 0.1 * x

            def hess(x, A=A, phase=phase):
                return -A.T @ (np.cos(A @ x + phase)[:, None] * A) + 0.1 * np.eye(x.size)

            result = minimize_sosp(fun, rng.standard_normal(n), gtol=1e-4, curv_tol=1e-2)
            _confirm(result, fun, hess)


class TestArguments:
    @pytest.mark.parametrize(
        ("changes", "name", "error"),
        [
            ({"fun": 3}, "fun", InputTypeError),
            ({"fun": None}, "fun", InputTypeError),
            ({"x0": [np.nan, 0.0]}, "x0", InputError),
            ({"x0": []}, "x0", InputError),
            ({"x0": 1.0}, "x0", InputError),
            ({"x0": [[1.0]]}, "x0", InputError),
            ({"x0": ["a"]}, "x0", InputTypeError),
            ({"x0": [1j]}, "x0", InputTypeError),
            ({"hessp": 1}, "hessp", InputTypeError),
            ({"callback": 1}, "callback", InputTypeError),
            ({"gtol": 0.0}, "gtol", InputError),
            ({"gtol": -1.0}, "gtol", InputError),
            ({"gtol": math.nan}, "gtol", InputError),
            ({"gtol": math.inf}, "gtol", InputError),
            ({"gtol": "1"}, "gtol", InputTypeError),
            ({"curv_tol": 0.0}, "curv_tol", InputError),
            ({"curv_tol": math.inf}, "curv_tol", InputError),
            ({"hess_lip": -1.0}, "hess_lip", InputError),
            ({"hess_lip": 0.0}, "hess_lip", InputError),
            ({"grad_lip": 0.0}, "grad_lip", InputError),
            ({"delta_f": -1.0}, "delta_f", InputError),
            ({"method": "newton"}, "method", InputError),
            ({"method": None}, "method", InputError),
            ({"confidence": 0.0}, "confidence", InputError),
            ({"confidence": 1.0}, "confidence", InputError),
            ({"max_evals": 0}, "max_evals", InputError),
            ({"max_evals": 1.5}, "max_evals", InputTypeError),
            ({"max_iter": -1}, "max_iter", InputError),
            ({"time_limit": -1.0}, "time_limit", InputError),
            ({"time_limit": math.nan}, "time_limit", InputError),
            ({"fun_lower": math.nan}, "fun_lower", InputError),
            ({"memory": 0}, "memory", InputError),
            ({"blas_threads": 0}, "blas_threads", InputError),
            ({"resume": 3}, "resume", InputTypeError),
            ({"rng": "a"}, "rng", InputTypeError),
            ({"rng": -1}, "rng", InputError),
        ],
    )
    def test_are_named(self, changes, name, error):
        arguments = {"fun": hostile.wells, "x0": [1.0, 2.0], **changes}
        with pytest.raises(error, match=rf"\b{name}\b"):
            minimize_sosp(arguments.pop("fun"), arguments.pop("x0"), **arguments)

    def test_start_is_neither_changed_nor_returned(self):
        x0 = np.ones(3)
        result = minimize_sosp(hostile.wells, x0)
        result.x[:] = 5.0
        np.testing.assert_array_equal(x0, np.ones(3))

    def test_integers_and_lists_are_fine(self):
        assert minimize_sosp(hostile.wells, [0, 0]).success
        assert minimize_sosp(hostile.wells, (1, 1)).success

    def test_same_seed_same_run_and_generators_are_used_up(self):
        runs = [minimize_sosp(hostile.ring, np.zeros(30), rng=rng) for rng in (3, np.random.default_rng(3), 4)]
        assert runs[0].x.tobytes() == runs[1].x.tobytes()
        assert runs[0].x.tobytes() != runs[2].x.tobytes()
