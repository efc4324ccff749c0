"""``derand embed``: a near-isometric linear map of the points in a file, with its exact distortion."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.io

from derand._utils.validation import check_int
from derand._utils.words import counted
from derand.commands.console import ExitCode, Progress, add_output_options, naming, save_plot, write_json
from derand.commands.table_input import read_table, suspected_index
from derand.embedding import EmbeddingResult, LinearLowerBound, learn_embedding, linear_lower_bound
from derand.embedding.learn import METHODS
from derand.exceptions import InputError

__all__ = ["configure", "read_points", "run"]

_STOPPED, _ENDED = ("time_limit", "callback"), ("finished", "target", "max_iter")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``derand embed`` to a parser."""
    parser.add_argument(
        "points",
        metavar="FILE",
        help="points, one a row: .npy, .csv or .tsv (with a line of names or not; .gz too), .mtx",
    )
    parser.add_argument(
        "--eps", type=float, default=0.1, metavar="X", help="distortion to stay below (default: %(default)s)"
    )
    parser.add_argument("-k", "--n-components", type=int, metavar="K", help="this many dimensions, whatever --eps")
    parser.add_argument("--method", choices=METHODS, default=METHODS[0], help="how to learn (default: %(default)s)")
    parser.add_argument("--no-bound", action="store_true", help="don't prove a lower bound for all linear maps")
    output = ("MAP.npz", "write the map there, as components of shape (k, d)")
    add_output_options(parser, seed=True, time_limit=True, plot=True, output=output)


def run(args: argparse.Namespace) -> int:
    """Learn the map, write it and the figures.

    Parameters
    ----------
    args : Namespace
        Parsed options of `configure`.

    Returns
    -------
    int
        The exit code: 3 where a limit ended the search, or the distortion asked for wasn't reached.

    Raises
    ------
    InputError
        If the file holds no points, or an option is out of range.
    """
    if args.output is not None and not args.output.lower().endswith(".npz"):
        raise InputError(f"--output must name a file that ends in .npz, got {args.output}")
    progress, started = Progress("embed", quiet=args.quiet), time.perf_counter()
    X = read_points(args.points)
    progress.say(f"{counted(X.shape[0], 'point')} in {counted(X.shape[1], 'dimension')}")
    if args.n_components is not None:
        check_int(args.n_components, "--n-components", low=1, high=X.shape[1])
    with naming(args.points):
        result = learn_embedding(
            X,
            "auto" if args.n_components is None else args.n_components,
            eps=args.eps,
            method=args.method,
            time_limit=args.time_limit,
            callback=lambda state: progress.update(
                f"scan {state.distortion:.4g}, {counted(state.n_iter, 'iteration')}"
            ),
            rng=args.seed,
        )
    k = result.components.shape[0]
    wants_bound, bound, status = not args.no_bound and result.status in _ENDED, None, result.status
    if wants_bound:
        progress.update("lower bound for all linear maps")
        try:
            bound = linear_lower_bound(X, k, M=result.components)
        except KeyboardInterrupt:
            status = "interrupted"
    progress.say(f"{_summary(result, bound)}; {time.perf_counter() - started:.2f} s")
    if args.output:
        np.savez(args.output, **_arrays(result, bound))
    write_json({**_document(args, result, bound), "status": status}, args.json)
    if args.plot:
        from derand.plotting.distortion import DistortionDisplay

        lower = float("nan") if bound is None else bound.value
        save_plot(DistortionDisplay.from_map(X, result.components, lower_bound=lower, rng=args.seed), args.plot)
    if status == "interrupted":
        return ExitCode.INTERRUPTED
    missed = args.n_components is None and result.report.distortion > args.eps
    return ExitCode.STOPPED_EARLY if result.status in _STOPPED or missed else ExitCode.SOLVED


def read_points(path: str) -> Any:
    """Return the points of a file.

    Parameters
    ----------
    path : str
        A file that ends in .npy (an array), .csv, .tsv or .txt, gzipped or not (as `read_table` reads it), or .mtx (a
        Matrix Market array or coordinate matrix).

    Returns
    -------
    ndarray or coo_array, shape (n, d)
        Points, one a row; not checked further.

    Raises
    ------
    InputError
        If the file is missing, has another ending or can't be read as such.
    """
    file = Path(path)
    reader = _READERS.get(Path(file.name.lower().removesuffix(".gz")).suffix)
    if reader is None:
        raise InputError(f"{path}: the name of a file of points must end in {', '.join(_READERS)}")
    try:
        points = reader(file)
    except InputError:
        raise  # it names the file
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except (ValueError, TypeError, EOFError) as error:
        raise InputError(f"{path}: {error}") from error
    if points.ndim != 2:
        raise InputError(f"{path}: one point a row makes a matrix, and this is an array of shape {points.shape}")
    return points


def _read_npy(path: Path) -> Any:
    """Return the array of a .npy file, left on disk; objects, which could run code, are refused."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if "Python objects" in str(error):
            raise InputError(f"{path}: the array holds Python objects: save it with a type of numbers") from error
        raise


def _read_csv(path: Path) -> Any:
    """Return the numbers of a table of text."""
    table = read_table(str(path))
    note = suspected_index(table)
    if note:
        sys.stderr.write(f"derand: {path}: {note}\n")
    return table.values


def _read_mtx(path: Path) -> Any:
    """Return the matrix of a Matrix Market file."""
    return scipy.io.mmread(path, spmatrix=False)


_READERS: Mapping[str, Callable[[Path], Any]] = MappingProxyType(
    {".npy": _read_npy, ".csv": _read_csv, ".tsv": _read_csv, ".txt": _read_csv, ".mtx": _read_mtx}
)


def _summary(result: EmbeddingResult, bound: LinearLowerBound | None) -> str:
    """Return dimensions, distortion and bound in half a sentence."""
    reached = f"{counted(result.components.shape[0], 'dimension')}, distortion {result.report.distortion:.4g}"
    return reached if bound is None else f"{reached}, no linear map below {bound.value:.4g}"


def _arrays(result: EmbeddingResult, bound: LinearLowerBound | None) -> dict[str, Any]:
    """Return what the file of the map holds."""
    return {
        "components": result.components,
        "distortion": result.report.distortion,
        "worst_pair": np.array(result.report.worst_pair or (-1, -1)),
        "lower_bound": np.nan if bound is None else bound.value,
    }


def _document(args: argparse.Namespace, result: EmbeddingResult, bound: LinearLowerBound | None) -> dict[str, Any]:
    """Return what is written: the same bits for the same options, so no times."""
    report, path = result.report, result.certificate
    return {
        "points": Path(args.points).name,
        "method": args.method,
        "seed": args.seed,
        "eps": args.eps,
        "n_components": result.components.shape[0],
        "rank": result.rank,
        "distortion": report.distortion,
        "error_bound": report.error_bound,
        "mean_distortion": report.mean_distortion,
        "ratio_range": report.ratio_range,
        "worst_pair": report.worst_pair,
        "n_pairs": report.n_pairs,
        "n_zero_pairs": report.n_zero_pairs,
        "lower_bound": None if bound is None else bound.value,
        "any_map_lower_bound": None if bound is None else bound.any_map,
        "status": result.status,
        "path": path
        and {
            "kind": path.kind,
            "start_bound": path.start_bound,
            "end_bound": path.end_bound,
            "sigma": path.sigma,
            "never_rose": path.never_rose,
        },
    }
