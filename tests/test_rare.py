"""Names of the top level that few programs use."""

import ast
import importlib
from pathlib import Path

import pytest

import facula


@pytest.mark.parametrize("file", facula._RARE)
def test_what_a_file_of_rare_names_defines_is_listed(file):
    module = importlib.import_module(file)
    source = ast.parse(Path(module.__file__).read_text())
    defined = set()
    for node in source.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.Assign):
            defined.update(target.id for target in node.targets)
    assert sorted(n for n in defined if n[0] != "_") == sorted(facula._RARE[file])
    assert all(getattr(facula, name) is getattr(module, name) for name in facula._RARE[file])


def test_symbols_of_compilers_are_numbers():
    assert not isinstance(3, facula.SymInt) and not isinstance(1.0, facula.SymFloat)
    assert (facula.sym_int(-2.7), facula.sym_int(2.7), facula.sym_float(3)) == (-2, 2, 3.0)
    assert (facula.sym_max(1, 2), facula.sym_min(1, 2.5), facula.sym_not(0)) == (2, 1.0, True)
    assert (facula.sym_ite(False, 1, 2), facula.sym_sqrt(9), facula.sym_sum([1, 2])) == (2, 3, 3)
    with pytest.raises(RuntimeError, match="sizes are numbers"):
        facula.SymInt(3)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: facula.sym_ite(True, 1, 2.0), "type mismatch"),
        (lambda: facula.sym_ite(True, True, 2), "type mismatch"),
        (lambda: facula.sym_ite(1, 1, 2), "expected a bool as b, got <class 'int'>"),
        (
            lambda: facula.sym_max("a", "b"),
            "sym_max: expected an int or a float, got <class 'str'>",
        ),
        (lambda: facula.sym_min(1, None), "sym_min: expected an int or a float"),
        (lambda: facula.sym_max(facula.tensor(1), 2), "sym_max: expected an int or a float"),
    ],
)
def test_what_stands_for_a_number_is_one(call, message):
    with pytest.raises(AssertionError, match=message):
        call()


def test_one_of_two_functions():
    x = facula.ones(2, requires_grad=True)
    y = facula.cond(x.sum() > 5, lambda x: x * 2, lambda x: x * 3, (x,))
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="one element"):
        facula.cond(x > 0, abs, abs, (x,))
    with pytest.raises(RuntimeError, match="two functions"):
        facula.cond(True, 1, 2)


def test_tensors_over_files(tmp_path):
    path = str(tmp_path / "numbers")
    shared = facula.from_file(path, shared=True, size=4, dtype=facula.int32)
    shared.copy_(facula.arange(4))
    copy = facula.from_file(path, size=2, dtype=facula.int32)
    copy[0] = 9
    assert shared.tolist() == [0, 1, 2, 3] and copy.tolist() == [9, 1]
    with pytest.raises(RuntimeError, match="at least"):
        facula.from_file(path, size=100)
    with pytest.raises(RuntimeError, match="CPU"):
        facula.from_file(path, size=1, device="meta")
    with pytest.raises(NotImplementedError, match=r"from_file: expected layout torch\.strided"):
        facula.from_file(path, size=1, layout=facula.sparse_coo)
    with pytest.raises(
        RuntimeError, match=r"unable to open file .*nothing.* read-only mode: No su"
    ):
        facula.from_file(str(tmp_path / "nothing"), size=1)
    with pytest.raises(RuntimeError, match="read-write mode: No such file"):
        facula.UntypedStorage.from_file(str(tmp_path / "nothing" / "inside"), True, 4)


def test_modules_of_devices():
    assert facula.get_device_module("cpu") is facula.cpu
    assert facula.get_device_module(facula.device("cpu")) is facula.cpu
    assert facula.get_device_module("cuda:0") is facula.cuda
    assert facula.get_device_module("xpu") is facula.xpu
    for wrong in ("toaster", "nn", "optim:3", "meta", 3):
        with pytest.raises(RuntimeError, match="get_device_module"):
            facula.get_device_module(wrong)


def test_hashes_are_exclusive_ors():
    x = facula.tensor([[1, 2], [4, 8]])
    assert facula.hash_tensor(x).item() == 15
    assert facula.hash_tensor(x, 0).tolist() == [5, 10]
    assert facula.hash_tensor(x, 1, keepdim=True).tolist() == [[3], [12]]
    with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
        facula.hash_tensor(facula.ones(0))
    assert facula.hash_tensor(facula.ones(1)).item() == 0x3FF0000000000000
    with pytest.raises(RuntimeError, match="mode 0"):
        facula.hash_tensor(x, mode=1)


def test_hashes_of_no_dimensions_and_of_no_elements():
    x = facula.tensor([[1, 2], [4, 8]])
    assert facula.hash_tensor(x, ()).item() == 15
    assert facula.hash_tensor(x, (), keepdim=True).tolist() == [[15]]
    assert facula.hash_tensor(facula.tensor(3), 0).item() == 3
    empty = facula.hash_tensor(facula.ones(0, 3), 1)
    assert empty.shape == (0,) and empty.dtype == facula.uint64
    assert facula.hash_tensor(facula.ones(2, 0, 3), (0, 2), keepdim=True).shape == (1, 0, 1)
    with pytest.raises(IndexError, match="dim 0 to have non-zero size"):
        facula.hash_tensor(facula.ones(0, 3), 0)
    with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
        facula.hash_tensor(facula.ones(0, 3), ())
    with pytest.raises(IndexError, match=r"expected dim in \[-2, 1\], got 2"):
        facula.hash_tensor(x, 2)
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times"):
        facula.hash_tensor(x, (1, -1))


def test_norms_of_old():
    x = facula.randn(3, 4)
    facula.testing.assert_close(facula.frobenius_norm(x), facula.linalg.norm(x))
    facula.testing.assert_close(facula.frobenius_norm(x, 1, True), x.norm(dim=1, keepdim=True))
    facula.testing.assert_close(facula.nuclear_norm(x), facula.linalg.svdvals(x).sum())
    assert facula.nuclear_norm(x, True).shape == (1, 1)


def test_parts_of_sparse_tensors_are_copied():
    coo = facula.eye(2).to_sparse().coalesce()
    csr, csc = facula.eye(2).to_sparse_csr(), facula.eye(2).to_sparse_csc()
    pairs = [
        (facula.indices_copy(coo), coo.indices()),
        (facula.values_copy(coo), coo.values()),
        (facula.crow_indices_copy(csr), csr.crow_indices()),
        (facula.col_indices_copy(csr), csr.col_indices()),
        (facula.ccol_indices_copy(csc), csc.ccol_indices()),
        (facula.row_indices_copy(csc), csc.row_indices()),
    ]
    for copy, part in pairs:
        assert facula.equal(copy, part) and copy.data_ptr() != part.data_ptr()


def test_sparse_products_of_old():
    a, b = facula.eye(2).to_sparse(), facula.ones(2, 2)
    assert facula.equal(facula.spmm(a, b), b) and facula.equal(facula.dsmm(b, b), b @ b)
    assert facula.equal(facula.saddmm(b, a, b, beta=2), 3 * b)
    total = facula.sspaddmm(a, a, b, alpha=2)
    assert total.is_sparse and total.to_dense().tolist() == [[3, 2], [2, 3]]
    with pytest.raises(RuntimeError, match="sparse matrices"):
        facula.sspaddmm(b, a, b)


def test_streams_and_events_are_of_any_device():
    for kind in (facula.Stream, facula.Event):
        made = kind("cpu")
        assert isinstance(made, kind) and not isinstance(3, kind)
        assert made.device == facula.device("cpu") and made.query() and made.synchronize() is None
        if not facula.cuda.is_available():
            assert kind().device == facula.device("cpu")
            with pytest.raises(RuntimeError, match="cuda"):
                kind("cuda")
    assert issubclass(facula.cuda.Stream, facula.Stream)


def test_streams_of_the_cpu_have_nothing_to_wait_for():
    stream, event = facula.Stream(device="cpu:0", priority=-1), facula.Event("cpu")
    assert stream == facula.Stream("cpu") and hash(stream) == hash(facula.Stream("cpu"))
    assert repr(stream) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
    timed = facula.Event("cpu", enable_timing=True, interprocess=True)
    assert repr(timed).endswith("device_index=-1, event_flag=1, event_id=0")
    with stream as entered:
        assert entered is stream
    stream.wait_event(event)
    event.wait(stream)
    refused = [stream.record_event, lambda: stream.wait_stream(stream), event.record]
    for call in (*refused, lambda: timed.elapsed_time(timed)):
        with pytest.raises(RuntimeError, match="cpu backend doesn't support events"):
            call()
    with pytest.raises(ValueError, match="enable_timing=True"):
        event.elapsed_time(timed)


def test_small_ones():
    facula.init_num_threads()
    assert not facula.is_distributed(facula.ones(1))
    assert facula.random.thread_safe_generator() is None
    assert facula.GradScaler is facula.amp.GradScaler
    assert issubclass(facula.AcceleratorError, RuntimeError)
    facula.set_anomaly_enabled(True)
    assert facula.is_anomaly_enabled()
    facula.set_anomaly_enabled(False)
    assert facula.has_lapack and facula.has_spectral and not facula.has_openmp


def test_methods_of_old():
    x = facula.arange(4.0)
    assert x.const_data_ptr() == x.data_ptr() and not x.is_distributed()
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        assert x.resize(2, 2).shape == (2, 2)
    with pytest.warns(UserWarning, match="non-inplace resize_as is deprecated"):
        assert x.resize_as(facula.ones(4, 1)).shape == (4, 1)
    assert x.storage_type().__name__ == "TypedStorage"
    assert x.hash_tensor().item() == facula.hash_tensor(x).item()


def test_what_is_loaded_takes_the_place_of_a_parameter():
    x, other = facula.zeros(2, requires_grad=True), facula.ones(2)
    loaded = x.module_load(other)
    assert x.tolist() == [1, 1] and loaded.data_ptr() == x.data_ptr() and loaded is not x
    assert x.module_load(other, assign=True).data_ptr() == other.data_ptr()


def test_comparison_of_old():
    with pytest.warns(FutureWarning, match="deprecated"):
        facula.testing.assert_allclose([1.0, float("nan")], [1.00001, float("nan")])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="numbers differ"):
        facula.testing.assert_allclose(facula.ones(1), [2.0], msg="numbers differ")


def test_switches_of_backward_are_kept():
    graph = facula.autograd.graph
    graph.set_override_stale_capture_stream(True)
    graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    with pytest.raises(ValueError, match="from 0 to 1"), graph.region_activation_memory_budget(2):
        pass


def test_a_function_is_called_without_being_asked_for_again():
    calls = []

    class Log(facula.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return facula.overrides.redispatch_function(func, types, args, kwargs)

    x = facula.ones(2).as_subclass(Log)
    assert type(x * 2) is not Log and calls == ["mul"]
    with facula.overrides.enable_reentrant_dispatch():
        pass


def test_private_names_that_packages_use():
    from facula import _tensor_str

    assert facula.torch is facula
    assert facula.set_vital("Dataloader", "enabled", "True") is None
    facula._assert_async(facula.tensor(1))
    with pytest.raises(RuntimeError, match="single nonzero value"):
        facula._assert_async(facula.tensor(0))
    with pytest.raises(RuntimeError, match="told so"):
        facula._assert_async(facula.tensor(False), "told so")
    x = facula.tensor([1.0, 2.0])
    assert _tensor_str._tensor_str(x, 0) == "[1., 2.]" and _tensor_str._str(x) == repr(x)
    before = _tensor_str.PRINT_OPTS.precision
    _tensor_str.PRINT_OPTS.precision = 1
    assert "precision=1" in repr(_tensor_str.PRINT_OPTS) and "0.3, 0.7]" in repr(x / 3)
    _tensor_str.PRINT_OPTS.precision = before
    with pytest.raises(AttributeError, match="no option 'colour'"):
        _tensor_str.PRINT_OPTS.colour = 1
    assert x.map2_(x, x, lambda a, b, c: a + b + c).tolist() == [3, 6]
    facula.nn.functional.assert_int_or_pair([1, 2], "x", "{} must be a pair")
    with pytest.raises(AssertionError, match="x must be a pair"):
        facula.nn.functional.assert_int_or_pair([1], "x", "{} must be a pair")
    with facula.autograd.enforce_grad_layout_policy(False):
        pass


def test_private_convolution_ignores_the_switches_of_cudnn():
    image, weight = facula.randn(1, 2, 5, 5), facula.randn(3, 2, 3, 3)
    options = (None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1)
    result = facula.ops.aten._convolution(image, weight, *options, False, False, True, True)
    assert facula.equal(result, facula.convolution(image, weight, *options))


def test_types_of_torchscript_stand_in_annotations_and_have_no_objects():
    def move(x: str | facula.DeviceObjType, y: facula.TensorType) -> None: ...

    assert not isinstance(facula.ones(1), facula.TensorType)
    with pytest.raises(RuntimeError, match="TensorType is not part of Facula"):
        facula.TensorType()


def test_checks_raise_what_they_are_asked_to():
    facula._check(True)
    for check, error in (
        (facula._check, RuntimeError),
        (facula._check_index, IndexError),
        (facula._check_value, ValueError),
        (facula._check_type, TypeError),
        (facula._check_not_implemented, NotImplementedError),
    ):
        check(True, lambda: pytest.fail("asked for a message that is not needed"))
        with pytest.raises(error, match="seen 3"):
            check(False, lambda: f"seen {1 + 2}")
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        facula._check(False)
    with pytest.raises(TypeError, match="but got a Tensor"):
        facula._check(facula.tensor(True))
    with pytest.raises(TypeError, match="message must be a callable"):
        facula._check(False, "text")
    facula._check_tensor_all(facula.tensor([True, True]))
    with pytest.raises(ValueError, match="not all"):
        facula._check_tensor_all_with(ValueError, facula.tensor([True, False]), lambda: "not all")
    with pytest.warns(FutureWarning, match="deprecated"):
        facula._check_is_size(2, max=2)
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError):
        facula._check_is_size(-1)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_gradients_of_softmax_have_names_of_their_own(name):
    x = facula.randn(2, 3, dtype=facula.float64, requires_grad=True)
    y, g = getattr(x, name)(1), facula.randn(2, 3, dtype=facula.float64)
    (expected,) = facula.autograd.grad(y, x, g)
    got = getattr(facula, f"_{name}_backward_data")(g, y.detach(), 1, facula.float64)
    facula.testing.assert_close(got, expected)


def test_associative_scan_keeps_every_result():
    from facula._higher_order_ops.associative_scan import associative_scan

    def step(left, right):
        return {"a": left["a"] * right["a"], "b": right["a"] * left["b"] + right["b"]}

    xs = {"a": facula.rand(2, 4), "b": facula.rand(2, 4, requires_grad=True)}
    got = associative_scan(step, xs, dim=1, combine_mode="generic")
    state = facula.zeros(2)
    for i in range(4):
        state = xs["a"][:, i] * state + xs["b"][:, i]
        facula.testing.assert_close(got["b"][:, i], state)
    facula.testing.assert_close(got["a"], xs["a"].cumprod(1))
    got["b"].sum().backward()
    assert xs["b"].grad[:, 3].tolist() == [1, 1]
    x = facula.tensor([1, 2, 3])
    assert associative_scan(facula.add, x, 0, True, "generic").tolist() == [6, 5, 3]
    with pytest.raises(ValueError, match="Use combine_mode='generic'"):
        associative_scan(facula.add, x, 0)
    with pytest.raises(ValueError, match="of one shape"):
        associative_scan(step, {"a": x, "b": x[:2]}, 0, combine_mode="generic")


def test_rows_of_sparse_matrices_are_converted():
    rows, cols = facula.tensor([0, 0, 2, 3]), facula.tensor([1, 2, 0, 3])
    crow = facula._convert_indices_from_coo_to_csr(rows, 5)
    assert crow.tolist() == [0, 2, 2, 3, 4, 4] and crow.dtype == facula.int64
    assert facula._convert_indices_from_coo_to_csr(rows, 5, out_int32=True).dtype == facula.int32
    both = facula._convert_indices_from_csr_to_coo(crow, cols)
    assert both.tolist() == [[0, 0, 2, 3], [1, 2, 0, 3]]
    swapped = facula._convert_indices_from_csr_to_coo(crow, cols, out_int32=True, transpose=True)
    assert swapped.tolist() == [[1, 2, 0, 3], [0, 0, 2, 3]] and swapped.dtype == facula.int32


def test_packages_find_what_pytorch_keeps_in_private_places():
    from facula._C import _distributed_rpc

    assert facula._C._is_tracing() is False
    assert not isinstance(facula.ones(1), _distributed_rpc.PyRRef)
    assert isinstance(facula.nn.Parameter, facula.nn.parameter._ParameterMeta)
    assert not isinstance(facula.add, facula._C.ScriptMethod)
    state = importlib.import_module("facula.jit._state")
    assert not state._enabled.enabled and not state._enabled and not state._script_classes
    layer, mixin = facula.nn.ConvTranspose2d(1, 1, 1), facula.nn.modules.conv._ConvTransposeMixin
    assert not isinstance(layer, mixin) and issubclass(mixin, type(layer).__base__)


def test_hash_of_one_number_is_its_bits_and_not_its_memory():
    x = facula.tensor(5)
    hashed = facula.hash_tensor(x, -1, keepdim=True)
    assert (hashed.dtype, hashed.shape, hashed.item()) == (facula.uint64, (), 5)
    assert facula.hash_tensor(x).data_ptr() != x.data_ptr()


def test_a_rare_name_is_looked_up_once():
    assert facula.dsmm is facula.dsmm
    assert vars(facula)["dsmm"] is facula.dsmm
