"""A maximum cut of a networkx graph with its proof."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import networkx as nx

from derand._utils.html import ResultRepr
from derand.exceptions import CertificateError
from derand.graphs.convert import LabelledProblem, Weight, labelled_problem
from derand.maxcut.certificate import Certificate
from derand.maxcut.solve import CutEvent, MaxCutSolution

__all__ = ["MaxCutResult"]


@dataclass(frozen=True, eq=False)
class MaxCutResult(ResultRepr):
    """A cut of a labelled graph, the bound on all cuts, and the chain of inequalities between them.

    Parameters
    ----------
    solution : MaxCutSolution
        The same on vertices 0..n-1.
    labelled : LabelledProblem
        The labels.
    weight : str, callable or None
        The edge attribute that was used.
    """

    solution: MaxCutSolution
    labelled: LabelledProblem
    weight: Weight

    _shown = ("value", "upper_bound", "gap", "optimal", "expected_cut", "sdp_value", "guarantee", "status")

    @property
    def value(self) -> int | float:
        """Value of the cut: an exact Python int for whole-number weights of any size."""
        return self.solution.value

    @property
    def partition(self) -> tuple[set[Hashable], set[Hashable]]:
        """The two sides; the first holds the smallest label."""
        side = self.solution.side
        ahead, behind = self.labelled.partition(side)
        return (ahead, behind) if side.size == 0 or side[0] > 0 else (behind, ahead)

    @property
    def side(self) -> dict[Hashable, int]:
        """+1 for the nodes of the first side, -1 for those of the second."""
        sign = 1 if self.solution.side.size == 0 or self.solution.side[0] > 0 else -1
        return dict(zip(self.labelled.nodes, (sign * self.solution.side).tolist(), strict=True))

    @property
    def upper_bound(self) -> int | float | None:
        """Proved upper bound on all cuts; None when nothing was proved."""
        return self.solution.upper_bound

    @property
    def estimated_upper_bound(self) -> float | None:
        """Value of the relaxation where its own bound wasn't proved: an estimate, no bound; None where it was."""
        return self.solution.estimated_upper_bound

    @property
    def proof(self) -> str:
        """What `upper_bound` rests on.

        "semidefinite" is the relaxation's bound, as close to the estimate as it was solved; "odd cycles" a weaker one,
        where the relaxation's proof would need too much memory; "all cuts" says that exact reductions decided the
        graph.  Empty when nothing was proved.
        """
        return self.solution.proof

    @property
    def proved(self) -> bool:
        """Whether `upper_bound` is a theorem."""
        return self.solution.is_proved

    @property
    def gap(self) -> float | None:
        """``(upper_bound - value) / |upper_bound|``; None when nothing was proved."""
        return self.solution.gap

    @property
    def optimal(self) -> bool:
        """Whether the cut is proved to be a maximum cut."""
        return self.solution.is_optimal

    @property
    def expected_cut(self) -> float | None:
        """Expected value of random hyperplane rounding of the relaxation, in closed form."""
        return self.solution.expected_cut

    @property
    def sdp_value(self) -> float | None:
        """Value of the semidefinite relaxation's factor; no bound by itself."""
        return self.solution.sdp_value

    @property
    def guarantee(self) -> str:
        """The chain cut >= expected cut >= 0.87856 SDP value with its figures, or what is missing of it."""
        return self.solution.guarantee

    @property
    def history(self) -> tuple[CutEvent, ...]:
        """Stages with value and bound."""
        return self.solution.history

    @property
    def status(self) -> str:
        """Either "finished", or what ended the run early: "time_limit", "callback", "interrupted"."""
        return self.solution.status

    @property
    def certificate(self) -> Certificate | None:
        """Cut and bound with the proof, vertices in the order of ``labelled.nodes``; None when nothing was proved."""
        return self.solution.certificate() if self.proved else None

    def verify(self, G: nx.Graph[Any]) -> bool:
        """Return True after recomputing the cut and, by the stand-alone checker, the bound from the graph itself.

        Parameters
        ----------
        G : networkx.Graph
            The graph that the result should belong to.

        Returns
        -------
        bool
            Always True; a result that doesn't hold raises.

        Raises
        ------
        CertificateError
            If the cut or the bound doesn't hold for G; the message says why.

        Notes
        -----
        The checker is pure Python, see `Certificate.verify` for its cost.
        """
        again = labelled_problem(G, self.weight)
        if again.nodes != self.labelled.nodes:
            raise CertificateError("the graph has other nodes than the result")
        value = again.problem.cut_value(self.solution.side)
        if value != self.value:
            raise CertificateError(f"the cut has value {value} in this graph, the result says {self.value}")
        certificate = self.certificate
        if certificate is not None:
            certificate.verify(again.problem)
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON when the labels are.

        Returns
        -------
        dict
            Figures, partition and status; the certificate is left out, see ``certificate.to_dict()``.
        """
        first, second = self.partition
        order = self.labelled.nodes
        return {
            "value": self.value,
            "upper_bound": self.upper_bound,
            "estimated_upper_bound": self.estimated_upper_bound,
            "gap": self.gap,
            "proved": self.proved,
            "proof": self.proof,
            "optimal": self.optimal,
            "expected_cut": self.expected_cut,
            "sdp_value": self.sdp_value,
            "guarantee": self.guarantee,
            "status": self.status,
            "partition": [[node for node in order if node in first], [node for node in order if node in second]],
        }

    def __repr__(self) -> str:
        """Return value, bound and gap in one line."""
        sizes = "|".join(str(len(part)) for part in self.partition)
        if self.optimal:
            proof = "proved optimal"
        elif self.proved:
            by = " by odd cycles" if self.proof == "odd cycles" else ""
            proof = f"proved upper bound {self.upper_bound}{by}, gap {self.gap:.3%}"
        else:
            proof = "no proved upper bound"
        return f"<MaxCutResult value {self.value}, {proof}, sides {sizes}, {self.status}>"
