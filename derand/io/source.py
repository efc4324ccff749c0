"""The bytes of a graph file: read, decompressed within a limit, brought to one kind of line ending."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from derand.exceptions import GraphFormatError, InputTypeError

GZIP_MAGIC = b"\x1f\x8b"
# Graph files compress 3 to 30 times and METIS files of complete graphs about 100 times; deflate itself can reach 1032.
MAX_RATIO = 200
# Below this size a bomb does no harm, and tiny regular files may exceed the ratio.
ALWAYS_ALLOWED = 1 << 20
_CHUNK = 1 << 14
_PIECE = 1 << 16
_BOM = b"\xef\xbb\xbf"


def read_source(source: Any, *, max_bytes: int | None = None) -> tuple[bytes, str]:
    r"""Return the text of a graph file as bytes with ``\n`` line ends, and the file's name.

    Gzip is recognised by its first two bytes, whatever the name.  A byte order mark is dropped.  Line ends
    may be those of Unix, Windows or, where there are no others, of an old Mac.

    Parameters
    ----------
    source : path or file object
        A path, or an object with ``read`` that gives bytes or text.
    max_bytes : int, optional
        Refuse more bytes than this, before and after decompression.  By default uncompressed input is not limited, and
        compressed input may grow 200-fold or to one megabyte, whichever is more.

    Returns
    -------
    data : bytes
        The normalised content.
    name : str
        The last part of the path, or an empty string for a stream without a name.

    Raises
    ------
    GraphFormatError
        If the input is larger than allowed, or compressed and damaged, or text that has no UTF-8 encoding.
    InputTypeError
        If ``source`` is neither a path nor readable.

    Notes
    -----
    Memory: at most three times the larger of the raw and the decompressed size.  Errors of the operating system (no
    such file, no permission) pass through unchanged.
    """
    raw, name = _read_raw(source, max_bytes)
    if max_bytes is not None and len(raw) > max_bytes:
        raise GraphFormatError(f"the input is longer than max_bytes = {max_bytes}", line=1)
    data = gunzip(raw, max_bytes=max_bytes) if raw.startswith(GZIP_MAGIC) else raw
    del raw
    if data.startswith(_BOM):
        data = data[len(_BOM) :]
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        if b"\n" not in data:
            data = data.replace(b"\r", b"\n")
    return data, name


def _read_raw(source: Any, max_bytes: int | None) -> tuple[bytes, str]:
    """Return the raw bytes of a path or a stream, at most one more than ``max_bytes``, and the name."""
    size = -1 if max_bytes is None else max_bytes + 1
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        with path.open("rb") as file:
            return file.read(size), path.name
    if not hasattr(source, "read"):
        raise InputTypeError(
            f"source must be a path or a file object, got {type(source).__name__}; wrap bytes in io.BytesIO"
        )
    given = getattr(source, "name", "")
    name = Path(given).name if isinstance(given, str) else ""
    try:
        content = source.read(size)
        data = content.encode("utf-8") if isinstance(content, str) else content
    except UnicodeError as error:
        raise GraphFormatError(f"the text stream is not valid {error.encoding}", line=1) from error  # type: ignore[attr-defined]
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InputTypeError(f"source.read() must give bytes or str, got {type(data).__name__}")
    return bytes(data), name


def gunzip(raw: bytes, *, max_bytes: int | None = None) -> bytes:
    """Return the content of all members of a gzip file, refusing bombs before they are unpacked.

    Parameters
    ----------
    raw : bytes
        The compressed file; zero bytes after the last member are ignored.
    max_bytes : int, optional
        Largest size to accept; by default 200 times the compressed size, or one megabyte if that is more.

    Returns
    -------
    bytes
        The decompressed content.

    Raises
    ------
    GraphFormatError
        If the file is damaged, truncated, followed by something else, or larger than allowed.  Its line is the line of
        the decompressed text at which that was noticed.

    Notes
    -----
    The file is unpacked twice, first without keeping anything: a damaged file or a bomb never takes more than a few
    hundred kilobytes of memory, and a good one twice its decompressed size.
    """
    limit = max(ALWAYS_ALLOWED, MAX_RATIO * len(raw)) if max_bytes is None else max_bytes
    for _ in _unpack(raw, limit):
        pass
    return b"".join(_unpack(raw, limit))


def _unpack(raw: bytes, limit: int) -> Iterator[bytes]:
    """Yield the content of a gzip file in pieces; stop at the first fault, with the line reached."""
    view = memoryview(raw)
    position, room, line = 0, limit, 1
    while position < len(raw) and (position == 0 or raw.startswith(GZIP_MAGIC, position)):
        engine = zlib.decompressobj(wbits=31)
        while not engine.eof:
            # Small chunks: the engine copies whatever follows the end of a member, and a file may hold many tiny
            # members.
            chunk = engine.unconsumed_tail or view[position : position + _CHUNK]
            if not engine.unconsumed_tail:
                position += len(chunk)
            try:
                piece = engine.decompress(chunk, _PIECE)
            except zlib.error as error:
                raise GraphFormatError(f"damaged gzip data ({error})", line=line) from error
            room -= len(piece)
            line += piece.count(b"\n")
            if room < 0:
                message = f"{len(raw)} compressed bytes unpack to more than {limit}; pass max_bytes to allow it"
                raise GraphFormatError(message, line=line)
            if not (chunk or piece or engine.eof):
                raise GraphFormatError("the gzip data end too early", line=line)
            yield piece
        position -= len(engine.unused_data)
    if any(raw[k : k + _CHUNK].strip(b"\0") for k in range(position, len(raw), _CHUNK)):
        raise GraphFormatError("something that is not gzip follows the gzip data", line=line)
