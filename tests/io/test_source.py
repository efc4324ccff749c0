from __future__ import annotations

import gzip
import io
import time
import tracemalloc
import zlib
from pathlib import Path

import pytest

from derand.exceptions import GraphFormatError, InputTypeError
from derand.io.source import gunzip, read_source

TEXT = b"2 1\n1 2 5\n"


def test_paths_streams_and_text_give_the_same(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.rud", tmp_path / "a.rud.gz"
    plain.write_bytes(TEXT)
    packed.write_bytes(gzip.compress(TEXT))
    assert read_source(plain) == (TEXT, "a.rud")
    assert read_source(str(packed)) == (TEXT, "a.rud.gz")
    assert read_source(io.BytesIO(gzip.compress(TEXT))) == (TEXT, "")
    assert read_source(io.StringIO(TEXT.decode())) == (TEXT, "")
    with plain.open("rb") as file:
        assert read_source(file) == (TEXT, "a.rud")


def test_line_ends_and_byte_order_mark() -> None:
    assert read_source(io.BytesIO(b"\xef\xbb\xbf2 1\r\n1 2 5\r\n"))[0] == TEXT
    # A carriage return alone is no line end; it stays, and the parsers refuse it.
    assert read_source(io.BytesIO(b"2 1\r1 2 5\n"))[0] == b"2 1\r1 2 5\n"


def test_members_are_joined_and_padding_ignored() -> None:
    parts = [b"2 1\n", b"", b"1 2 5\n"]
    assert gunzip(b"".join(map(gzip.compress, parts)) + b"\0" * 100) == TEXT


def test_many_tiny_members_take_linear_time() -> None:
    member = gzip.compress(b"", compresslevel=1, mtime=0)
    start = time.process_time()
    assert gunzip(member * 50_000) == b""
    # A copy of the rest at each member would move 25 GB here; linear work takes a few tenths of a second.
    assert time.process_time() - start < 4.0


@pytest.mark.parametrize("cut", [5, 12, 20, -9, -1])
def test_truncated_gzip_is_refused(cut: int) -> None:
    with pytest.raises(GraphFormatError, match="line 1: the gzip data end too early"):
        gunzip(gzip.compress(b"1 2 3 4 5 6 7 8 9")[:cut])


def test_a_damaged_file_takes_no_memory() -> None:
    packed = gzip.compress(b"1 2 3\n" * 500_000)[:-8]
    tracemalloc.start()
    with pytest.raises(GraphFormatError, match="line 500001: the gzip data end too early"):
        gunzip(packed, max_bytes=10**9)
    assert tracemalloc.get_traced_memory()[1] < 300_000
    tracemalloc.stop()


@pytest.mark.parametrize("size", [2**16 - 1, 2**16, 2**16 + 1, 3 * 2**16])
def test_sizes_around_one_piece(size: int) -> None:
    text = b"1" * size
    assert gunzip(gzip.compress(text) + gzip.compress(text)) == text * 2
    assert gunzip(gzip.compress(text), max_bytes=size) == text
    with pytest.raises(GraphFormatError, match="unpack to more than"):
        gunzip(gzip.compress(text), max_bytes=size - 1)


def test_damage_is_refused_with_the_line_reached() -> None:
    body = b"".join(b"%d %d\n" % (i, i * i) for i in range(100_000))
    packed = bytearray(gzip.compress(body))
    packed[-6] ^= 1  # the checksum
    with pytest.raises(GraphFormatError, match="damaged gzip data") as caught:
        gunzip(bytes(packed))
    assert caught.value.line is not None
    assert 90_000 < caught.value.line <= 100_001
    with pytest.raises(GraphFormatError, match="follows the gzip data"):
        gunzip(gzip.compress(TEXT) + b"more")


def test_bombs_are_refused_without_unpacking() -> None:
    engine = zlib.compressobj(9, wbits=31)
    bomb = b"".join(engine.compress(b"1 2 3\n" * 175_000) for _ in range(12)) + engine.flush()
    tracemalloc.start()
    with pytest.raises(GraphFormatError, match="unpack to more than"):
        gunzip(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The text has 12.6 MB; the first pass keeps one piece of it at a time.
    assert peak < 300_000
    with pytest.raises(GraphFormatError, match="more than 9;"):
        gunzip(gzip.compress(TEXT), max_bytes=9)
    assert gunzip(gzip.compress(TEXT), max_bytes=10) == TEXT


def test_max_bytes_limits_plain_input() -> None:
    assert read_source(io.BytesIO(TEXT), max_bytes=10)[0] == TEXT
    with pytest.raises(GraphFormatError, match="longer than max_bytes = 9"):
        read_source(io.BytesIO(TEXT), max_bytes=9)


def test_wrong_sources() -> None:
    with pytest.raises(InputTypeError, match=r"wrap bytes in io\.BytesIO"):
        read_source(TEXT)

    class Odd:
        def read(self, size: int) -> list[int]:
            return [size]

    with pytest.raises(InputTypeError, match="must give bytes or str"):
        read_source(Odd())
    with pytest.raises(GraphFormatError, match="not valid utf-8"):
        read_source(io.StringIO("\ud800"))
    with pytest.raises(GraphFormatError, match="not valid ascii"):
        read_source(io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="ascii"))
    with pytest.raises(FileNotFoundError):
        read_source("no such file")


def test_line_ends_of_an_old_mac_are_line_ends() -> None:
    assert read_source(io.BytesIO(b"a,b\rc,d\r"))[0] == b"a,b\nc,d\n"
    assert read_source(io.BytesIO(b"a,b\nc\rd\n"))[0] == b"a,b\nc\rd\n"
