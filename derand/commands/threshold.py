"""``derand threshold``: how many samples the hard directions of a link need, for spectral methods and for networks."""

from __future__ import annotations

import argparse
import math
from typing import Any

from derand.commands.console import ExitCode, Progress, write_json
from derand.exceptions import InputError
from derand.spectral import ACTIVATIONS, LOSSES, DeltaAlg, MultiIndexLink, NNThreshold, as_loss, nn_threshold

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``derand threshold`` to a parser."""
    parser.add_argument("--link", required=True, metavar="EXPR", help="response, such as 'z**2' or 'sign(z1*z2)'")
    parser.add_argument("--k", type=int, metavar="K", help="latent coordinates (default: the highest one named)")
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
    parser.add_argument("--seed", type=int, default=0, help="seed (default: %(default)s)")
    parser.add_argument("--plot", metavar="FILE", help="draw delta_NN against t as PNG or PDF")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the JSON there instead of to stdout")


def run(args: argparse.Namespace) -> int:
    """Write the thresholds.

    Parameters
    ----------
    args : Namespace
        Parsed options of `configure`.

    Returns
    -------
    int
        The exit code.  An infinite threshold is null, with the reason beside it; an interruption between two times
        keeps those that are done.

    Raises
    ------
    InputError
        If the setting is invalid.
    KeyboardInterrupt
        If interrupted before anything was done.
    """
    progress = Progress("threshold", quiet=args.quiet)
    link = MultiIndexLink.from_expression(args.link, args.k, args.noise)
    progress.say(f"splitting {link.k} direction(s) of {args.link!r}")
    split, delta = link.easy_hard(), link.delta_alg()
    document: dict[str, Any] = {
        "link": {"expression": args.link, "k": link.k, "noise": args.noise},
        "easy_directions": split.easy.T,
        "hard_directions": split.hard.T,
        "split_method": split.method,
        "delta_alg": _delta_alg(delta),
    }
    code = ExitCode.SOLVED
    if args.activation is not None:
        if any(t < 0 for t in args.t):
            raise InputError("--t must be at least 0")
        found: list[tuple[int, NNThreshold]] = []
        try:
            for t in args.t:
                progress.say(f"delta_NN at t = {t}")
                found.append((t, _threshold(args, link, t)))
        except KeyboardInterrupt:
            if not found:
                raise
            code = ExitCode.STOPPED_EARLY
        names = ("activation", "loss", "scale", "init", "eta")
        document["network"] = {name: getattr(args, name) for name in names}
        document["network"]["m"] = "inf" if math.isinf(args.m) else args.m
        document["delta_nn"] = [{"t": t, **_nn(value)} for t, value in found]
        if args.plot:
            _plot(args, found, delta)
    elif args.plot:
        raise InputError("--plot draws delta_NN: give --activation")
    write_json(document, args.output)
    return code


def _width(text: str) -> float:
    """Return a number of neurons, for argparse."""
    return math.inf if text.lower() in {"inf", "infinity"} else int(text)


def _threshold(args: argparse.Namespace, link: MultiIndexLink, t: int) -> NNThreshold:
    """Return delta_NN at one time."""
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
        rng=args.seed,
    )


def _delta_alg(found: DeltaAlg) -> dict[str, Any]:
    """Return the best spectral method's threshold for JSON."""
    reason = "" if math.isfinite(found.value) else "no conditional second moment depends on the response"
    return {"value": found.value, "error": found.error, "method": found.method, "reason": reason}


def _nn(found: NNThreshold) -> dict[str, Any]:
    """Return a network's threshold for JSON."""
    return {"value": found.value, "error": found.error, "method": found.method, "reason": found.reason}


def _plot(args: argparse.Namespace, found: list[tuple[int, NNThreshold]], delta: DeltaAlg) -> None:
    """Write the picture."""
    from derand.plotting.spectral import ThresholdDisplay

    level = delta.value if math.isfinite(delta.value) else None
    rows = {args.activation: [value for _, value in found]}
    display = ThresholdDisplay.from_thresholds([t for t, _ in found], rows, level).plot()
    display.figure_.savefig(args.plot, dpi=150)
