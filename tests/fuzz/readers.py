"""A deterministic mutation fuzzer for the graph readers.

``python -m tests.fuzz.readers --count 200000`` runs the full campaign and prints one line for each reader.  Case
``i`` of a reader depends on ``i`` alone, so a failure is repeated by ``--first i --count 1``.

For every mutated input the reader must return an edge list or raise GraphFormatError with a line number, within 64
bytes of memory for each byte of input plus one megabyte.  What the vectorised readers accept must equal what the
exact ones read.
"""

from __future__ import annotations

import argparse
import gzip
import io
import random
import re
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

import numpy as np

from derand.exceptions import GraphFormatError
from derand.io import EdgeList, read_graph
from derand.io.source import gunzip

BYTES_PER_BYTE = 64
FREE_BYTES = 1 << 20

RUDY = (
    b"5 6\n1 2 3\n2 3 -1\n3 4 10\n4 5 7\n1 5 2\n2 2 4\n",
    b"4 3\n1 2\n3 4\n2 3\n",
    b"# comment\n\n3 3\n1 2 0.5\n2 3 -1e-3\n1 3 .25\n",
    b"3 2\r\n1 2 123456789012345678901234567890\r\n2 3 -1\r\n",
    b"20 30\n" + b"".join(b"%d %d %d\n" % (i % 20 + 1, i * 7 % 20 + 1, i - 15) for i in range(30)),
)
MATRIX_MARKET = (
    b"%%MatrixMarket matrix coordinate integer symmetric\n% note\n4 4 4\n2 1 5\n3 2 -1\n4 4 2\n4 1 7\n",
    b"%%MatrixMarket matrix coordinate real general\n3 3 4\n1 2 0.5\n2 1 0.5\n3 1 1e3\n1 3 1e3\n",
    b"%%MatrixMarket MATRIX Coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n",
)
DIMACS = (
    b"c colouring\np edge 4 4\ne 1 2\ne 2 3\ne 3 4\ne 4 1\n",
    b"p col 3 2\ne 1 2 5\nc in between\ne 2 3 -0.5\n",
    b"c roads\np sp 3 4\na 1 2 10\na 2 1 10\na 2 3 4\na 3 2 4\n",
)
METIS = (
    b"% comment\n4 4\n2 4\n1 3\n2 4\n1 3\n",
    b"3 2 1\n2 5\n1 5 3 -1\n2 -1\n",
    b"3 2 111 2\n9 1 1 2 5\n9 1 1 1 5 3 7\n9 1 1 2 7\n",
    b"4 1\n\n3\n2\n\n",
)
CSV = (
    b"source,target,weight\nParis,Lyon,392\nLyon,Nice,299.5\n",
    b'# cities\na;b\nb;"c;d"\n"c;d";a\n',
    "é,日本,1\n日本,\U0001f600,-2\n".encode(),
    b"1 2 3\n2 3 4\n3 1 5\n",
    b"id1,id2\n1,2\n2,3\n-3,1\n",
)
TSV = (b"u\tv\tw\na b\tc\t1\nc\td\t2\n", b"1\t2\n2\t3\n3\t1\n")
GRAPHML = (b'<?xml version="1.0"?>\n<graphml><graph edgedefault="undirected"/></graphml>\n',)

SEEDS: dict[str, tuple[bytes, ...]] = {
    "rudy": RUDY,
    "qubo": (*RUDY, b"3 4\n1 1 -5\n2 2 3\n1 2 4\n1 3 1\n"),
    "dimacs": DIMACS,
    "metis": METIS,
    "matrix_market": MATRIX_MARKET,
    "csv": CSV,
    "tsv": TSV,
    "auto": RUDY + MATRIX_MARKET + DIMACS + METIS + CSV + TSV + GRAPHML,
    "gzip": RUDY + METIS,
}

NUMBERS = (
    b"0", b"-1", b"1000000000000", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"1e999",
    b"-1e400", b"nan", b"-inf", b"Infinity", b"1_0", b"0x10", b"+5", b"--5", b"1.5", b".", b"1e", b"1e5", b"1.e-5",
    b"-0", b"-0.0", b"007", "\u0663".encode(), "\uff11".encode(), "\u00b2".encode(), b"None", b"1,5", b"4.9e-324",
    b"1e-999", b"",
)  # fmt: skip
PIECES = (
    b"\0", b"\r", b"\r\n", b"\n\n", b"\n", b"\x0b", b"\x0c", b"\x1c", b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3", b"\xa0",
    b'"', b"'", b",", b";", b"\t", b"|", b" ", b"%", b"#", b"c\n", b"p edge 3 3\n", b"e 1 2\n", b"1 2 3\n",
    b"%%MatrixMarket", b"<graphml", b"\x1f\x8b", "\u2028".encode(), "\x85".encode(), b"\\", b"-", b"+", b".", b"e",
)  # fmt: skip


def mutate(data: bytes, rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """Return the seed after one to four random edits."""
    edits: tuple[Callable[[bytes, random.Random, tuple[bytes, ...]], bytes], ...] = (
        _flip, _truncate, _splice, _inflate, _inflate, _redigit, _insert, _delete, _repeat_line, _swap_lines,
    )  # fmt: skip
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(edits)(data, rng, seeds)
    chance = rng.random()
    if chance < 0.0002:  # large enough for the bound on memory to bite
        data += data[data.find(b"\n") + 1 :] * rng.randint(100, 20_000)
    elif chance < 0.001:
        data = data.replace(b"\n", b"\n" * rng.randint(2, 3000), 3)
    return data


def _flip(data: bytes, rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3) if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _truncate(data: bytes, rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    return data[: rng.randint(0, len(data))]


def _splice(data: bytes, rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    other = rng.choice(seeds)
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


def _inflate(data: bytes, rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    places = [match.span() for match in re.finditer(rb"[0-9]+", data)]
    if not places:
        return data
    start, end = rng.choice(places)
    number = rng.choice(NUMBERS) if rng.random() < 0.97 else b"9" * rng.choice((300, 320, 5000, 10000))
    return data[:start] + number + data[end:]


def _redigit(data: bytes, rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """Change one digit into another: the mildest edit, after which a file is often still good."""
    places = [match.start() for match in re.finditer(rb"[0-9]", data)]
    if not places:
        return data
    place = rng.choice(places)
    return data[:place] + b"%d" % rng.randrange(10) + data[place + 1 :]


def _insert(data: bytes, rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    place = rng.randint(0, len(data))
    return data[:place] + rng.choice(PIECES) + data[place:]


def _delete(data: bytes, rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    start = rng.randint(0, len(data))
    return data[:start] + data[start + rng.randint(1, 8) :]


def _repeat_line(data: bytes, rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    lines = data.split(b"\n")
    k = rng.randrange(len(lines))
    lines[k:k] = [lines[k]] * (rng.randint(1, 3) if rng.random() < 0.99 else rng.randint(100, 5000))
    return b"\n".join(lines)


def _swap_lines(data: bytes, rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def make_case(reader: str, index: int) -> bytes:
    """Return the mutated input number ``index`` of a reader."""
    rng = random.Random(index)
    seeds = SEEDS[reader]
    data = mutate(rng.choice(seeds), rng, seeds)
    if reader != "gzip":
        return data
    packed = gzip.compress(data, compresslevel=1, mtime=0)
    return packed if rng.random() < 0.3 else mutate(packed, rng, (packed,))


def _decline(*args: object, **kwargs: object) -> None:
    """Answer as a vectorised reader does that leaves the decision to the exact one."""


@contextmanager
def exact_readers() -> Iterator[None]:
    """Switch the vectorised readers off."""
    with mock.patch("derand.io.rows.parse_table", _decline), mock.patch("derand.io.metis._fast_arcs", _decline):
        yield


def same_edges(a: EdgeList, b: EdgeList) -> bool:
    """Return whether two edge lists agree in every bit that counts."""
    return (
        (a.n, a.labels, a.directed, a.weights.dtype) == (b.n, b.labels, b.directed, b.weights.dtype)
        and np.array_equal(a.heads, b.heads)
        and np.array_equal(a.tails, b.tails)
        and (
            a.weights.tobytes() == b.weights.tobytes()
            if a.weights.dtype != object
            else list(a.weights) == list(b.weights)
        )
    )


@dataclass
class Tally:
    """What happened in a campaign."""

    accepted: int = 0
    refused: int = 0
    worst_ratio: float = 0.0
    worst_seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def _readable_size(data: bytes) -> int:
    """Return the number of bytes that a reader has to look at: those of the content when that is compressed."""
    try:
        return max(len(data), len(gunzip(data))) if data.startswith(b"\x1f\x8b") else len(data)
    except GraphFormatError:
        return len(data)


def run_case(reader: str, index: int, tally: Tally, *, trace: bool = True) -> None:
    """Read one mutated input and record what is wrong with the outcome, if anything."""
    data = make_case(reader, index)
    name = None if reader in {"auto", "gzip"} else reader
    stream = io.BytesIO(data)
    base = tracemalloc.get_traced_memory()[0]
    if trace:
        tracemalloc.reset_peak()
    start = time.perf_counter()
    edges, faults = _read(stream, name)
    tally.worst_seconds = max(tally.worst_seconds, time.perf_counter() - start)
    if trace:
        excess = tracemalloc.get_traced_memory()[1] - base - FREE_BYTES
        if excess > 0:
            ratio = excess / _readable_size(data)
            tally.worst_ratio = max(tally.worst_ratio, ratio)
            faults += [f"{ratio:.0f} bytes of memory for each byte of input"] * (ratio > BYTES_PER_BYTE)
    if edges is None:
        tally.refused += 1
    else:
        tally.accepted += 1
        with exact_readers():
            again, new_faults = _read(io.BytesIO(data), name)
        faults += new_faults
        if again is None or not same_edges(edges, again):
            faults.append("the vectorised and the exact reader differ")
    tally.failures += [f"{reader} {index}: {fault}" for fault in faults]


def _read(stream: io.BytesIO, name: str | None) -> tuple[EdgeList | None, list[str]]:
    """Return the edges, or None after a refusal, and what is wrong with the reader's behaviour."""
    faults = []
    try:
        return read_graph(stream, format=name), []
    except GraphFormatError as error:
        if error.line is None or not 1 <= error.line <= 10_000_000:
            faults.append(f"no line number in {error}")
        if len(str(error)) > 500:
            faults.append(f"a message of {len(str(error))} characters")
    except Exception as error:
        faults.append(f"{type(error).__name__}: {error}")
    return None, faults


def run_campaign(reader: str, first: int, count: int, *, trace: bool = True) -> Tally:
    """Return the tally of ``count`` cases of one reader."""
    tally = Tally()
    was_tracing = tracemalloc.is_tracing()
    if trace and not was_tracing:
        tracemalloc.start()
    try:
        for index in range(first, first + count):
            run_case(reader, index, tally, trace=trace)
    finally:
        if trace and not was_tracing:
            tracemalloc.stop()
    return tally


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign that the command line asks for."""
    parser = argparse.ArgumentParser(description="mutation fuzzing of the graph readers")
    parser.add_argument("--count", type=int, default=200_000, help="mutated inputs for each reader")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--reader", choices=sorted(SEEDS), action="append", help="only this reader (repeatable)")
    options = parser.parse_args(arguments)
    n_failures = 0
    for reader in options.reader or SEEDS:
        start = time.perf_counter()
        tally = run_campaign(reader, options.first, options.count)
        n_failures += len(tally.failures)
        print(
            f"{reader:14s} {options.count} inputs: {tally.accepted} read, {tally.refused} refused, "
            f"{len(tally.failures)} failures; memory above 1 MB: {tally.worst_ratio:.1f} bytes/byte; "
            f"slowest {1000 * tally.worst_seconds:.0f} ms; {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        for failure in tally.failures[:20]:
            print("   ", failure, file=sys.stderr)
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
