import random
import re
import struct
import zlib

import file_formats
import flow_files as files
import numpy as np
import pytest
from PIL import Image

from facula.vision.datasets._flow_files import read_flo, read_gray, read_pfm, read_rgb16

pytestmark = pytest.mark.promise("D3")


def test_maps_have_the_numbers_of_their_files(tmp_path):
    files.flo(tmp_path / "a.flo", seed=3)
    expected = files.numbers(4, 6, 2, seed=3).transpose(2, 0, 1)
    assert np.array_equal(read_flo(str(tmp_path / "a.flo")), expected)
    for big in (False, True):
        files.pfm(tmp_path / "a.pfm", 3, seed=3, big=big)
        found = read_pfm(str(tmp_path / "a.pfm"), 2)
        expected = files.numbers(4, 6, 3, seed=3)[::-1, :, :2].transpose(2, 0, 1)
        assert found.dtype == np.dtype("float32")
        assert np.array_equal(found, expected)
    for n_channels, read in ((1, read_gray), (3, read_rgb16)):
        files.png16(tmp_path / "a.png", n_channels, seed=3)
        found = read(str(tmp_path / "a.png"))
        assert found.dtype == np.dtype("uint16")
        values = np.random.RandomState(3).randint(0, 1 << 16, (4, 6, n_channels))[1:, :, :2]
        assert np.array_equal(found.reshape(4, 6, -1)[1:, :, :2], values)


def head_of_flo(width, height, n_bytes=0):
    return b"PIEH" + struct.pack("<ii", width, height) + bytes(n_bytes)


def read_pfm_1(path):
    return read_pfm(path, 1)


# The reader, the content of the file, and the text of the error.
BAD = [
    (read_flo, b"", "is no .flo file"),
    (read_flo, b"FLOW" + bytes(20), "is no .flo file: it does not begin with b'PIEH'"),
    (read_flo, b"PIEH\1\0", "is damaged"),
    (
        read_flo,
        head_of_flo(2, 3, 47),
        r"is damaged: 47 bytes follow .* 3 rows of 2 pixels of 8 bytes",
    ),
    (read_flo, head_of_flo(2**31 - 1, 2**31 - 1, 8), "is damaged"),
    (read_flo, head_of_flo(-1, 4, 64), "is damaged"),
    (read_flo, head_of_flo(0, 4), "is damaged"),
    (read_pfm_1, b"", "is no .pfm file"),
    (read_pfm_1, b"x" * 10000, "is no .pfm file"),
    (read_pfm_1, b"P6\n2 2\n-1\n" + bytes(16), "is no .pfm file"),
    (read_pfm_1, b"Pf\n2\n-1\n" + bytes(16), "is no .pfm file"),
    (read_pfm_1, b"Pf\n2 x\n-1\n" + bytes(16), "is no .pfm file"),
    (read_pfm_1, b"Pf\n2 2\n\n" + bytes(16), "is no .pfm file"),
    (read_pfm_1, b"Pf\n2 2\nlow\n" + bytes(16), "is no .pfm file"),
    (read_pfm_1, b"Pf\n2 2\n-1\n" + bytes(15), r"is damaged: 15 bytes follow .* 2 rows of 2 pix"),
    (read_pfm_1, b"Pf\n-2 -2\n-1\n" + bytes(16), "is damaged"),
    (read_pfm_1, b"PF\n99999999999 99999999999\n-1\n", "is damaged"),
]


def id_of(value):
    return getattr(value, "__name__", str(value)[-20:])


@pytest.mark.parametrize("read, content, text", BAD, ids=id_of)
def test_damaged_maps_are_named(read, content, text, tmp_path):
    path = tmp_path / "map"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}' {text}"):
        read(str(path))


def test_maps_of_too_few_channels_are_refused(tmp_path):
    path = str(tmp_path / "map.pfm")
    files.pfm(tmp_path / "map.pfm", 1)
    with pytest.raises(ValueError, match=r"map.pfm': expected 2 channels, got 1"):
        read_pfm(path, 2)
    file_formats.image(tmp_path / "map.png")
    with pytest.raises(ValueError, match=r"map.png': expected an image of one channel, got mode"):
        read_gray(str(tmp_path / "map.png"))


def png_that_says(width, height, path):
    """Change the size in the head of a PNG file, and its checksum."""
    data = path.read_bytes()
    head = b"IHDR" + struct.pack(">II", width, height) + data[24:29]
    path.write_bytes(data[:12] + head + struct.pack(">I", zlib.crc32(head)) + data[33:])


def test_flows_that_are_no_png_of_16_bits_are_named(tmp_path):
    path = tmp_path / "flow.png"
    texts = []
    files.png16(path, 3)
    content = path.read_bytes()
    damage = (
        lambda: path.write_bytes(b""),
        lambda: path.write_bytes(content[:-30]),
        lambda: path.write_bytes(content[:40]),
        lambda: files.png16(path, 1),
        lambda: file_formats.image(path),
        lambda: Image.new("RGB", (6, 4)).save(path, "JPEG"),
        lambda: (path.write_bytes(content), png_that_says(9000, 9000, path)),
        lambda: (path.write_bytes(content), png_that_says(1 << 30, 1 << 30, path)),
    )
    for spoil in damage:
        spoil()
        with pytest.raises(RuntimeError, match=r"cannot read the flow '.*flow.png': ") as error:
            read_rgb16(str(path))
        texts.append(str(error.value).partition("png': ")[2])
    assert texts[3:5] == ["it has not three channels of 16 bits"] * 2
    assert texts[6] == "it is too short for 9000 x 9000 pixels"
    with pytest.raises(FileNotFoundError):
        read_rgb16(str(tmp_path / "none.png"))


@pytest.mark.parametrize("size, text", [(9000, "it is too short"), (1 << 30, "exceeds limit")])
def test_disparities_that_claim_too_many_pixels_are_named(size, text, tmp_path):
    path = tmp_path / "disparity.png"
    files.png16(path, 1)
    png_that_says(size, size, path)
    with pytest.raises(Exception, match=rf"cannot read the image '.*disparity.png': .*{text}"):
        read_gray(str(path))


def test_spoilt_bytes_never_do_more_than_raise(tmp_path):
    draw = random.Random(0)
    path = tmp_path / "map"
    makers = {read_flo: files.flo, read_pfm_1: files.pfm, read_rgb16: files.png16}
    for read, make in makers.items():
        make(path, **({"n_channels": 3} if read is read_rgb16 else {}))
        content = path.read_bytes()
        for _ in range(200):
            spoilt = bytearray(content[: draw.randrange(8, len(content) + 1)])
            for _ in range(draw.randrange(3)):
                spoilt[draw.randrange(len(spoilt))] = draw.randrange(256)
            path.write_bytes(spoilt)
            try:
                read(str(path))
            except (RuntimeError, ValueError) as error:
                assert str(path) in str(error)
