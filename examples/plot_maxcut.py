r"""
A cut that proves how good it is
================================

Zachary's karate club split into two groups with as many friendships as possible between them: the maximum cut of a
graph with 34 nodes and 78 edges.  :func:`derand.graphs.maxcut` returns a cut, an upper bound on *all* cuts, and the
proof of that bound, which a stand-alone checker of 150 lines verifies in exact arithmetic from the edges alone.
"""

import json
from fractions import Fraction

import matplotlib.pyplot as plt
import networkx as nx

from derand.exceptions import CertificateError
from derand.graphs import maxcut
from derand.graphs.convert import labelled_problem
from derand.maxcut.certificate import Certificate
from derand.plotting import CutDisplay

G = nx.karate_club_graph()
result = maxcut(G, weight=None, effort="quick")
print(result)
print(result.guarantee)

# %%
# The cut
# -------
# The few edges within a side, dashed, are what is lost.  The bound says that any split loses at least 16 of the 78
# edges; this one loses 17.

CutDisplay.from_result(result, G).plot()
plt.show()

# %%
# Verify
# ------
# ``verify`` recomputes the cut from the graph and runs the checker on the certificate.  Written to JSON and read again,
# the certificate still holds; with a bound moved down by two edges, it doesn't.

assert result.verify(G)
problem = labelled_problem(G, None).problem
written = json.loads(json.dumps(result.certificate.to_dict()))
value, bound = Certificate.from_dict(written).verify(problem)

forged = {**written, "upper_bound": str(Fraction(written["upper_bound"]) - 2)}
try:
    Certificate.from_dict(forged).verify(problem)
except CertificateError as error:
    refusal = str(error)
print(refusal)

# %%
# With the weights of the friendships
# -----------------------------------
# Above 300 nodes the display shows value and bound over the stages instead; here the same on request.

weighted = maxcut(G, effort="quick")
CutDisplay.from_result(weighted, G).plot(kind="history")
plt.show()

# %%
# What was shown
# --------------
# The figures are compared with networkx's own count of the cut edges, and with the best of twenty runs of its
# heuristic from random starts.

first, second = result.partition
one_exchange = max(nx.approximation.one_exchange(G, seed=seed)[0] for seed in range(20))

assert nx.cut_size(G, first, second) == result.value == value
assert result.expected_cut <= result.value <= result.upper_bound == bound
assert result.value >= one_exchange
assert (G.number_of_edges(), result.value, result.upper_bound) == (78, 61, 62)
assert nx.cut_size(G, weighted.partition[0], weight="weight") == weighted.value <= weighted.upper_bound
assert "prove" in refusal
