"""Certificates as JSON files: numbers that must be exact are text, everything else is plain JSON."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

from derand.exceptions import CertificateError, GraphFormatError, InputTypeError
from derand.io.source import read_source

__all__ = ["read_certificate", "write_certificate"]


def read_certificate(source: Any, *, max_bytes: int | None = None) -> dict[str, Any]:
    """Return the JSON object in a certificate file; nothing that it claims is checked here.

    Parameters
    ----------
    source : path or file object
        A JSON file, gzipped or not.
    max_bytes : int, optional
        Refuse more bytes than this, before and after decompression.

    Returns
    -------
    dict
        The data, with numbers and texts as they stand in the file.

    Raises
    ------
    CertificateError
        If the file is damaged, too large, no JSON, or no JSON object.

    Notes
    -----
    Memory: a small multiple of the file's size.  Constants that JSON doesn't know (NaN, Infinity) are refused.
    """
    try:
        data, _ = read_source(source, max_bytes=max_bytes)
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (GraphFormatError, ValueError, RecursionError) as error:
        raise CertificateError(f"the certificate file can't be read: {error}") from error
    if not isinstance(value, dict):
        raise CertificateError(f"a certificate is a JSON object, got {type(value).__name__}")
    return value


def _refuse_constant(name: str) -> Any:
    """Raise ValueError for a constant outside the JSON standard."""
    raise ValueError(f"{name} is no JSON number")


def write_certificate(certificate: dict[str, Any], target: str | os.PathLike[str]) -> None:
    """Write the plain data of a certificate as JSON, gzipped where the name ends with .gz.

    The same data gives the same bytes on every run.

    Parameters
    ----------
    certificate : dict
        Plain data, such as ``Certificate.to_dict()``.
    target : path
        File to write.

    Raises
    ------
    InputTypeError
        If the data holds anything that JSON can't express exactly.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "certificate.json.gz"
    ...     write_certificate({"cut_value": "4"}, path)
    ...     read_certificate(path)
    {'cut_value': '4'}
    """
    try:
        text = json.dumps(certificate, allow_nan=False, separators=(",", ":")) + "\n"
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"certificate must hold plain JSON data: {error}") from error
    data = text.encode("ascii")
    path = Path(target)
    # A time stamp in the gzip header would make equal certificates differ.
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
