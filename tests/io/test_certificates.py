import gzip
import io
import json
import math

import pytest

from derand.exceptions import CertificateError, InputTypeError
from derand.io.certificates import read_certificate, write_certificate

DATA = {
    "format": "derand-maxcut-certificate",
    "version": 1,
    "cut_value": str(10**40),
    "parts": [{"dual": ["0x1.8p+1"]}],
}


@pytest.mark.parametrize("name", ["c.json", "c.json.gz"])
def test_round_trip_with_equal_bytes(tmp_path, name):
    path = tmp_path / name
    write_certificate(DATA, path)
    first = path.read_bytes()
    assert read_certificate(path) == DATA
    assert read_certificate(io.BytesIO(first)) == DATA
    write_certificate(read_certificate(path), path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "null", '{"a": NaN}', '{"a": Infinity}', "[" * 100_000, "{'a': 1}", "\x00"]
)
def test_other_files_are_refused(text):
    with pytest.raises(CertificateError):
        read_certificate(io.BytesIO(text.encode()))


def test_damaged_compressed_and_binary_files_are_refused():
    packed = gzip.compress(json.dumps(DATA).encode())
    for data in (packed[:-9], packed[:12], b"\xff\xfe\xfd{}"):
        with pytest.raises(CertificateError):
            read_certificate(io.BytesIO(data))


def test_size_is_limited():
    with pytest.raises(CertificateError, match="max_bytes"):
        read_certificate(io.BytesIO(json.dumps(DATA).encode()), max_bytes=10)


@pytest.mark.parametrize("bad", [{"a": math.nan}, {"a": {1, 2}}, {"a": 1j}])
def test_only_plain_data_is_written(tmp_path, bad):
    with pytest.raises(InputTypeError, match="certificate"):
        write_certificate(bad, tmp_path / "c.json")
