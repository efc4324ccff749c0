from __future__ import annotations

import gzip
import io
import time
import tracemalloc
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from derand.exceptions import GraphFormatError, InputError, InputTypeError
from derand.io import EdgeList, read_graph, write_graph
from tests.io.strategies import bits, edge_lists, multiset

EDGES = EdgeList(4, [0, 1, 2], [1, 2, 3], [1, -2, 10**20], name="tiny")


@pytest.mark.parametrize("name", ["a.rud", "a.mc.gz", "a.bq", "a.col.gz", "a.graph", "a.mtx", "a.csv.gz", "a.tsv"])
def test_files_of_every_format(tmp_path: Path, name: str) -> None:
    write_graph(EDGES, tmp_path / name)
    again = read_graph(tmp_path / name)
    assert multiset(again) == multiset(EDGES)
    assert again.name == "a"
    assert ((tmp_path / name).read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    write_graph(again, tmp_path / "copy")  # without an extension, in the format it came from
    assert bits(read_graph(tmp_path / "copy", format=again.format)) == bits(again)


@given(edge_lists(), st.sampled_from(["rudy", "qubo", "dimacs", "matrix_market"]), st.booleans())
def test_streams_round_trip(edges: EdgeList, name: str, is_text: bool) -> None:
    stream: io.StringIO | io.BytesIO = io.StringIO() if is_text else io.BytesIO()
    write_graph(edges, stream, format=name)
    stream.seek(0)
    assert multiset(read_graph(stream, format=name)) == multiset(edges)


def test_the_same_edges_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.rud.gz", "b.rud.gz"):
        write_graph(EDGES, tmp_path / name)
    assert (tmp_path / "a.rud.gz").read_bytes() == (tmp_path / "b.rud.gz").read_bytes()


def test_the_content_decides_without_an_extension(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_bytes(gzip.compress(b"3 2\n2\n1 3\n2\n"))
    assert read_graph(path).format == "metis"


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_empty_files(data: bytes) -> None:
    with pytest.raises(GraphFormatError, match="line 1: the file is empty"):
        read_graph(io.BytesIO(data))


HUGE = 10**12
CLAIMS = {
    "rudy": b"%d %d\n1 2 1\n",
    "qubo": b"%d %d\n1 2 1\n",
    "dimacs": b"p edge %d %d\ne 1 2\n",
    "metis": b"%d %d\n2\n1\n",
    "matrix_market": b"%%%%MatrixMarket matrix coordinate real general\n%d %d 1\n1 2 1\n",
}


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("counts", [(HUGE, HUGE), (2, HUGE), (HUGE, 1)])
def test_absurd_headers_are_refused_at_once(name: str, counts: tuple[int, int]) -> None:
    text = CLAIMS[name] % counts
    with pytest.raises(GraphFormatError):  # compile the regular expressions first
        read_graph(io.BytesIO(text), format=name)
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises(GraphFormatError):
        read_graph(io.BytesIO(text), format=name)
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 0.05
    assert peak < 100_000


# For each reader, inputs that cost it the most memory for their size.
K = 30_000
GREEDY = {
    "one vertex": ("rudy", b"1 %d\n" % K + b"1 1\n" * K),
    "exact reader": ("rudy", b"1 %d\n\n" % K + b"1 1 .5\n\n" * K),
    "blank lines": ("rudy", b"3 2\n1 2\n" + b"\n" * K + b"2 3\n"),
    "one long line": ("rudy", b"3 2\n" + b"1 " * K),
    "comments": ("dimacs", b"p edge 1 1\n" + b"c\n" * K + b"e 1 1\n"),
    "parallel": ("metis", b"2 %d\n" % K + b"2 " * K + b"\n" + b"1 " * K + b"\n"),
    "isolated": ("metis", b"%d 1\n%d\n" % (K, K) + b"\n" * (K - 2) + b"1\n"),
    "vertex weights": ("metis", b"%d 0 10\n" % K + b"1\n" * K),
    "short fields": ("csv", "Ā,".encode() * K),
    "distinct labels": ("csv", "".join(f"{i:x}_,{i:x}-\n" for i in range(K)).encode()),
    "quotes": ("csv", b'"' * K),
    "pattern": (
        "matrix_market",
        b"%%MatrixMarket matrix coordinate pattern general\n" + b"1 1 %d\n" % K + b"1 1\n" * K,
    ),
}


@pytest.mark.parametrize("case", GREEDY)
def test_memory_is_bounded_by_the_input(case: str) -> None:
    name, text = GREEDY[case]
    stream = io.BytesIO(text)
    tracemalloc.start()
    with suppress(GraphFormatError):
        read_graph(stream, format=name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 64 * len(text) + 2**20


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="format must be one of"):
        read_graph(io.BytesIO(b"x"), format="gexf")
    with pytest.raises(InputError, match="max_bytes must be at least 0"):
        read_graph(io.BytesIO(b"x"), max_bytes=-1)
    with pytest.raises(GraphFormatError, match="max_bytes"):
        read_graph(io.BytesIO(b"2 1\n1 2 3\n"), max_bytes=4)
    with pytest.raises(InputTypeError, match="edges must be an EdgeList"):
        write_graph([(0, 1)], io.BytesIO(), format="rudy")  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="target must be a path"):
        write_graph(EDGES, 3, format="rudy")
    with pytest.raises(InputError, match="format must be given"):
        write_graph(EDGES, io.BytesIO())
    with pytest.raises(InputError, match="networkx"):
        write_graph(EDGES, tmp_path / "a.graphml")
    with pytest.raises(InputError, match="labels"):
        write_graph(replace(EDGES, labels=("a", "b", "c", "d")), tmp_path / "a.rud")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.benchmark
def test_speed_against_loadtxt() -> None:
    rng = np.random.default_rng(0)
    m = 10**6
    rows = np.column_stack([rng.integers(1, 200_001, (m, 2)), rng.integers(-5, 6, m)])
    text = b"200000 1000000\n" + b"".join(b"%d %d %d\n" % tuple(row) for row in rows.tolist())

    def seconds(read: object) -> float:
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            read(io.BytesIO(text))  # type: ignore[operator]
            best = min(best, time.process_time() - start)
        return best

    peer = seconds(lambda file: np.loadtxt(file, skiprows=1, dtype=np.int64))
    assert seconds(lambda file: read_graph(file, format="rudy")) <= 3 * peer
