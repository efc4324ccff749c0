"""Tables of the benchmark sosp.py: shares and geometric means of paired ratios, computed from the runs alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from tests.benchmarks.sosp_methods import PEERS, Run

Key = tuple[str, str]
Table = dict[str, dict[Key, Run]]


def by_method(runs: Iterable[Run]) -> Table:
    """Return the runs as method -> (problem, start) -> run."""
    table: Table = {}
    for run in runs:
        table.setdefault(run.method, {})[run.problem, run.start] = run
    return table


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers, NaN when there are none."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else math.nan


def best_peer(table: Table) -> dict[Key, Run]:
    """Return, for each instance that some peer solves, the one with the fewest calls (the recipe is no peer)."""
    best: dict[Key, Run] = {}
    for method in PEERS:
        for key, run in table.get(method, {}).items():
            if run.reached and (key not in best or run.calls < best[key].calls):
                best[key] = run
    return best


def paired_ratio(
    top: dict[Key, Run], bottom: dict[Key, Run], measure: Callable[[Run], float], base: Callable[[Run], float]
) -> float:
    """Return the geometric mean of measure(top) / base(bottom) over the instances that both reach."""
    shared = [key for key, run in top.items() if run.reached and key in bottom and bottom[key].reached]
    return geometric_mean([max(measure(top[key]), 1e-9) / max(base(bottom[key]), 1e-9) for key in shared])


def _calls(run: Run) -> float:
    return float(run.calls)


def _search_calls(run: Run) -> float:
    return float(max(run.search_calls, 1))


def _cpu(run: Run) -> float:
    return run.cpu


def method_rows(table: Table, reference: str) -> list[str]:
    """Return one line per method: what it reaches, and its calls and processor time as multiples of the reference's."""
    ours = table.get(reference, {})
    rows = [
        f"{'method':<26}{'reached':>10}{'share':>7}{'saddle':>8}{'near':>8}{'random':>8}"
        f"{'claimed':>9}{'calls/total':>14}{'calls/search':>14}{'cpu':>8}"
    ]
    for method, runs in table.items():
        reached = sum(run.reached for run in runs.values())
        starts = "".join(f"{_share(runs, start):>8}" for start in ("saddle", "near_saddle", "random"))
        claimed = sum(run.claimed for run in runs.values()) if method.startswith("derand") else "-"
        ratios = "".join(f"{paired_ratio(runs, ours, _calls, base):>14.2f}" for base in (_calls, _search_calls))
        share = f"{f'{reached}/{len(runs)}':>10}{reached / len(runs):>7.2f}"
        rows.append(f"{method:<26}{share}{starts}{claimed:>9}{ratios}{paired_ratio(runs, ours, _cpu, _cpu):>8.2f}")
    return rows


def _share(runs: dict[Key, Run], start: str) -> str:
    chosen = [run for run in runs.values() if run.start == start]
    return f"{sum(run.reached for run in chosen)}/{len(chosen)}"


def headline_rows(table: Table, reference: str) -> list[str]:
    """Return derand against the best peer of each instance, and against the recipe."""
    ours, best = table.get(reference, {}), best_peer(table)
    if not ours:
        return [f"instances that some peer solves: {len(best)}"]
    total = paired_ratio(ours, best, _calls, _calls)
    search = paired_ratio(ours, best, _search_calls, _calls)
    cpu = paired_ratio(ours, best, _cpu, _cpu)
    recipe = paired_ratio(table.get("recipe", {}), ours, _calls, _calls)
    return [
        f"{reference}: certified and confirmed {sum(r.reached and r.claimed for r in ours.values())}/{len(ours)}; "
        f"claimed but refuted {sum(r.claimed and not r.reached for r in ours.values())}",
        f"{reference} total / best peer of each of {len(best)} instances: {total:.3f}; "
        f"search alone: {search:.3f}; cpu: {cpu:.2f}",
        f"recipe / {reference} total: {recipe:.3f}",
    ]


def octopus_rows(table: Table) -> list[str]:
    """Return calls per saddle on the octopus chain of 100 saddles, for every method that gets through."""
    rows = []
    for method, runs in table.items():
        parts = [
            f"{start} {run.calls / 100:.2f} (search {run.search_calls / 100:.2f})"
            for (problem, start), run in runs.items()
            if problem == "octopus_100" and run.reached
        ]
        if parts:
            rows.append(f"{method:<26}{'; '.join(parts)}")
    return rows


def instance_rows(table: Table, reference: str) -> list[str]:
    """Return one line per instance: the best peer and the reference beside it, worst ratio first."""
    ours, best = table.get(reference, {}), best_peer(table)
    lines = []
    for key, run in ours.items():
        peer = best.get(key)
        ratio = run.calls / peer.calls if peer else math.nan
        against = f"{peer.method} {peer.calls}, cpu x{run.cpu / max(peer.cpu, 1e-9):.1f}" if peer else "no peer"
        state = (
            ""
            if run.reached and run.claimed
            else f"  FAILED {run.note} |g|={run.gradient_norm:.1e} min={run.min_eigenvalue:.1e}"
        )
        text = f"{'|'.join(key):<38}{run.calls:>7}{run.search_calls:>8}{ratio:>8.2f}  {against}{state}"
        lines.append((-ratio if peer else math.inf, text))
    header = f"{'instance':<38}{'total':>7}{'search':>8}{'ratio':>8}  best peer"
    return [header, *(text for _, text in sorted(lines, key=lambda item: item[0]))]
