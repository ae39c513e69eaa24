"""Builds the corpus of hostile checkpoints: ``python tests/hostile_files.py FOLDER`` writes it.

Every file must be refused. Those that would run code would make the file that the environment
variable ``CANARY`` names.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
import struct
import sys
import zipfile
from pathlib import Path

from facula.serialization import _modules
from facula.serialization._zip_writer import ZipWriter

CANARY = os.environ.get("CANARY", "/tmp/facula-canary")
COMMAND = f"touch {CANARY}"


def archive(
    data: bytes, storages: dict[str, bytes] | None = None, byteorder: bytes = b"little"
) -> bytes:
    """A checkpoint in PyTorch's zip format of any pickle and any records."""
    file = io.BytesIO()
    writer = ZipWriter(file.write, "archive")
    writer.record("data.pkl", data)
    writer.record("byteorder", byteorder)
    for key, content in (storages or {}).items():
        writer.record(f"data/{key}", content)
    writer.record("version", b"3\n")
    writer.finish()
    return file.getvalue()


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def integer(value: int) -> bytes:
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def name(module: str, attribute: str) -> bytes:
    return f"c{module}\n{attribute}\n".encode()


def stacked_name(module: str, attribute: str) -> bytes:
    return text(module) + text(attribute) + b"\x93"


def storage(
    key: str = "0", numel: int = 4, kind: bytes | None = None, location: str = "cpu"
) -> bytes:
    kind = name("torch", "FloatStorage") if kind is None else kind
    return b"(" + text("storage") + kind + text(key) + text(location) + integer(numel) + b"tQ"


def ints(*values: int) -> bytes:
    return b"(" + b"".join(map(integer, values)) + b"t"


def tensor(
    memory: bytes | None = None,
    offset: int = 0,
    size: tuple[int, ...] = (4,),
    stride: tuple[int, ...] = (1,),
    rest: bytes = b"\x89)",
) -> bytes:
    memory = storage() if memory is None else memory
    geometry = integer(offset) + ints(*size) + ints(*stride)
    return name("torch._utils", "_rebuild_tensor_v2") + b"(" + memory + geometry + rest + b"tR"


def places(last: int, stride: int = 1) -> bytes:
    """The indices 0, 1, 5 and -1 up to the last, as those of one dimension."""
    kind = name("torch", "LongStorage")
    return tensor(storage("1", kind=kind), size=(1, last + 1), stride=(1, stride))


def vector(first: int, *more: int) -> bytes:
    """The indices at these places among 0, 1, 5 and -1: a run of them."""
    kind = name("torch", "LongStorage")
    return tensor(storage("1", kind=kind), first, (1 + len(more),))


def sparse(layout: str, *parts: bytes) -> bytes:
    layout_of = name("torch.serialization", "_get_layout") + text(layout) + b"\x85R"
    return (
        name("torch._utils", "_rebuild_sparse_tensor")
        + layout_of
        + b"("
        + b"".join(parts)
        + b"t\x86R"
    )


# As floats the bytes of storage "1" are small numbers; as int64 they are 0, 1, 5 and -1.
FLOATS = {"0": struct.pack("<4f", 1, 2, 3, 4), "1": struct.pack("<4q", 0, 1, 5, -1)}


def import_modules() -> None:
    """Import what files with modules of ours may name, so that nothing is imported by loading."""
    for path in _modules._files():
        importlib.import_module(path)
    _modules._functions()
    # An operation that refuses its arguments looks there for an older form of them.
    importlib.import_module("facula._ops._older_forms")


def calls() -> dict[str, bytes]:
    """Every instruction that can import or call, with what attackers use it for."""
    argument = text(COMMAND)
    open_canary = text(f"open({CANARY!r}, 'w')")
    files = {
        "global_reduce": name("os", "system") + argument + b"\x85R.",
        "global_posix": name("posix", "system") + argument + b"\x85R.",
        "stack_global": b"\x80\x04" + stacked_name("os", "system") + argument + b"\x85R.",
        "eval": name("builtins", "eval") + open_canary + b"\x85R.",
        "exec": name("__builtin__", "exec") + open_canary + b"\x85R.",
        "getattr": name("builtins", "getattr") + name("os", "system") + text("x") + b"\x86R.",
        "import": name("builtins", "__import__") + text("os") + b"\x85R.",
        "importlib": name("importlib", "import_module") + text("os") + b"\x85R.",
        "inst": b"(" + argument + b"ios\nsystem\n.",
        "obj": b"(" + name("os", "system") + argument + b"o.",
        "newobj": name("subprocess", "Popen") + argument + b"\x85\x81.",
        "newobj_ex": name("subprocess", "Popen") + argument + b"\x85}\x92.",
        "newobj_of_a_function": name("torch._utils", "_rebuild_tensor_v2") + b")\x81.",
        "build": name("collections", "OrderedDict") + b")R}" + text("__class__") + b"Nsb.",
        "build_hides_a_method": name("collections", "OrderedDict")
        + b")R}"
        + text("items")
        + b"Nsb.",
        "build_of_a_class": name("collections", "OrderedDict") + b"}" + text("a") + b"Nsb.",
        "build_of_a_list": b"]}" + text("a") + b"Nsb.",
        "build_of_a_dtype": name("torch", "float32") + b"}" + text("a") + b"Nsb.",
        "build_of_none": b"N}" + text("a") + b"Nsb.",
        "build_with_setstate": name("numpy", "ndarray") + b"}" + text("__setstate__") + b"Nsb.",
        "ext1": b"\x82\x01.",
        "ext2": b"\x83\x01\x00.",
        "ext4": b"\x84\x01\x00\x00\x00.",
        "persistent_id_text": b"P/etc/passwd\n.",
        "persistent_id_of_a_string": text("../../etc/passwd") + b"Q.",
        "persistent_id_of_a_list": b"]Q.",
        "persistent_id_of_an_array": name("numpy._core.multiarray", "_reconstruct")
        + name("numpy", "ndarray")
        + b"K\0\x85C\1b\x87R("
        + b"NNNNtQ.",
        "next_buffer": b"\x97.",
        "readonly_buffer": b"N\x98.",
        "dotted_name": b"\x80\x04" + stacked_name("collections", "OrderedDict.fromkeys") + b".",
        "dotted_name_of_a_tensor": stacked_name("torch", "Tensor.__class__.__base__") + b".",
        "dotted_module": name("torch.serialization.os", "system") + argument + b"\x85R.",
        "load_in_load": name("torch", "load") + argument + b"\x85R.",
        "load_from_bytes": name("torch.storage", "_load_from_bytes") + argument + b"\x85R.",
        "jit": name("torch.jit", "load") + argument + b"\x85R.",
        "copyreg": name("copy_reg", "_reconstructor")
        + name("collections", "OrderedDict")
        + name("__builtin__", "object")
        + b"N\x87R.",
        "partial": name("functools", "partial") + name("os", "system") + b"\x85R.",
        "attrgetter": name("operator", "attrgetter") + text("a") + b"\x85R.",
        "codecs": name("_codecs", "decode") + argument + text("rot13") + b"\x86R.",
        "encode_by_a_codec": name("_codecs", "encode") + argument + text("idna") + b"\x86R.",
        "call_a_string": text("os.system") + argument + b"\x85R.",
        "call_an_int": b"K\1" + argument + b"\x85R.",
        "call_a_dtype": name("torch", "float32") + argument + b"\x85R.",
        "call_a_tensor_class": name("torch", "Tensor") + integer(1 << 40) + b"\x85R.",
        "call_a_storage_class": name("torch", "FloatStorage") + integer(1 << 40) + b"\x85R.",
        "call_an_array_class": name("numpy", "ndarray") + ints(1 << 40) + b"\x85R.",
        "call_without_a_tuple": name("collections", "OrderedDict") + b"]R.",
        "subclass_by_function": name("torch._tensor", "_rebuild_from_type_v2")
        + b"("
        + name("torch.serialization", "_get_layout")
        + name("torch", "Tensor")
        + b"))tR.",
        "subclass_of_a_class": name("torch._tensor", "_rebuild_from_type_v2")
        + b"("
        + name("torch._utils", "_rebuild_tensor_v2")
        + name("collections", "OrderedDict")
        + b"))tR.",
        "numpy_object_array": name("numpy", "dtype") + text("O8") + b"\x89\x88\x87R.",
        "numpy_record": name("numpy", "dtype") + text("V8") + b"\x89\x88\x87R.",
        "numpy_load": name("numpy", "load") + argument + b"\x85R.",
        "numpy_testing": name("numpy.testing._private.utils", "runstring") + argument + b"}\x86R.",
    }
    return {key: archive(data) for key, data in files.items()}


def confusions() -> dict[str, bytes]:
    """Stack and memo used wrongly; containers that are not what an instruction needs."""
    key = text("k")
    files = {
        "empty": b"",
        "only_stop": b".",
        "no_stop": b"N",
        "two_on_the_stack": b"NN.",
        "mark_left": b"N(N.",
        "unknown_instruction": b"\xff.",
        "unknown_protocol": b"\x80\x63N.",
        "after_the_end": b"N.N.",
        "pop_of_nothing": b"0N.",
        "dup_of_nothing": b"2.",
        "tuple_without_mark": b"Nt.",
        "tuple3_of_two": b"NN\x87.",
        "get_of_nothing": b"h\x05.",
        "get_negative": b"g-1\n.",
        "put_negative": b"Np-1\n.",
        "put_on_nothing": b"q\0.",
        "get_by_text": b"gxyz\n.",
        "memo_changed": b"]q\0N0}q\0h\0Na.",
        "memoize_far": b"Nr\xff\xff\xff\xff\x94j\x07\0\0\0.",
        "append_to_a_dict": b"}Na.",
        "append_to_a_tuple": b")Na.",
        "append_to_a_string": key + b"Na.",
        "append_to_a_class": name("collections", "OrderedDict") + b"Na.",
        "appends_to_a_set": b"\x8f(Ne.",
        "additems_to_a_list": b"](N\x90.",
        "setitem_of_a_list": b"](" + b"K\0Nu.",
        "setitem_of_a_string": key + b"K\0Ns.",
        "setitem_of_a_class": name("collections", "OrderedDict") + key + b"Ns.",
        "setitem_of_a_tensor": tensor() + b"K\0K\1s.",
        "setitem_of_an_array": name("numpy", "ndarray") + b"K\0K\1s.",
        "key_without_value": b"}(Nu.",
        "unhashable_key": b"}]Ns.",
        "unhashable_item": b"\x8f(]\x90.",
        "string_without_quotes": b"Sabc\n.",
        "string_not_utf8": b"X\2\0\0\0\xff\xff.",
        "int_that_is_none": b"Iabc\n.",
        "float_that_is_none": b"Fabc\n.",
        "names_not_utf8": b"c\xff\n\xff\n.",
        "name_cut_short": b"cos\n",
        "name_by_ints": b"K\1K\2\x93.",
        "complex_of_strings": name("builtins", "complex") + key + key + b"\x86R.",
        "size_of_strings": name("torch", "Size") + b"(" + key + b"t\x85R.",
        "device_unknown": name("torch", "device") + text("quantum") + b"\x85R.",
        "layout_unknown": name("torch.serialization", "_get_layout") + key + b"\x85R.",
        "type_unknown": name("torch", "float4_e2m1fn_x2") + b".",
    }
    return {key: archive(data, FLOATS) for key, data in files.items()}


def lies() -> dict[str, bytes]:
    """Tensors that do not lie in their storage, storages that do not lie in the file."""
    files = {
        "storage_larger_than_its_record": tensor(storage(numel=5)),
        "storage_smaller_than_its_record": tensor(storage(numel=3)),
        "storage_of_2_to_the_60": tensor(storage(numel=1 << 60)),
        "storage_negative": tensor(storage(numel=-1)),
        "storage_unknown": tensor(storage(key="7")),
        "storage_elsewhere": tensor(storage(key="../../../etc/passwd")),
        "storage_of_a_class": tensor(storage(kind=name("collections", "OrderedDict"))),
        "storage_of_a_dtype": tensor(storage(kind=name("torch", "float32"))),
        "tensor_too_long": tensor(size=(5,)),
        "tensor_behind_the_end": tensor(offset=1),
        "tensor_before_the_start": tensor(offset=-1),
        "tensor_of_negative_size": tensor(size=(-1,)),
        "tensor_of_negative_stride": tensor(stride=(-1,)),
        "tensor_of_huge_stride": tensor(size=(2,), stride=(1 << 62,)),
        "tensor_overflows": tensor(size=(1 << 62, 1 << 62), stride=(1 << 62, 1 << 62)),
        "tensor_of_huge_size": tensor(size=(1 << 63,), stride=(0,)),
        "tensor_of_too_many_elements": tensor(size=(1 << 62, 4), stride=(0, 0)),
        "tensor_of_many_dims": tensor(size=(1,) * 200, stride=(1,) * 200),
        "tensor_without_strides": tensor(size=(4,), stride=()),
        "tensor_of_a_string": tensor(memory=text("x")),
        "tensor_with_a_string_for_grad": tensor(rest=text("x") + b")"),
        "tensor_with_unknown_metadata": tensor(rest=b"\x89)}" + text("run") + b"\x88s"),
        "parameter_of_a_string": name("torch._utils", "_rebuild_parameter")
        + text("x")
        + b"\x88)\x87R",
        "parameter_hides_a_method": name("torch._utils", "_rebuild_parameter_with_state")
        + b"("
        + tensor()
        + b"\x88)}"
        + text("backward")
        + b"NstR",
        "parameter_of_integers": name("torch._utils", "_rebuild_parameter")
        + tensor(storage(kind=name("torch", "IntStorage")))
        + b"\x88)\x87R",
        "sparse_of_a_string": sparse("torch.sparse_coo", text("x"), tensor(), ints(4)),
        "sparse_of_layout_strided": sparse("torch.strided", tensor(), tensor(), ints(4)),
        "sparse_of_floats_as_indices": sparse(
            "torch.sparse_coo", tensor(size=(1, 2), stride=(2, 1)), tensor(size=(2,)), ints(4)
        ),
        "sparse_index_too_large": sparse("torch.sparse_coo", places(2), tensor(size=(3,)), ints(4)),
        "sparse_index_negative": sparse("torch.sparse_coo", places(3), tensor(size=(4,)), ints(9)),
        "sparse_of_another_length": sparse("torch.sparse_coo", places(1), tensor(), ints(4)),
        "sparse_not_as_coalesced_as_it_says": sparse(
            "torch.sparse_coo", places(1, stride=0), tensor(size=(2,)), ints(4), b"\x88"
        ),
        "sparse_without_a_size": sparse("torch.sparse_coo", places(1), tensor(size=(2,))),
        "sparse_of_negative_size": sparse(
            "torch.sparse_coo", places(0), tensor(size=(1,)), ints(-4)
        ),
        "sparse_of_huge_size": sparse(
            "torch.sparse_coo", places(0), tensor(size=(1, 0), stride=(1, 1)), ints(1 << 63, 0)
        ),
        "sparse_of_a_terabyte_of_indices": sparse(
            "torch.sparse_coo",
            places(1 << 40, stride=0),
            tensor(size=((1 << 40) + 1,), stride=(0,)),
            ints(4),
        ),
        "sparse_rows_beyond_the_values": sparse(
            "torch.sparse_csr", vector(1, 2), vector(0), tensor(size=(1,)), ints(1, 2)
        ),
        "sparse_rows_that_fall": sparse(
            "torch.sparse_csr",
            vector(1, 2, 3),
            vector(0, 1),
            tensor(size=(2,)),
            ints(2, 2),
        ),
        "sparse_column_too_large": sparse(
            "torch.sparse_csr", vector(0, 1), vector(2), tensor(size=(1,)), ints(1, 3)
        ),
        "sparse_of_blocks": sparse(
            "torch.sparse_bsr", vector(0, 1), vector(0), tensor(size=(1,)), ints(1, 1)
        ),
        "array_with_too_few_bytes": name("numpy._core.multiarray", "_reconstruct")
        + name("numpy", "ndarray")
        + b"K\0\x85C\1b\x87R("
        + b"K\1"
        + ints(1 << 40)
        + name("numpy", "dtype")
        + text("f8")
        + b"\x89\x88\x87R\x89C\1btb",
        "scalar_with_too_few_bytes": name("numpy._core.multiarray", "scalar")
        + name("numpy", "dtype")
        + text("f8")
        + b"\x89\x88\x87RC\1b\x86R",
        "dtype_with_another_state": name("numpy", "dtype")
        + text("f8")
        + b"\x89\x88\x87R(K\3"
        + text("|")
        + b"NNNJ\xff\xff\xff\x7fK\1K\x3ftb",
    }
    return {key: archive(data + b".", FLOATS) for key, data in files.items()}


def made(cls: bytes, *state: bytes) -> bytes:
    """An object of a class whose state has these names and values."""
    return cls + b")\x81}(" + b"".join(state) + b"ub"


def modules() -> dict[str, bytes]:
    """Layers of ours with something that would run, or hide what runs."""
    linear = name("torch.nn.modules.linear", "Linear")
    layer = name("torch.nn.modules.transformer", "TransformerEncoderLayer")
    lstm = name("torch.nn.modules.rnn", "LSTM")
    relu = name("torch.nn.functional", "relu")
    rebuild = name("torch._utils", "_rebuild_tensor_v2")
    functions = name("torch._C", "_VariableFunctionsClass")
    get = name("__builtin__", "getattr")
    partial = name("functools", "partial")

    def table(key: str, entry: bytes, value: bytes) -> bytes:
        return made(linear, text(key), b"}" + entry + value + b"s")

    files = {
        "module_with_a_forward": made(linear, text("forward"), relu),
        "module_with_a_call": made(linear, text("__call__"), relu),
        "module_with_a_class": made(linear, text("__class__"), layer),
        "module_with_a_setstate": made(linear, text("__setstate__"), relu),
        "module_with_a_property": made(lstm, text("all_weights"), b"]"),
        "module_with_a_number_for_a_name": made(linear, b"K\1", b"N"),
        "module_with_a_hidden_method": made(linear, text("state_dict"), relu),
        "module_with_a_part_that_is_a_method": table("_modules", text("forward"), made(linear)),
        "module_with_a_part_that_is_special": table("_modules", text("__bool__"), made(linear)),
        "module_with_a_part_without_a_name": table("_modules", text(""), made(linear)),
        "module_with_a_part_by_number": table("_modules", b"K\1", made(linear)),
        "module_with_a_part_twice": made(
            linear, text("_modules"), b"}" + text("a") + made(linear) + b"s", text("a"), relu
        ),
        "module_with_a_function_as_a_part": table("_modules", text("a"), relu),
        "module_with_a_function_as_a_parameter": table("_parameters", text("weight"), relu),
        "module_with_a_string_as_a_buffer": table("_buffers", text("a"), text("b")),
        "module_with_parts_in_a_list": made(linear, text("_modules"), b"]"),
        "module_with_names_in_a_list": made(linear, text("_non_persistent_buffers_set"), b"]"),
        "module_with_a_function_as_a_hook": table("_forward_hooks", b"K\1", relu),
        "module_with_a_module_as_a_hook": table("_forward_pre_hooks", b"K\1", made(linear)),
        "module_with_a_class_as_a_hook": table("_backward_hooks", b"K\1", linear),
        "module_with_a_tensor_for_a_flag": made(linear, text("training"), tensor()),
        "module_with_a_private_function": made(linear, text("_get_backward_hooks"), relu),
        "module_with_another_call": made(linear, text("_call_impl"), relu),
        "module_with_a_private_class": made(linear, text("_slow_forward"), linear),
        "recurrent_layer_with_a_tensor_of_names": made(
            lstm, text("_all_weights"), tensor(size=(1 << 40, 1), stride=(0, 1))
        ),
        "recurrent_layer_with_a_tensor_in_its_names": made(
            lstm, text("_all_weights"), b"]" + tensor(size=(1 << 40,), stride=(0,)) + b"a"
        ),
        "recurrent_layer_with_a_tensor_of_flat_names": made(
            lstm, text("_all_weights"), b"]", text("_flat_weights_names"), tensor()
        ),
        "recurrent_layer_with_one_list_many_times": made(
            lstm,
            text("_all_weights"),
            b"](](" + text("w") + b"2" * 5000 + b"eq\0" + b"h\0" * 5000 + b"e",
        ),
        "module_with_a_rebuilding_function": made(layer, text("activation"), rebuild),
        "module_with_a_function_in_a_list": made(layer, text("layers"), b"]" + rebuild + b"a"),
        "module_with_getattr": made(layer, text("activation"), get),
        "module_with_a_builtin": made(layer, text("activation"), name("builtins", "bytearray")),
        "module_with_a_storage_class": made(
            layer, text("activation"), name("torch.storage", "UntypedStorage")
        ),
        "module_filled_after_it_was_made": linear
        + b")\x81q\0}q\1b0h\1"
        + text("forward")
        + relu
        + b"s0h\0",
        "module_with_two_states": made(linear) + b"}b",
        "module_with_a_list_for_a_state": linear + b")\x81]b",
        "module_with_slots": linear + b")\x81N}\x86b",
        "module_with_arguments": linear + b"K\1\x85\x81",
        "module_that_is_called": linear + ints(3, 4) + b"R",
        "module_within_itself": linear
        + b")\x81q\0}"
        + text("_modules")
        + b"}"
        + text("a")
        + b"h\0ssb",
        "module_as_a_list": made(linear) + b"Na",
        "module_as_a_dict": made(linear) + b"K\1K\1s",
        "modules_nested_deep": (
            (linear + b")\x81}" + text("_modules") + b"}" + text("a")) * 1000 + b"N" + b"ssb" * 1000
        ),
        "many_modules": b"(" + made(linear) * 100_000 + b"t",
        "many_modules_of_one_state": linear
        + b"q\0}("
        + b"".join(text(f"a{i}") + b"N" for i in range(5000))
        + b"uq\1("
        + b"h\0)\x81h\1b" * 5000
        + b"t\x87",
        "many_modules_of_one_table": linear
        + b"q\0}("
        + b"".join(text(f"a{i}") + b"N" for i in range(5000))
        + b"uq\1("
        + (b"h\0)\x81}" + text("_modules") + b"h\1sb") * 5000
        + b"t\x87",
        "partial_of_a_function": partial + relu + b"\x85R",
        "partial_of_two": partial + linear + relu + b"\x86R",
        "partial_with_arguments": partial + linear + b"\x85R(" + linear + b"(K\1t}Ntb",
        "partial_with_a_function": partial
        + linear
        + b"\x85R("
        + linear
        + b")}"
        + text("device")
        + relu
        + b"sNtb",
        "partial_of_another": partial + linear + b"\x85R(" + layer + b")}Ntb",
        "partial_with_attributes": partial
        + linear
        + b"\x85R("
        + linear
        + b")}}"
        + text("a")
        + b"Nstb",
        "getattr_of_load": get + functions + text("load") + b"\x86R",
        "getattr_of_a_module": get + made(linear) + text("forward") + b"\x86R",
        "getattr_of_a_class": get + linear + text("__init__") + b"\x86R",
        "function_load": name("torch", "load"),
        "function_save": name("torch", "save"),
        "function_from_file": name("torch", "from_file"),
        "function_of_the_hub": name("torch.hub", "load"),
        "function_of_a_class": stacked_name("torch.nn.modules.module", "Module.__setattr__"),
        "class_of_a_dataset": name("torchvision.datasets.mnist", "MNIST"),
        "class_of_an_optimizer": name("torch.optim.sgd", "SGD"),
        "class_that_a_file_imports": name("torch.nn.modules.module", "OrderedDict"),
        "function_that_a_file_imports": name("torch.nn.modules.module", "chain"),
        "module_that_a_file_imports": name("torch.nn.modules.rnn", "math"),
        "file_outside_of_the_packages": name("torch.nn.modules...cli", "main"),
        "enumeration_of_a_number": name("torchvision.transforms.functional", "InterpolationMode")
        + b"K\1\x85R",
        "enumeration_of_nothing": name("torchvision.transforms.functional", "InterpolationMode")
        + text("x")
        + b"\x85R",
    }
    return {key: archive(data + b".", FLOATS) for key, data in files.items()}


def bombs() -> dict[str, bytes]:
    """Small files that would take much memory, time or stack."""
    n = 1_000_000
    laugh = b")" + b"2\x86" * 200  # a tuple of 2 to the 200 parts
    megabyte = text("x" * (1 << 20)) + b"q\0"
    files = {
        "string_of_4_gb": b"X\xff\xff\xff\xffabc.",
        "string_of_2_to_the_63": b"\x8d" + struct.pack("<Q", 1 << 63) + b"abc.",
        "bytes_of_2_to_the_62": b"\x8e" + struct.pack("<Q", 1 << 62) + b"abc.",
        "bytearray_of_2_to_the_62": b"\x96" + struct.pack("<Q", 1 << 62) + b"abc.",
        "frame_of_2_to_the_62": b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"N.",
        "long4_of_2_gb": b"\x8b\xff\xff\xff\x7f\1.",
        "long4_negative": b"\x8b\xff\xff\xff\xff\1.",
        "decimal_of_a_million_digits": b"L" + b"9" * 1_000_000 + b"L\n.",
        "int_of_a_million_digits": b"I" + b"9" * 1_000_000 + b"\n.",
        "many_dicts": b"(" + b"}" * n + b"t.",
        "many_lists": b"(" + b"]" * n + b"t.",
        "many_sets": b"(" + b"\x8f" * n + b"t.",
        "many_marks": b"(" * n + b".",
        "many_nones": b"(" + b"N" * 3 * n + b"t.",
        "many_far_memos": b"N" + b"".join(b"r" + struct.pack("<I", 9 * i) for i in range(n // 2)),
        "many_encodings": megabyte
        + b"0("
        + (name("_codecs", "encode") + b"h\0" + text("latin1") + b"\x86R") * 1000
        + b"t.",
        "many_sets_of_one_list": b"]q\0("
        + b"K\1" * 250
        + b"e0("
        + (name("builtins", "set") + b"h\0\x85R") * 20000
        + b"t.",
        "deep_lists": b"]" * 100_000 + b"a" * 99_999 + b".",
        "deep_tuples": b")" + b"\x85" * 1_000_000 + b".",
        "deep_tuple_as_key": b"})" + b"\x85" * 1_000_000 + b"Ns.",
        "deep_by_the_memo": b"]q\0" + b"0]h\0aq\0" * 100_000 + b".",
        "deep_dicts": b"}" + b"K\1}" * 100_000 + b"s" * 100_000 + b".",
        "laughing_key": b"}" + laugh + b"Ns.",
        "laughing_item": b"\x8f(" + laugh + b"\x90.",
        "laughing_persistent_id": laugh + b"Q.",
        "laughing_call": laugh + b")R.",
        "colliding_keys": b"}("
        + b"".join(integer(i * ((1 << 61) - 1)) + b"N" for i in range(1 << 4, 200_000))
        + b"u.",
    }
    return {key: archive(data) for key, data in files.items()}


def archives() -> dict[str, bytes]:
    """Zip files that lie about themselves."""
    good = archive(tensor() + b".", FLOATS)
    directory = good.index(b"PK\1\2")
    files = {
        "zip_with_bytes_before": b"MZ" + good,
        "zip_with_bytes_after": good + b"x",
        "zip_without_directory": good[:directory],
        "zip_of_a_directory_only": good[directory:],
        "zip_of_2_to_the_40_entries": _changed(
            good, b"PK\6\6", 24, struct.pack("<2Q", *[1 << 40] * 2)
        ),
        "zip_with_a_directory_elsewhere": _changed(good, b"PK\6\6", 48, struct.pack("<Q", 1 << 50)),
        "zip_header_disagrees": _changed(good, b"PK\3\4", 30, b"x"),
        "zip_entry_at_another_place": _changed(good, b"PK\1\2", 42, struct.pack("<I", 64)),
        "zip_entry_behind_the_end": _changed(good, b"PK\1\2", 42, struct.pack("<I", 1 << 30)),
        "zip_size_lies": _changed(good, b"PK\1\2", 20, struct.pack("<2I", 1 << 30, 1 << 30)),
        "zip_is_encrypted": good.replace(b"\x08\x08\0\0", b"\x09\x08\0\0"),
    }
    for key, names in {
        "zip_with_two_records_of_one_name": ["a/data.pkl", "a/data.pkl"],
        "zip_with_two_folders": ["a/data.pkl", "b/data.pkl"],
        "zip_leaves_its_folder": ["a/data.pkl", "a/../../etc/passwd"],
        "zip_with_an_absolute_name": ["/etc/passwd", "/data.pkl"],
        "zip_with_backslashes": ["a\\data.pkl"],
        "zip_without_folder": ["data.pkl"],
        "zip_without_pickle": ["a/data/0"],
    }.items():
        files[key] = _zipped(zipfile.ZIP_STORED, {}, names)
    files["zip_bomb"] = _zipped(zipfile.ZIP_DEFLATED, {"a/data.pkl": b"\0" * (100 << 20)}, [])
    files["zip_overlapping"] = _overlapping(good)
    return files


def _changed(data: bytes, magic: bytes, at: int, by: bytes) -> bytes:
    start = data.index(magic) + at
    return data[:start] + by + data[start + len(by) :]


def _zipped(method: int, contents: dict[str, bytes], names: list[str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as zipped:
        for path, content in [*contents.items(), *((path, b"N.") for path in names)]:
            zipped.NameToInfo.pop(path, None)  # which would warn of the second one
            zipped.writestr(path, content)
    return file.getvalue()


def _overlapping(good: bytes) -> bytes:
    """The second entry of the directory points to the first record."""
    second = good.index(b"PK\1\2", good.index(b"PK\1\2") + 4)
    return good[: second + 42] + b"\0\0\0\0" + good[second + 46 :]


def old_formats() -> dict[str, bytes]:
    """Stacked pickles and tar files that lie."""
    head = b"".join(pickle.dumps(v, 2) for v in (0x1950A86A20F9469CFC6C, 1001, {}))

    def stacked(numel: int, keys: list[str], tail: bytes) -> bytes:
        memory = b"(" + text("storage") + name("torch", "FloatStorage") + text("0") + text("cpu")
        memory += integer(numel) + b"NtQ"
        return head + b"\x80\2" + tensor(memory) + b"." + pickle.dumps(keys, 2) + tail

    good = struct.pack("<q4f", 4, 1, 2, 3, 4)
    return {
        "stacked_without_magic": pickle.dumps(1, 2) + head,
        "stacked_magic_is_an_array": name("numpy", "ndarray") + b".",
        "stacked_version": pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(7, 2),
        "stacked_storage_of_2_to_the_50": stacked(1 << 50, ["0"], good),
        "stacked_storage_negative": stacked(-4, ["0"], good),
        "stacked_storage_disagrees": stacked(4, ["0"], struct.pack("<q4f", 5, 1, 2, 3, 4)),
        "stacked_storage_cut_short": stacked(4, ["0"], good[:-1]),
        "stacked_keys_unknown": stacked(4, ["1"], good),
        "stacked_keys_missing": stacked(4, [], good),
        "stacked_keys_are_no_list": stacked(4, "0", good),  # type: ignore[arg-type]
        "stacked_calls": head + name("os", "system") + text(COMMAND) + b"\x85R.",
        "stacked_calls_for_the_magic": name("os", "system") + text(COMMAND) + b"\x85R.",
        "tar_empty": tar({}),
        "tar_of_many_storages": tar(
            {"storages": b"\x8a\x05\0\0\0\0\1.", "tensors": b"", "pickle": b""}
        ),
        "tar_calls": tar(
            {
                "storages": b"K\0.].",
                "tensors": b"K\0.",
                "pickle": name("os", "system") + text(COMMAND) + b"\x85R.",
            }
        ),
        "tar_tensor_unknown": tar({"storages": b"K\0.].", "tensors": b"K\0.", "pickle": b"K\7Q."}),
        "tar_of_many_dims": tar(
            {
                "storages": b"K\0.].",
                "tensors": b"K\1.K\1K\1N\x87." + struct.pack("<q", 1 << 30),
                "pickle": b"N.",
            }
        ),
    }


def tar(members: dict[str, bytes]) -> bytes:
    """A tar file of regular files."""
    out = b""
    for path, content in (members or {"x": b""}).items():
        start = path.encode().ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2
        start += b"%011o\0" % len(content) + b"%011o\0" % 0
        end = b"0".ljust(101, b"\0") + b"ustar\x0000".ljust(255, b"\0")
        total = sum(start) + sum(end) + 8 * 32
        out += start + b"%06o\0 " % total + end
        out += content.ljust(-(-len(content) // 512) * 512, b"\0")
    return out + b"\0" * 1024


def corpus() -> dict[str, bytes]:
    """All files by their name."""
    groups = calls(), confusions(), lies(), modules(), bombs(), archives(), old_formats()
    return {key: data for group in groups for key, data in group.items()}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for key, data in corpus().items():
        (folder / f"{key}.pt").write_bytes(data)
