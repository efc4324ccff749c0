"""Stand-alone checker of maximum cut certificates: standard library only, nothing of derand is imported.

A certificate writes the weights as a sum of parts with a proved bound each: all cuts tried, or a vector z with
A + diag(z) positive semidefinite (no cut exceeds sum(w)/2 + sum(z)/4), shown in exact integers up to EXACT_LIMIT
vertices, above in floats with z lowered by more than all rounding errors (Higham, theorem 10.3).
"""

import gzip
import json
import math
import sys
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

EXACT_LIMIT, ALL_CUTS_LIMIT, ZERO = 100, 16, Fraction(0)
Weights = dict[tuple[int, int], Fraction]


def need(condition: bool, message: str) -> None:
    """Raise ValueError unless the condition holds."""
    if not condition:
        raise ValueError(message)


def number(value: Any) -> Fraction:
    """Return an exact number from an int, a float or a text such as "3", "3/4" or "0x1.8p+1"."""
    need(type(value) in {str, int, float, Fraction}, f"no number: {value!r}")
    if isinstance(value, str) and set(value) & set(".eExX"):  # a decimal number stands for the nearest double
        return Fraction(float.fromhex(value) if "x" in value else float(value))
    return Fraction(*map(int, value.split("/"))) if isinstance(value, str) else Fraction(value)


def add(weights: Weights, edges: Iterable[Any], n: int, sign: int = 1) -> Weights:
    """Add sign * edges to the weights, keys (i, j) with i < j; self loops don't count."""
    for i, j, w in edges:
        need(type(i) is type(j) is int and 0 <= i < n and 0 <= j < n, f"no edge: ({i}, {j})")
        if i != j:
            weights[min(i, j), max(i, j)] = weights.get((min(i, j), max(i, j)), ZERO) + sign * number(w)
    return weights


def lattice_floor(value: Fraction, weights: Weights) -> Fraction:
    """Return the largest possible cut value up to ``value``: cuts are multiples of gcd(degrees, 2 gcd(w))."""
    unit, degree = math.lcm(*(w.denominator for w in weights.values())), dict[int, int]()
    for (i, j), w in weights.items():
        degree[i], degree[j] = degree.get(i, 0) + int(w * unit), degree.get(j, 0) + int(w * unit)
    step = Fraction(math.gcd(*degree.values(), *(2 * int(w * unit) for w in weights.values())), unit)
    return step * (value // step) if step else ZERO


def is_semidefinite(weights: Weights, dual: list[Fraction]) -> bool:
    """Return whether A + diag(dual) is positive semidefinite, by exact elimination without fractions (Bareiss)."""
    unit, last = math.lcm(*(x.denominator for x in (*weights.values(), *dual))), 1
    matrix = [[int(z * unit) if i == k else 0 for i in range(len(dual))] for k, z in enumerate(dual)]
    for (i, j), w in weights.items():
        matrix[i][j] = matrix[j][i] = int(w * unit)
    while matrix:
        (pivot, *top), *rows = matrix
        if pivot < 0 or (pivot == 0 and any(top)):
            return False
        matrix = [[(pivot * x - a * y) // last if pivot else x for x, y in zip(r, top, strict=True)] for a, *r in rows]
        last = pivot or last
    return True


def is_surely_semidefinite(weights: Weights, dual: list[Fraction], order: list[int]) -> bool:
    """Return whether floating-point elimination proves A + diag(dual) positive semidefinite: pivots stay positive."""
    n, scale = len(dual), max(map(abs, dual)) or Fraction(1)
    need(sorted(order) == list(range(n)), "the elimination order is no permutation")
    terms, rows, diagonal = (2 * n + 16) * Fraction(1, 2**53), [dict[int, float]() for _ in range(n)], list[float]()
    for (i, j), w in weights.items():
        rows[i][j] = rows[j][i] = float(w / scale)
    for row, z in zip(rows, dual, strict=True):
        need(z / scale > 2.0**-300 if row else z >= 0, "a dual entry is too small")
        lost = sum(map(Fraction, map(abs, row.values())), ZERO) / 2**52  # more than rounding to floats lost
        lowered = (z / scale - lost) * (1 - 2 * n * terms / (1 - 2 * terms))
        diagonal.append(float(lowered) * (1 - 2.0**-50) if row else 1.0)
    while order and 4 * len(rows[order[0]]) <= len(order) and diagonal[order[0]] > 1e-280:  # sparse, first to last
        v, *order = order
        for i, x in rows[v].items():
            factor = x / diagonal[v]
            diagonal[i] -= factor * x
            del rows[i][v]
            for j in [j for j in rows[v] if j < i]:
                rows[i][j] = rows[j][i] = rows[i].get(j, 0.0) - factor * rows[v][j]
    need(all(diagonal[v] > 1e-280 for v in order), "a pivot is not positive")
    triangle = [[rows[v].get(u, 0.0) for u in order[:k]] + [diagonal[v]] for k, v in enumerate(order)]
    while triangle and triangle[-1][-1] > 1e-280:  # the rest is dense, last to first
        *column, pivot = triangle.pop()
        for k, x in enumerate(column):
            factor = x / pivot
            triangle[k] = [a - factor * b for a, b in zip(triangle[k], column, strict=False)]
    return not triangle


def bound_of(part: dict[str, Any], rest: Weights, n: int) -> Fraction:
    """Return the proved bound of one part, and take its edges out of ``rest``."""
    place = {v: k for k, v in enumerate(part["vertices"])}
    if "edges" in part:
        own = add({}, part["edges"], n)
        add(rest, part["edges"], n, sign=-1)
    else:  # all that is left between these vertices
        own = {key: rest.pop(key) for key in list(rest) if key[0] in place and key[1] in place}
    inner = add({}, ((place[i], place[j], w) for (i, j), w in own.items() if w), len(place))
    if part["proof"] == "all cuts":
        need(len(place) <= ALL_CUTS_LIMIT, "too many vertices for all cuts")
        plain = [(i, j, w if w.denominator > 1 else int(w)) for (i, j), w in inner.items()]
        sides = product((0,), *[(0, 1)] * (len(place) - 1))
        return Fraction(max(sum(w for i, j, w in plain if side[i] != side[j]) for side in sides))
    dual, is_small = list(map(number, part["dual"])), len(place) <= EXACT_LIMIT
    proved = is_semidefinite(inner, dual) if is_small else is_surely_semidefinite(inner, dual, part["order"])
    need(proved and len(dual) == len(place), "a dual vector proves nothing")
    return lattice_floor(sum(inner.values(), ZERO) / 2 + sum(dual, ZERO) / 4, inner)


def check(n: int, edges: Iterable[Any], certificate: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """Return the cut's value and the proved upper bound; raise ValueError where the certificate is wrong."""
    weights = {key: w for key, w in add({}, edges, n).items() if w}
    rest, side = dict(weights), certificate["side"]
    kind = [certificate[key] for key in ("format", "version", "n_vertices")]
    need(kind == ["derand-maxcut-certificate", 1, n], "another format or another graph")
    need(len(side) == n and set(side) <= {"+", "-"}, "the cut doesn't fit the graph")
    value = sum((w for (i, j), w in weights.items() if side[i] != side[j]), ZERO)
    need(value == number(certificate["cut_value"]), f"the cut's value is {value}")
    parts = sum((bound_of(part, rest, n) for part in certificate["parts"]), ZERO)
    bound = lattice_floor(parts + sum((w for w in rest.values() if w > 0), ZERO), weights)
    need(bound <= number(certificate["upper_bound"]), f"the parts prove only {bound}")
    return value, bound


def main(*paths: str) -> str:
    """Return the verdict on a graph file and a certificate file, either may be gzipped."""
    try:
        files = map(Path.read_bytes, map(Path, paths))
        graph, proof = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data for data in files)
        (n, m, *_), *rows = filter(None, map(str.split, graph.decode().splitlines()))
        need(len(rows) == int(m), "the graph has a wrong number of edges")
        edges = ((int(i) - 1, int(j) - 1, w[0] if w else 1) for i, j, *w in rows)
        value, bound = check(int(n), edges, json.loads(proof))
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, OSError) as error:
        return f"REFUSED: {type(error).__name__}: {error}"
    return f"ACCEPTED: cut {value}, upper bound {bound}{', optimal' if value == bound else ''}"


if __name__ == "__main__":
    sys.stdout.write((verdict := main(*sys.argv[1:])) + "\n")
    sys.exit(verdict.startswith("REFUSED"))
