"""Layout of the parameters, starts and outputs of networks."""

import array_api_strict
import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.structure import Network


def test_layout_round_trip():
    network = Network(3, (4, 2), 2)
    x = np.arange(float(network.n_parameters))
    layers = network.unpack(x)
    assert [W.shape for W, _ in layers] == [(4, 3), (2, 4), (2, 2)]
    np.testing.assert_array_equal(network.pack(layers), x)
    np.testing.assert_array_equal(x[network.slice_of("b2")], layers[1][1])
    assert network.n_parameters == 4 * 3 + 4 + 2 * 4 + 2 + 2 * 2 + 2
    assert repr(network) == "Network(3-4-2-2, softplus)"


def test_outputs_by_hand():
    network = Network(2, 1, activation="square")
    # f = 3 (x_0 + 2 x_1 + 1)^2 + 5
    assert network.outputs(np.array([1.0, 2.0, 1.0, 3.0, 5.0]), [[1.0, 1.0]]).item() == 53.0


def test_outputs_in_another_library():
    network = Network(3, (4, 2), 2, activation="gelu")
    x, X = network.random_parameters(rng=0), np.random.default_rng(0).standard_normal((5, 3))
    strict = network.outputs(x, array_api_strict.asarray(X))
    np.testing.assert_allclose(np.asarray(strict), network.outputs(x, X), rtol=1e-12)


def test_torch_outputs():
    torch = pytest.importorskip("torch")
    network = Network(3, 4, activation="erf")
    x, X = network.random_parameters(rng=0), np.random.default_rng(0).standard_normal((5, 3))
    np.testing.assert_allclose(network.outputs(x, torch.tensor(X)).numpy(), network.outputs(x, X), rtol=1e-12)


def test_scales_of_random_starts():
    """Standard deviations of 10,000 normal numbers are within five standard errors, 5 / sqrt(20,000) = 3.5 %."""
    network = Network(10, 1000)
    for init, expected in (("fan_in", (10**-0.5, 0.5, 1000**-0.5)), ("mean_field", (10**-0.5, 1e-3, 1e-3))):
        x = network.random_parameters(init=init, bias_scale=0.5, rng=0)
        for name, scale in zip(("W1", "b1", "W2"), expected, strict=True):
            assert np.std(x[network.slice_of(name)]) == pytest.approx(scale, rel=0.12 if name != "W1" else 0.035)
        assert x[network.slice_of("b2")].item() == 0.0
    assert np.array_equal(network.random_parameters(rng=3), network.random_parameters(rng=3))


def test_masks():
    network = Network(2, (3, 3))
    trained = network.mask(("biases", "output"))
    frozen = [name for name in network.names if not trained[network.slice_of(name)].any()]
    assert frozen == ["b1", "b2", "W3", "b3"]
    assert network.mask(()).all()


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: Network(0, 2), InputError, "n_inputs"),
        (lambda: Network(2, 0), InputError, "hidden"),
        (lambda: Network(2, ()), InputError, "hidden"),
        (lambda: Network(2, 2.5), InputTypeError, "hidden"),
        (lambda: Network(2, 2).mask(("c1",)), InputError, "name"),
        (lambda: Network(2, 2).mask("b1"), InputTypeError, "frozen"),
        (lambda: Network(2, 2).unpack(np.zeros(3)), InputError, "parameters"),
        (lambda: Network(2, 2).pack([(np.zeros((2, 2)), np.zeros(2))]), InputError, "layers"),
        (lambda: Network(2, 2).outputs(np.zeros(9), np.zeros((4, 3))), InputError, "X"),
        (lambda: Network(2, 2).random_parameters(init="zero"), InputError, "init"),
    ],
)
def test_bad_input_is_named(call, error, word):
    with pytest.raises(error, match=word):
        call()
