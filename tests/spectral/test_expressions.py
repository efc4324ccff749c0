import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.spectral.expressions import FUNCTIONS, parse_expression

Z = np.random.default_rng(0).standard_normal((50, 3))
A, B, C = Z.T


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("z**2", A**2),
        ("-z1 + +z2/z3 - 2", -A + B / C - 2),
        ("sign(z1*z2*z3)", np.sign(A * B * C)),
        ("z1 + sign(z2*z3)", A + np.sign(B * C)),
        ("max(z1, 0) * min(z2, pi)", np.maximum(A, 0) * np.minimum(B, np.pi)),
        ("exp(-z**2/2)**0.5 * e", np.exp(-(A**2) / 4) * np.e),
        (" relu(z) + abs(z2) ", np.maximum(A, 0) + np.abs(B)),
        ("3", np.full(50, 3.0)),
    ],
)
def test_values(text, values):
    assert np.allclose(parse_expression(text, 3)(Z), values, rtol=1e-14)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "z.__class__",
        "(lambda: 1)()",
        "[z for z in (1,)]",
        "z if z else 1",
        "z < 1",
        "z @ z",
        "z // 2",
        "'a'",
        "True",
        "1j",
        "open(z)",
        "sin(z, z)",
        "sin(x=z)",
        "sin(*z)",
        "z0",
        "z17",
        "y",
        "sin",
        "",
        "z +",
        "z; z",
        "z := 1",
        "f'{z}'",
        "z\x00",
        "(" * 400 + "z" + ")" * 400,
        "-" * 300 + "z",
        "z" * 1001,
        "1" + "0" * 400,
    ],
)
def test_everything_else_is_refused(text):
    with pytest.raises(InputError):
        parse_expression(text)


def test_towers_of_powers_are_floats():
    """9**9**9**9 as integers would never end."""
    assert np.isinf(parse_expression("9**9**9**9")(np.zeros(1))[0])


def test_number_of_coordinates():
    assert parse_expression("z1*z3").n_variables == 3
    assert parse_expression("z", 2)(Z[:, :2]).shape == (50,)
    assert repr(parse_expression("z")) == "Expression('z')"
    with pytest.raises(InputError, match="names z3: k must be at least 3"):
        parse_expression("z1*z3", 2)
    with pytest.raises(InputError, match="shape"):
        parse_expression("z1*z2")(Z)
    with pytest.raises(InputTypeError, match="string"):
        parse_expression(3)


def test_every_function_runs():
    for name, (_, count) in FUNCTIONS.items():
        assert parse_expression(f"{name}({', '.join(['z1'] * count)})")(np.abs(Z[:, 0])).shape == (50,)


def test_kinks_along_the_axes():
    assert parse_expression("relu(2*z - 1) + abs(z**2 - 4)").kinks() == (-2.0, 0.5, 2.0)
    assert parse_expression("sign(z1*z2) + max(z2, 3)").kinks() == (3.0,)  # z1*z2 has its sign changes on both axes
    assert parse_expression("sin(z) + abs(z**2)").kinks() == (0.0,)
    assert parse_expression("heaviside(z - 0.25, 0.5)").kinks() == (0.25,)


def test_complaints_say_what_to_write():
    for text, named in (
        ("z^2", r"write \*\* for powers"),
        ("np.abs(z)", "'np.abs' is an unknown function"),
        ("f(z)", "'f'"),
    ):
        with pytest.raises(InputError, match=named):
            parse_expression(text)
    for k in (0, 99):
        with pytest.raises(InputError, match="k must be between 1 and 16"):
            parse_expression("z", k)
