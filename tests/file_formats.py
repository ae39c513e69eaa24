"""Random images and other small files in the formats of datasets, made for tests."""

import io
import pickle
import struct
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

IDX_CODES = {"uint8": 8, "int32": 12}


def pixels(*shape, seed=0):
    """An array of random bytes."""
    return np.random.RandomState(seed).randint(0, 256, shape).astype("uint8")


def image(path, size=(6, 4), mode="RGB", seed=0, limit=256):
    """Write a random image, of values below ``limit``; the name says the format."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    picture = Image.fromarray((pixels(*shape, seed=seed).astype(int) % limit).astype("uint8"))
    if mode == "P":
        picture.putpalette([i % 256 for i in range(768)])
    picture.save(path)


def text(path, *lines):
    """Write a text file."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n" if lines else "")


def idx(array):
    """The bytes of an IDX file."""
    head = bytes([0, 0, IDX_CODES[str(array.dtype)], array.ndim])
    big = array.astype(array.dtype.newbyteorder(">"))
    return head + struct.pack(f">{array.ndim}I", *array.shape) + big.tobytes()


def python2_pickle(value):
    """A pickle as Python 2 and its NumPy write it: their strings are bytes."""
    return pickle.PROTO + b"\x02" + _python2(value) + pickle.STOP


def _python2(value):
    if isinstance(value, str):
        data = value.encode("latin-1")
        return pickle.BINSTRING + struct.pack("<i", len(data)) + data
    if isinstance(value, bool) or value is None:
        return {True: pickle.NEWTRUE, False: pickle.NEWFALSE, None: pickle.NONE}[value]
    if isinstance(value, int):
        return pickle.BININT + struct.pack("<i", value)
    if isinstance(value, tuple):
        return pickle.MARK + b"".join(map(_python2, value)) + pickle.TUPLE
    if isinstance(value, list):
        items = b"".join(map(_python2, value))
        return pickle.EMPTY_LIST + pickle.MARK + items + pickle.APPENDS
    if isinstance(value, dict):
        items = b"".join(_python2(k) + _python2(v) for k, v in value.items())
        return pickle.EMPTY_DICT + pickle.MARK + items + pickle.SETITEMS
    assert value.dtype == np.uint8
    dtype = b"cnumpy\ndtype\n" + _python2(("u1", 0, 1)) + pickle.REDUCE
    dtype += _python2((3, "|", None, None, None, -1, -1, 0)) + pickle.BUILD
    empty = b"cnumpy.core.multiarray\n_reconstruct\n" + pickle.MARK + b"cnumpy\nndarray\n"
    empty += _python2((0,)) + _python2("b") + pickle.TUPLE + pickle.REDUCE
    state = _python2(1) + _python2(value.shape) + dtype + pickle.NEWFALSE
    state += _python2(value.tobytes().decode("latin-1"))
    return empty + pickle.MARK + state + pickle.TUPLE + pickle.BUILD


def tar(files, mode="w"):
    """The bytes of a tar archive of ``files``, bytes by name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()
