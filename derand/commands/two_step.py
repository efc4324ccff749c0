"""``derand two-step``: what two gradient steps learn, predicted and measured, for one network or over a grid."""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.polynomial import hermite_e

from derand._utils.validation import FloatArray, check_int, check_scalar
from derand._utils.words import counted
from derand.commands.console import ExitCode, Progress, add_output_options, save_plot, write_json
from derand.commands.user_function import load_function
from derand.exceptions import DerandError, InputError
from derand.spectral.expressions import parse_expression
from derand.two_step import (
    AssumptionWarning,
    PhaseDiagram,
    Problem,
    TwoStepResult,
    alignment,
    as_activation,
    count_outliers,
    extract_directions,
    information_exponent,
    phase_diagram,
    power_exponent,
    predict_outliers,
    predicted_count,
    random_problem,
    reuse_exponent,
    sampling_chance,
    spike_exponents,
    step_sizes,
    theory_alignment,
    two_step_update,
)
from derand.two_step.directions import default_orders

__all__ = ["LINKS", "configure", "run"]


def _hermite(degree: int) -> Callable[[Any], Any]:
    """Return the orthonormal Hermite polynomial of a degree."""
    series = [0.0] * degree + [1.0 / math.sqrt(math.factorial(degree))]
    return lambda z: hermite_e.hermeval(z, series)


def _bounded3(z: Any) -> Any:
    """Return a bounded function of unit variance without a linear part: E[z sin(a z)] = a exp(-a^2/2)."""
    factor = 0.5 * math.exp(1.5)
    variance = 0.5 * (1.0 - math.exp(-2.0)) + 0.5 * factor**2 * (1.0 - math.exp(-8.0))
    variance -= factor * (math.exp(-0.5) - math.exp(-4.5))
    return (np.sin(z) - factor * np.sin(2.0 * z)) / math.sqrt(variance)


LINKS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "he1": _hermite(1),
        "he2": _hermite(2),
        "he3": _hermite(3),
        "he4": _hermite(4),
        "he2+he3": lambda z: (_hermite(2)(z) + _hermite(3)(z)) / math.sqrt(2.0),
        "tanh": np.tanh,
        "sin": np.sin,
        "bounded3": _bounded3,
    }
)

_CODES: Mapping[str, ExitCode] = MappingProxyType(
    {
        "finished": ExitCode.SOLVED,
        "time_limit": ExitCode.STOPPED_EARLY,
        "interrupted": ExitCode.INTERRUPTED,
    }
)


@dataclass(frozen=True)
class _Call:
    """What one call of the command works on: options, problem, and how long it may take."""

    args: argparse.Namespace
    links: list[Callable[[Any], Any]]
    problem: Problem
    activation: Any
    progress: Progress
    end: float

    def is_late(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() >= self.end


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``derand two-step`` to a parser."""
    parser.add_argument(
        "--alpha1", default="0.45", metavar="A", help="exponent of the first step in [0, 1/2) (default: %(default)s)"
    )
    parser.add_argument(
        "--alpha2", default="0.3", metavar="A", help="exponent of the second (default: %(default)s); see --diagram"
    )
    parser.add_argument(
        "--kappa", type=float, nargs=2, default=(0.5, 0.5), metavar="K", help="factors of the steps (default: 0.5 0.5)"
    )
    parser.add_argument(
        "--link",
        nargs="+",
        default=["tanh", "bounded3"],
        metavar="LINK",
        help=f"links of the target's directions: {', '.join(LINKS)}, "
        "a function of z, such as 'z**3 - 3*z', or one of your own, FILE.py:NAME",
    )
    parser.add_argument("--noise", type=float, default=0.0, metavar="S", help="standard deviation of the label noise")
    parser.add_argument(
        "--activation",
        default="0,1,0.5,0.1666666666666667",
        metavar="NAME|C0,C1,...",
        help="relu, tanh, erf, gelu, or coefficients in Hermite polynomials (default: %(default)s)",
    )
    parser.add_argument("--batch", choices=("reuse", "fresh"), default="reuse", help="samples of the second step")
    parser.add_argument("--neurons", type=int, default=400, metavar="N", help="width (default: %(default)s)")
    parser.add_argument("--inputs", type=int, metavar="D", help="input dimension (default: as many as neurons)")
    parser.add_argument("--samples", type=int, metavar="M", help="samples a step (default: as many as inputs)")
    parser.add_argument(
        "--diagram",
        type=int,
        metavar="K",
        help="count outliers over a grid of K x K exponents from 0 to 1/2, whatever --alpha1 and --alpha2 are",
    )
    parser.add_argument("--checkpoint", metavar="FILE.npz", help="keep finished rows of the diagram there, to resume")
    add_output_options(parser, seed=True, time_limit=True, plot=True)


def run(args: argparse.Namespace) -> int:
    """Simulate, predict, and write both.

    Parameters
    ----------
    args : Namespace
        Parsed options of `configure`.

    Returns
    -------
    int
        The exit code: 3 when the time limit came before the last part, 130 when Ctrl-C did.

    Raises
    ------
    InputError
        If an option is out of range.
    KeyboardInterrupt
        If Ctrl-C comes before anything is finished.
    """
    if args.checkpoint is not None and args.diagram is None:
        raise InputError("--checkpoint keeps rows of a diagram: give --diagram as well")
    progress = Progress("two-step", quiet=args.quiet)
    activation = _activation(args.activation)
    n_inputs, n_samples = _check_numbers(args)
    end = time.monotonic() + (math.inf if args.time_limit is None else args.time_limit)
    links = _links(args.link)
    problem = random_problem(args.neurons, n_inputs, n_samples, links, noise=args.noise, rng=args.seed)
    call = _Call(args, links, problem, activation, progress, end)
    document: dict[str, Any] = {"setting": _setting(args, n_inputs, n_samples), "status": "finished"}
    n_before = len(document)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", AssumptionWarning)
        one = _diagram if args.diagram is not None else _single
        try:
            one(call, document)
        except KeyboardInterrupt:
            if len(document) == n_before:
                raise
            document["status"] = "interrupted"
    document["warnings"] = sorted({str(entry.message) for entry in caught})
    for message in document["warnings"]:
        progress.say(message)
    write_json(document, args.json)
    return _CODES[document["status"]]


def _links(texts: Sequence[str]) -> list[Callable[[Any], Any]]:
    """Return the functions that the option names, or writes down as functions of one variable."""
    links: list[Callable[[Any], Any]] = []
    for text in texts:
        if ":" in text:
            links.append(load_function(text, "--link"))
            continue
        try:
            links.append(LINKS[text] if text in LINKS else parse_expression(text, 1))
        except DerandError as error:
            raise InputError(f"--link {text!r} is none of {', '.join(LINKS)}, nor a function of z: {error}") from error
    return links


def _check_numbers(args: argparse.Namespace) -> tuple[int, int]:
    """Return the numbers of inputs and of samples of both steps, after checking all numbers among the options."""
    check_scalar(args.noise, "--noise", low=0.0, high=math.inf, high_open=True)
    for kappa in args.kappa:
        check_scalar(kappa, "--kappa, each factor,", low=0.0, low_open=True, high=math.inf, high_open=True)
    n_inputs = args.neurons if args.inputs is None else args.inputs
    n_samples = (n_inputs if args.samples is None else args.samples) * (2 if args.batch == "fresh" else 1)
    for size, name in ((args.neurons, "--neurons"), (n_inputs, "--inputs"), (n_samples, "--samples")):
        check_int(size, name, low=100, high=50_000)
    # Samples, three weights and two gradients; a system that promises more memory than it has ends the process later.
    needed, present = 8.0 * n_inputs * (n_samples + 5 * args.neurons), _memory_size()
    if needed > present:
        raise InputError(
            f"--neurons, --inputs and --samples must be smaller: they need {needed / 1e9:.0f} GB of memory or more, "
            f"and this machine has {present / 1e9:.0f} GB"
        )
    return n_inputs, n_samples


def _memory_size() -> float:
    """Return the bytes of memory that the machine has; infinity where the system doesn't say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _activation(text: str) -> Any:
    """Return the activation that an option names."""
    try:
        given: Any = [float(part) for part in text.split(",")]
    except ValueError:
        return as_activation(text)
    for coefficient in given:
        check_scalar(coefficient, "--activation, each coefficient,", low=-1e6, high=1e6)
    return as_activation(given)


def _setting(args: argparse.Namespace, n_inputs: int, n_samples: int) -> dict[str, Any]:
    """Return the options that the figures depend on."""
    names = ("alpha1", "alpha2", "kappa", "link", "noise", "activation", "batch", "neurons", "seed")
    return {**{name: getattr(args, name) for name in names}, "inputs": n_inputs, "samples": n_samples}


def _single(call: _Call, document: dict[str, Any]) -> None:
    """Add prediction and measurement for one pair of exponents, as much of them as there is time for."""
    args, activation = call.args, call.activation
    X, y, W0, a0, targets = call.problem
    alphas = (args.alpha1, args.alpha2)
    orders = spike_exponents(*alphas, 3)
    etas = step_sizes(X, y, a0.size, activation, alphas=alphas, kappas=tuple(args.kappa), batch=args.batch)
    call.progress.say(f"step sizes {etas[0]:.4g} and {etas[1]:.4g}")
    document |= {
        "asymptotic_count": predicted_count(*alphas, coefficients=activation),
        "spike_exponents": [str(order) for order in orders],
        "step_sizes": etas,
        "links": _exponents(call),
    }
    if call.is_late():
        document["status"] = "time_limit"
        return
    call.progress.update("two steps")
    result = two_step_update(X, y, W0, a0, *etas, activation=activation, batch=args.batch)
    parts: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
        "predicted": ("outliers that the samples predict", lambda: _predicted(args, result)),
        "counted": ("outliers of the weights", lambda: _counted(result)),
        "alignment": ("directions", lambda: _alignments(call, result, targets)),
    }
    for name, (line, part) in parts.items():
        if call.is_late():
            document["status"] = "time_limit"
            return
        call.progress.update(line)
        document[name] = part()


def _predicted(args: argparse.Namespace, result: TwoStepResult) -> dict[str, Any]:
    """Return the predicted outliers, and draw them."""
    prediction = predict_outliers(result)
    if args.plot is not None:
        from derand.plotting.two_step import SingularValueDisplay

        save_plot(SingularValueDisplay.from_result(result, prediction), args.plot)
    return {
        "count": prediction.count,
        "own": prediction.n_own,
        "theta": prediction.theta,
        "singular_values": prediction.location,
        "threshold": prediction.threshold,
    }


def _counted(result: TwoStepResult) -> dict[str, Any]:
    """Return the outliers that the weights have."""
    counted = count_outliers(result.W2)
    return {
        "count": counted.count,
        "localised": counted.n_localised,
        "singular_values": counted.values,
        "threshold": counted.threshold,
    }


def _alignments(call: _Call, result: TwoStepResult, targets: FloatArray) -> dict[str, Any]:
    """Return limits and measurements of the target's projections on the learned directions."""
    args = call.args
    memory = result.activation.max_order is None
    kmax = max(default_orders(result.activation, memory=memory, reuse=args.batch == "reuse", kmax=3))
    theory = theory_alignment(
        call.links,
        result.W0.shape[1] / result.first.y.size,
        args.noise,
        kmax,
        args.batch,
        memory,
        coefficients=result.activation,
    )
    found = {
        method: alignment(
            extract_directions(result.W2 - result.W0, result.a0, kmax + 1, method=method).directions, targets
        )
        for method in ("wls", "svd")
    }
    return {
        "limit": theory.span,
        "wls": found["wls"].span,
        "svd": found["svd"].span,
        "chance": found["wls"].chance,
        "sampling_chance": sampling_chance(result, targets),
    }


def _exponents(call: _Call) -> list[dict[str, Any]]:
    """Return the exponents of every link."""
    reuse = reuse_exponent(call.links, noise=call.args.noise)
    return [
        {
            "name": name,
            "information_exponent": information_exponent(link),
            "power_exponent": power_exponent(link, max_power=4),
            "reuse_exponent": order,
        }
        for name, link, order in zip(call.args.link, call.links, reuse, strict=True)
    ]


def _diagram(call: _Call, document: dict[str, Any]) -> None:
    """Add the counts over a grid of exponents."""
    args, end = call.args, call.end
    count = check_int(args.diagram, "--diagram", low=1, high=100)
    alphas = [i / (2.0 * count) for i in range(count)]
    call.progress.say(f"{counted(count, 'row')} of {counted(count, 'pair')} of exponents")
    try:
        found = phase_diagram(
            alphas,
            alphas,
            *call.problem[:4],
            activation=call.activation,
            kappas=tuple(args.kappa),
            batch=args.batch,
            checkpoint=args.checkpoint,
            time_limit=None if end == math.inf else max(end - time.monotonic(), 1e-9),
            callback=lambda done, total: call.progress.update(f"{done} of {total} rows"),
        )
    except KeyboardInterrupt as interrupt:
        if hasattr(interrupt, "partial"):
            _add_diagram(args, interrupt.partial, alphas, document)
        raise
    _add_diagram(args, found, alphas, document)


def _add_diagram(args: argparse.Namespace, found: PhaseDiagram, alphas: list[float], document: dict[str, Any]) -> None:
    """Add the rows that are finished, and draw them."""
    document |= {
        "status": "finished" if found.is_complete else "time_limit",
        "alphas1": found.alphas1,
        "alphas": alphas,
        "asymptotic": found.asymptotic,
        "predicted": found.predicted,
        "own": found.own,
        "counted": found.counted,
        "agreement": found.agreement,
    }
    if args.plot is not None:
        from derand.plotting.two_step import PhaseDiagramDisplay

        save_plot(PhaseDiagramDisplay.from_diagram(found), args.plot)
