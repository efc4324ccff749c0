"""Small training problems for every loss, shared by the tests."""

import numpy as np

from derand.structure import MultiIndexTeacher, Network, NetworkObjective, PointwiseLoss, gaussian_population

DIRECTION = np.array([1.0, 1.0]) / np.sqrt(2.0)


def log_cosh(f, y):
    """Return log cosh(f - y) without overflow."""
    r = np.abs(f - y)
    return r + np.log1p(np.exp(-2.0 * r)) - np.log(2.0)


#: A smooth loss of the user's own.
LOG_COSH = PointwiseLoss(log_cosh, lambda f, y: np.tanh(f - y), lambda f, y: 1.0 - np.tanh(f - y) ** 2)
LOSSES = ("squared", "logistic", "multinomial", "huber", LOG_COSH)
KINDS = {"logistic": "binary", "multinomial": "classes"}
LINKS = {
    "tanh": lambda s: np.tanh(s[:, 0]),
    "tanh+1": lambda s: np.tanh(s[:, 0]) + 1.0,
    "1-|s|": lambda s: 1.0 - np.abs(s[:, 0]),
    "He2": lambda s: (s[:, 0] ** 2 - 1.0) / np.sqrt(2.0),
}


def probability(s):
    """Return the logistic function of twice the first coordinate."""
    return 1.0 / (1.0 + np.exp(-2.0 * s[:, 0]))


def teacher_for(loss, directions=DIRECTION):
    """Return a teacher whose labels suit a loss."""
    links = {"logistic": probability, "multinomial": lambda s: np.stack([probability(s), 1.0 - probability(s)], 1)}
    name = loss if isinstance(loss, str) else "squared"
    return MultiIndexTeacher(directions, links.get(name, LINKS["tanh+1"]), kind=KINDS.get(name, "regression"))


def population_objective(loss, hidden, activation="tanh", *, lam=1e-3, nodes=(8, 160), **options):
    """Return an objective on an exact population in two dimensions; few nodes do along the teacher, not across."""
    network = Network(2, hidden, 2 if loss == "multinomial" else 1, activation=activation)
    population = gaussian_population(teacher_for(loss), n_nodes=nodes[0], n_perp_nodes=nodes[1])
    return NetworkObjective(network, population, loss=loss, lam=lam, **options)


def central(function, x, v, h=1e-3):
    """Return the derivative along v by differences of fourth order."""
    near = np.subtract(function(x + h * v), function(x - h * v))
    far = np.subtract(function(x + 2 * h * v), function(x - 2 * h * v))
    return (8.0 * near - far) / (12.0 * h)
