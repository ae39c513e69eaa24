"""Small things that programs do and that stopped them once."""

import sys
import typing

import numpy as np
import pytest

import facula
from facula import nn

pytestmark = pytest.mark.promise("U2")

OTHER_DEVICES = ["mps", "xpu", "hpu", "xla", "mtia", "privateuseone", "ipu", "maia", "vulkan"]


def test_devices_are_compared_with_anything():
    device = facula.device("cpu")
    assert (device == None, device != None) == (False, True)  # noqa: E711
    assert device != "cpu" and device != 0
    assert device == facula.device("cpu")


@pytest.mark.parametrize("name", OTHER_DEVICES)
def test_other_devices_can_be_named_and_compared(name):
    device = facula.device(name, 1)
    assert (device.type, device.index, str(device)) == (name, 1, f"{name}:1")
    assert device == facula.device(f"{name}:1") and hash(device) == hash(facula.device(f"{name}:1"))
    assert facula.device(name) != facula.ones(1).device
    assert repr(facula.device(name)) == f"device(type='{name}')"


@pytest.mark.parametrize("name", OTHER_DEVICES)
def test_no_tensor_can_be_on_another_device(name):
    text = f"device: Facula has no tensors on '{name}'. It computes on 'cpu', and on 'cuda' where"
    for make in (
        lambda: facula.ones(1, device=name),
        lambda: facula.tensor([1.0], device=name),
        lambda: facula.ones(1).to(name),
        lambda: nn.Linear(1, 1).to(name),
        lambda: facula.Generator(name),
    ):
        with pytest.raises(NotImplementedError, match=text):
            make()


def test_words_that_are_no_device_are_refused():
    with pytest.raises(RuntimeError, match="device: expected one of 'cpu', 'cuda', 'meta' as"):
        facula.device("gpu")


def test_none_is_no_tensor():
    assert facula.is_tensor(None) is False


def test_numpy_of_a_parameter_without_grad_mode():
    weight = nn.Parameter(facula.ones(2))
    with facula.no_grad():
        array = weight.numpy()
        assert np.asarray(weight).tolist() == [1.0, 1.0]
    array[0] = 3
    assert weight[0] == 3  # the same memory
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        weight.numpy()


def test_names_of_typed_tensors_stand_in_annotations():
    def forward(ids: facula.LongTensor | None, mask: None | facula.FloatTensor = None): ...  # noqa: RUF036

    hints = typing.get_type_hints(forward)
    assert facula.LongTensor in typing.get_args(hints["ids"])
    assert type(None) in typing.get_args(hints["mask"])


def test_the_size_of_a_storage_has_its_memory():
    small, large = facula.ones(1), facula.ones(1001)
    for kind in ("storage", "untyped_storage"):
        sizes = [sys.getsizeof(getattr(x, kind)()) for x in (small, large)]
        assert sizes[1] - sizes[0] == 4000


@pytest.mark.parametrize("name", ["nested", "mkldnn", "mps", "xpu", "xla", "ipu", "mtia", "maia"])
def test_tensors_are_asked_where_they_are(name):
    name = f"is_{name}"
    assert getattr(facula.ones(1), name) is False
    assert getattr(facula.ones(1).to_sparse(), name) is False
    asked = facula.func.vmap(lambda x: x + getattr(x, name))(facula.ones(2))
    assert asked.tolist() == [1.0, 1.0]


def test_storages_are_mapped_from_files(tmp_path):
    path = str(tmp_path / "numbers")
    np.arange(4, dtype=np.float32).tofile(path)
    private = facula.FloatStorage.from_file(path)
    private[0] = 9.0
    assert private.tolist() == [9.0, 1.0, 2.0, 3.0]
    shared = facula.UntypedStorage.from_file(path, shared=True, nbytes=20)
    shared[19] = 1
    assert np.fromfile(path, np.uint8).tolist()[19] == 1 and np.fromfile(path, np.float32)[0] == 0
    assert facula.UntypedStorage.from_file(path, False, 4).nbytes() == 4
    with pytest.raises(RuntimeError, match="from_file: expected a file of at least 21 bytes, but"):
        facula.UntypedStorage.from_file(path, False, 21)
    with pytest.raises(RuntimeError, match=r"from_file: unable to open file .*No such file"):
        facula.UntypedStorage.from_file(path + "x")
    assert facula.UntypedStorage.from_file(path + "new", shared=True).nbytes() == 0


def test_errors_of_python_name_the_class_that_users_know():
    with pytest.raises(TypeError, match=r"^Module.cpu\(\) takes 1 positional argument"):
        nn.Linear(1, 1).cpu(3)
    with pytest.raises(TypeError, match=r"^Module.state_dict\(\) got an unexpected keyword"):
        nn.Linear(1, 1).state_dict(x=3)

    with pytest.raises(AttributeError, match=r"^'_SingleProcessDataLoaderIter' object has no"):
        iter(facula.utils.data.DataLoader([1])).nothing  # noqa: B018


def test_a_mask_that_is_subtracted_is_told_as_the_operator():
    with pytest.raises(RuntimeError, match=r"^sub: a bool tensor has no difference"):
        1 - facula.ones(1, dtype=facula.bool)


def test_memory_formats_print_as_pytorchs():
    assert str(facula.channels_last) == repr(facula.channels_last) == "torch.channels_last"


def test_warnings_of_the_core_name_the_line_of_the_program(programs):
    programs.write("import torch\nx = torch.ones(1, requires_grad=True)\n(x * 2).grad\n")
    done = programs.start("program.py")
    assert done.stderr.startswith(f"{programs.folder}/program.py:3: UserWarning: The .grad")


def test_what_pytorchs_core_is_asked(programs):
    out = programs.lines(
        """
        import torch
        from torch._C import _disabled_torch_function_impl, _TensorMeta
        from torch._C._functorch import is_batchedtensor, get_unwrapped
        import torch._C._nn

        assert isinstance(torch.Tensor, _TensorMeta)
        assert torch._C._get_tracing_state() is None
        assert torch._C._get_privateuse1_backend_name() == "privateuseone"
        assert torch._C._log_api_usage_once("program") is None
        assert not torch._C._are_functorch_transforms_active()
        assert torch._C._jit_set_profiling_executor(False) is False
        assert torch._C._nn.gelu(torch.zeros(1)).item() == 0
        assert torch._C._nn._parse_to("cpu", torch.float64)[1] == torch.float64
        assert torch._C.is_grad_enabled() and torch._C.Size is torch.Size
        with torch._C.DisableTorchFunctionSubclass():
            pass
        assert not hasattr(torch._C, "_cuda_nothing") and not hasattr(torch._C, "nothing")
        seen = []

        def look(x):
            seen.append((is_batchedtensor(x), get_unwrapped(x).shape))
            return x

        torch.func.vmap(look)(torch.ones(3, 2))
        print(seen, is_batchedtensor(torch.ones(1)))
        """
    )
    assert out == ["[(True, torch.Size([3, 2]))] False"]
