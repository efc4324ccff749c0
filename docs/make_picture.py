"""Draw docs/picture.png, the picture of the README: `python docs/make_picture.py`."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from derand import minimize_sosp
from derand.graphs import maxcut
from derand.plotting import CutDisplay, SOSPDisplay

n = 20


def fun(x):
    """Return value and gradient of a ring of double wells."""
    excess, step = x * x - 1.0, x - np.roll(x, -1)
    return 0.25 * (excess @ excess + step @ step), excess * x + 0.5 * (step - np.roll(step, 1))


figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.6), layout="constrained")
graph = nx.karate_club_graph()
CutDisplay.from_result(maxcut(graph, weight=None), graph).plot(left)
result = minimize_sosp(fun, np.zeros(n), gtol=1e-6, curv_tol=1e-3)
SOSPDisplay.from_result(result).plot(right)
left.set_title(f"A graph, {left.get_title()}", fontsize="medium")
bound = result.certificate.min_eigenvalue_lower
right.set_title(f"From a saddle to a minimum, smallest Hessian eigenvalue at least {bound:.3f}", fontsize="medium")
figure.savefig(Path(__file__).with_name("picture.png"), dpi=90, metadata={"Software": None})
