"""PyTorch's formats before the zip archive, built here byte by byte from their description."""

import io
import pickle
import struct

import pytest
from hostile_files import integer, ints, name, tar, text

import facula
from facula.serialization import CheckpointError

pytestmark = pytest.mark.promise("P1")

HEAD = b"".join(
    pickle.dumps(value, 2)
    for value in (
        0x1950A86A20F9469CFC6C,
        1001,
        {"protocol_version": 1001, "little_endian": True, "type_sizes": {"int": 4}},
    )
)
FLOATS = struct.pack("<q4f", 4, 1, 2, 3, 4)


def short(value):
    """A string as Python 2 pickles it."""
    return b"U" + bytes([len(value)]) + value.encode()


def stacked_tensor(function, key, view=b"N", rest=b"\x89)", location="cpu", string=text):
    storage = b"(" + string("storage") + name("torch", "FloatStorage") + string(key)
    storage += string(location) + integer(4) + view + b"tQ"
    geometry = integer(0) + ints(2, 2) + ints(2, 1)
    return name("torch._utils", function) + b"(" + storage + geometry + rest + b"tR"


def stacked(body, keys=("94",), storages=FLOATS, head=HEAD):
    file = head + b"\x80\2" + body + b"." + pickle.dumps(list(keys), 2) + storages
    return io.BytesIO(file)


def test_a_stacked_file_of_pytorch_1():
    body = b"}" + text("w") + stacked_tensor("_rebuild_tensor_v2", "94") + b"s"
    loaded = facula.load(stacked(body))
    assert loaded["w"].tolist() == [[1, 2], [3, 4]]


def test_a_stacked_file_of_pytorch_0_with_strings_of_python_2():
    body = stacked_tensor("_rebuild_tensor", "94", rest=b"", string=short)
    assert facula.load(stacked(body)).tolist() == [[1, 2], [3, 4]]
    assert facula.load(stacked(body), encoding="bytes").tolist() == [[1, 2], [3, 4]]


def test_strings_of_python_2_are_decoded_as_asked():
    for encoding, value in {"utf-8": "é", "latin1": "Ã©", "bytes": "é".encode()}.items():
        file = stacked(b"U\2" + "é".encode(), keys=(), storages=b"")
        assert facula.load(file, encoding=encoding) == value


def test_views_of_storages_share_their_memory():
    whole = stacked_tensor("_rebuild_tensor_v2", "94")
    view = b"(" + text("95") + integer(2) + integer(2) + b"t"
    storage = b"(" + text("storage") + name("torch", "FloatStorage") + text("94") + text("cpu")
    part = name("torch._utils", "_rebuild_tensor_v2") + b"(" + storage + integer(4) + view + b"tQ"
    part += integer(0) + ints(2) + ints(1) + b"\x89)tR"
    a, b = facula.load(stacked(whole + part + b"\x86"))
    assert b.tolist() == [3, 4]
    b[0] = 7
    assert a.tolist() == [[1, 2], [7, 4]]


def test_views_that_leave_their_storage_are_refused():
    view = b"(" + text("95") + integer(3) + integer(2) + b"t"
    with pytest.raises(CheckpointError, match="of a storage of 16 bytes"):
        facula.load(stacked(stacked_tensor("_rebuild_tensor_v2", "94", view)))


def test_parameters_of_old_files():
    body = name("torch._utils", "_rebuild_parameter")
    body += stacked_tensor("_rebuild_tensor_v2", "94") + b"\x88)\x87R"
    loaded = facula.load(stacked(body))
    assert type(loaded) is facula.nn.Parameter
    assert loaded.requires_grad


def test_a_stacked_file_of_the_other_byte_order():
    head = b"".join(
        pickle.dumps(v, 2) for v in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": False})
    )
    swapped = struct.pack("<q", 4) + struct.pack(">4f", 1, 2, 3, 4)
    body = stacked_tensor("_rebuild_tensor_v2", "94")
    assert facula.load(stacked(body, storages=swapped, head=head)).tolist() == [[1, 2], [3, 4]]


def test_negated_tensors_of_stacked_files_are_views_of_bytes_that_are_read_later():
    rest = b"\x89)}" + text("neg") + b"\x88s"
    body = stacked_tensor("_rebuild_tensor_v2", "94", rest=rest)
    for trusted in (False, True):
        loaded = facula.load(stacked(body), trusted=trusted)
        assert loaded.is_neg()
        assert loaded.tolist() == [[-1, -2], [-3, -4]]


def test_tensors_of_stacked_files_are_put_where_asked():
    places = []

    def place(storage, location):
        places.append(location)
        return storage.clone()

    body = stacked_tensor("_rebuild_tensor_v2", "94", location="cuda:3")
    assert facula.load(stacked(body), map_location=place).tolist() == [[1, 2], [3, 4]]
    assert places == ["cuda:3"]
    with pytest.raises(RuntimeError, match="Pass map_location"):
        facula.load(stacked(body))


def test_whole_modules_of_stacked_files_with_their_source():
    cls = name("torch.nn.modules.activation", "ReLU")
    body = b"(" + text("module") + cls + text("activation.py") + text("class ReLU") + b"tQ)\x81}"
    body += text("inplace") + b"\x89sb"
    assert facula.load(stacked(body, keys=(), storages=b""), trusted=True).inplace is False


def tar_file(pickled=b"K\x0bQ."):
    storages = b"K\1." + b"(K\x0a" + text("cpu") + name("torch", "FloatStorage") + b"t." + FLOATS
    tensors = b"K\1." + b"(K\x0bK\x0a" + name("torch", "FloatTensor") + b"t."
    tensors += struct.pack("<ii2q2qq", 2, 0, 2, 2, 2, 1, 0)
    return io.BytesIO(tar({"storages": storages + b"].", "tensors": tensors, "pickle": pickled}))


def test_a_tar_file_loads_without_trust():
    assert facula.load(tar_file()).tolist() == [[1, 2], [3, 4]]


def test_tensors_of_a_tar_file_may_be_named_by_text():
    assert facula.load(tar_file(b"P11\n.")).tolist() == [[1, 2], [3, 4]]


def test_a_tar_file_may_be_trusted():
    assert facula.load(tar_file(), trusted=True).tolist() == [[1, 2], [3, 4]]


def test_a_damaged_header_of_a_tar_file_is_found():
    data = bytearray(tar_file().getvalue())
    data[125] ^= 1
    with pytest.raises(CheckpointError, match="a damaged header of a tar file at byte 0"):
        facula.load(io.BytesIO(data))


def test_an_empty_file_is_told():
    for kind in (CheckpointError, EOFError):
        with pytest.raises(kind, match="load: the file is empty"):
            facula.load(io.BytesIO())
