"""``derand threshold``: how many samples the hard directions of a link need, for spectral methods and for networks."""

from __future__ import annotations

import argparse
import math
import time
import warnings
from typing import Any

from derand._utils.words import counted
from derand.commands.console import ExitCode, Progress, add_output_options, save_plot, write_json
from derand.commands.user_function import load_function
from derand.exceptions import DerandError, InputError, PrecisionWarning
from derand.spectral import ACTIVATIONS, LOSSES, DeltaAlg, MultiIndexLink, NNThreshold, as_loss, nn_threshold

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``derand threshold`` to a parser."""
    parser.add_argument(
        "--link", required=True, metavar="EXPR",
        help="response, such as 'z**2' or 'sign(z1*z2)', or a function of your own, FILE.py:NAME",
    )  # fmt: skip
    parser.add_argument(
        "-k", "--k", type=int, metavar="K",
        help="latent coordinates (default: the highest one named, 1 for a function of your own)",
    )  # fmt: skip
    parser.add_argument(
        "--breakpoints", type=float, nargs="+", default=[0.0], metavar="Z",
        help="kinks and jumps of a function of your own (default: 0)",
    )  # fmt: skip
    parser.add_argument("--noise", type=float, default=0.0, metavar="X", help="standard deviation of additive noise")
    parser.add_argument("--activation", choices=tuple(ACTIVATIONS), help="activation of a network; none by default")
    parser.add_argument("--loss", choices=tuple(LOSSES), default="pseudo-huber", help="loss (default: %(default)s)")
    parser.add_argument(
        "--scale", type=float, default=1.0, metavar="X", help="scale of the loss (default: %(default)s)"
    )
    parser.add_argument("--init", choices=("random", "zero_output"), default="random", help="start of the network")
    parser.add_argument("--m", type=_width, default=1, metavar="M", help="neurons, or inf (default: %(default)s)")
    parser.add_argument("--eta", type=float, default=0.2, metavar="X", help="step size (default: %(default)s)")
    parser.add_argument("--t", type=int, nargs="+", default=[0], metavar="T", help="numbers of steps (default: 0)")
    parser.add_argument("--samples", type=int, default=1 << 16, metavar="N", help="samples of the dynamics, 2^q")
    parser.add_argument("--replicas", type=int, default=4, metavar="R", help="replicas for the error bar")
    parser.add_argument("--rtol", type=float, metavar="X", help="add replicas until the relative error is this small")
    parser.add_argument(
        "--max-samples", type=int, default=1 << 24, metavar="N", help="samples over all replicas, at most"
    )
    add_output_options(parser, seed=True, time_limit=True, plot=True)


def run(args: argparse.Namespace) -> int:
    """Write the thresholds.

    Parameters
    ----------
    args : Namespace
        Parsed options of `configure`.

    Returns
    -------
    int
        The exit code.  An infinite threshold is null, with the reason beside it; after an interruption or the time
        limit the document holds what is done; it is 3, too, where --rtol wasn't reached.

    Raises
    ------
    InputError
        If the setting is invalid.
    KeyboardInterrupt
        If interrupted before the directions were split.
    """
    if args.plot and args.activation is None:
        raise InputError("--plot draws delta_NN: give --activation")
    if any(t < 0 for t in args.t):
        raise InputError(f"--t must be at least 0, got {min(args.t)}")
    progress, end = Progress("threshold", quiet=args.quiet), time.monotonic()
    end += math.inf if args.time_limit is None else args.time_limit
    link = _link(args)
    progress.say(f"splitting {counted(link.k, 'direction')} of {args.link!r}")
    split = link.easy_hard()
    document: dict[str, Any] = {
        "link": {"expression": args.link, "k": link.k, "noise": args.noise},
        "status": "interrupted",
        "easy_directions": split.easy.T,
        "hard_directions": split.hard.T,
        "split_method": split.method,
    }
    code = ExitCode.INTERRUPTED
    found: list[tuple[int, NNThreshold]] = []
    try:
        delta = link.delta_alg()
        document["delta_alg"] = _delta_alg(delta)
        document["status"], code = "finished", ExitCode.SOLVED
    except KeyboardInterrupt:
        document["delta_alg"] = None
    if args.activation is not None and document["delta_alg"] is not None:
        found, document["status"], code = _network_thresholds(args, link, progress, end)
        names = ("activation", "loss", "scale", "init", "eta")
        document["network"] = {name: getattr(args, name) for name in names}
        document["network"]["m"] = "inf" if math.isinf(args.m) else args.m
        document["delta_nn"] = [{"t": t, **_nn(value)} for t, value in found]
    write_json(document, args.json)
    if args.plot and found:
        _plot(args, found, delta)
    return code


def _link(args: argparse.Namespace) -> MultiIndexLink:
    """Return the link that is written down, or the user's own function."""
    try:
        if ":" not in args.link:
            return MultiIndexLink.from_expression(args.link, args.k, args.noise)
        function = load_function(args.link, "--link")
        return MultiIndexLink(function, args.k or 1, args.noise, breakpoints=args.breakpoints)
    except DerandError as error:
        text = str(error)
        if text.startswith("h must "):  # the name of the parameter in Python
            error.args = (f"--link {args.link!r} {text.removeprefix('h ')}",)
        raise


def _width(text: str) -> float:
    """Return a number of neurons, for argparse."""
    return math.inf if text.lower() in {"inf", "infinity"} else int(text)


def _network_thresholds(
    args: argparse.Namespace, link: MultiIndexLink, progress: Progress, end: float
) -> tuple[list[tuple[int, NNThreshold]], str, ExitCode]:
    """Return delta_NN at the times that were reached, the status, and the exit code."""
    found: list[tuple[int, NNThreshold]] = []
    try:
        for t in args.t:
            if found and time.monotonic() >= end:
                return found, "time_limit", ExitCode.STOPPED_EARLY
            progress.say(f"delta_NN at t = {t}")
            found.append((t, _threshold(args, link, t, progress)))
            progress.say(f"delta_NN = {found[-1][1].value:.6g} +- {found[-1][1].error:.2g}")
    except KeyboardInterrupt as interrupt:
        if hasattr(interrupt, "partial"):
            found.append((t, interrupt.partial))
        return found, "interrupted", ExitCode.INTERRUPTED
    is_precise = args.rtol is None or all(value.error <= args.rtol * value.value for _, value in found)
    return (found, "finished", ExitCode.SOLVED) if is_precise else (found, "imprecise", ExitCode.STOPPED_EARLY)


def _threshold(args: argparse.Namespace, link: MultiIndexLink, t: int, progress: Progress) -> NNThreshold:
    """Return delta_NN at one time."""

    def tell(found: NNThreshold) -> None:
        """Show how far the replicas are."""
        progress.update(f"{len(found.replicas)} replicas, {found.value:.6g} +- {found.error:.2g}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)  # the exit code says it
        return nn_threshold(
            args.activation,
            as_loss(args.loss, args.scale),
            link,
            args.init,
            args.m,
            eta=args.eta,
            t=t,
            n_samples=args.samples,
            n_replicas=args.replicas,
            rtol=args.rtol,
            max_samples=args.max_samples,
            callback=tell,
            rng=args.seed,
        )


def _delta_alg(found: DeltaAlg) -> dict[str, Any]:
    """Return the best spectral method's threshold for JSON."""
    reason = "" if math.isfinite(found.value) else "no conditional second moment depends on the response"
    if found.value == 0.0:
        reason = "no direction is hard: any positive multiple of the dimension is enough"
    return {"value": found.value, "error": found.error, "method": found.method, "reason": reason}


def _nn(found: NNThreshold) -> dict[str, Any]:
    """Return a network's threshold for JSON."""
    return {"value": found.value, "error": found.error, "method": found.method, "reason": found.reason}


def _plot(args: argparse.Namespace, found: list[tuple[int, NNThreshold]], delta: DeltaAlg) -> None:
    """Write the picture."""
    from derand.plotting.spectral import ThresholdDisplay

    level = delta.value if math.isfinite(delta.value) else None
    rows = {args.activation: [value for _, value in found]}
    save_plot(ThresholdDisplay.from_thresholds([t for t, _ in found], rows, level), args.plot)
