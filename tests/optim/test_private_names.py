"""Names of ``torch.optim.optimizer`` and ``nn.Module`` that packages reach for."""

import pytest

import facula
from facula import nn, optim
from facula.nn.modules import module as module_names
from facula.nn.utils._named_member_accessor import NamedMemberAccessor, swap_tensor
from facula.optim import optimizer as names


@pytest.mark.promise("U2")
def test_an_optimiser_of_others_uses_the_helpers():
    class Mine(optim.Optimizer):
        def __init__(self, params, lr=0.5, differentiable=False):
            super().__init__(params, {"lr": lr, "differentiable": differentiable})

        @names._use_grad_for_differentiable
        def step(self, closure=None):
            self._cuda_graph_capture_health_check()
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                fused, foreach = names._default_to_fused_or_foreach(params, False)
                assert (fused, foreach) == (False, False)
                self.recorded = facula.is_grad_enabled()
                grads = [p.grad for p in params]
                grouped = self._group_tensors_by_device_and_dtype([params, grads])
                for (own, theirs), _ in grouped.values():
                    facula._foreach_add_(own, theirs, alpha=-names._get_value(group["lr"]))

    x = facula.ones(2, requires_grad=True)
    x.sum().backward()
    optimizer = Mine([x])
    optimizer.step()
    assert x.tolist() == [0.5, 0.5] and not optimizer.recorded
    assert isinstance(optimizer._optimizer_step_pre_hooks, dict)
    optimizer._optimizer_step_code()
    optimizer._patch_step_function()


def test_small_helpers():
    assert names._get_value(facula.tensor(2.5)) == 2.5 and names._get_value(3) == 3
    assert names._to_scalar(facula.ones(1)).shape == ()
    assert names._dispatch_sqrt(4) == 2 and names._dispatch_sqrt(facula.tensor(4.0)) == 2
    assert names._get_scalar_dtype() == facula.float32
    x = facula.ones(1)
    assert names._default_to_fused_or_foreach([x], False, use_fused=True) == (True, False)
    assert names._default_to_fused_or_foreach([x], True, use_fused=True) == (False, False)
    names._device_dtype_check_for_fused(x)
    with pytest.raises(RuntimeError, match="fused=True requires"):
        names._device_dtype_check_for_fused(x.long())
    params, states = [facula.ones(1, dtype=facula.complex64), x], [x.cfloat(), x]
    names._view_as_real(params, states)
    assert params[0].shape == (1, 2) and states[0].shape == (1, 2) and params[1] is x
    function = names._disable_dynamo_if_unsupported(single_tensor_fn=len)(max)
    assert function is max


@pytest.mark.promise("U2")
def test_hooks_of_all_modules_can_be_written_to_their_table():
    seen = []
    layer = nn.Linear(1, 1)
    key = object()
    module_names._global_forward_hooks[key] = lambda m, args, out: seen.append(type(m).__name__)
    try:
        layer(facula.ones(1, 1))
    finally:
        del module_names._global_forward_hooks[key]
    layer(facula.ones(1, 1))
    assert seen == ["Linear"]
    assert module_names._EXTRA_STATE_KEY_SUFFIX == "_extra_state"
    assert isinstance(layer.load_state_dict(layer.state_dict()), module_names._IncompatibleKeys)
    assert nn.Module.T_destination is not None


@pytest.mark.parametrize("name", ["xpu", "ipu", "mtia"])
def test_modules_do_not_move_to_devices_that_are_not_there(name):
    with pytest.raises((RuntimeError, NotImplementedError), match=name):
        getattr(nn.Linear(1, 1), name)()


def test_tensors_of_modules_by_their_paths():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    access = NamedMemberAccessor(net)
    new = facula.zeros(3, 2)
    old = access.swap_tensor("0.weight", new)
    assert net[0].weight is new and isinstance(old, nn.Parameter)
    access.set_tensor("0.weight", old)
    before, missing = access.swap_tensors_dict({"0.bias": facula.ones(3)})
    assert list(before) == ["0.bias"] and missing == []
    assert access.check_keys(["0.weight", "nothing"])[1] == ["nothing"]
    assert access.get_tensors(["1.running_mean"])[0] is net[1].running_mean
    inner = nn.Linear(2, 3)
    assert access.swap_submodule("0", inner) is not inner and net[0] is inner
    access.del_tensor("0.bias")
    assert "bias" not in dict(inner.named_parameters())
    with pytest.raises(AttributeError, match="no attribute `nothing`"):
        swap_tensor(net, "nothing", new)
    with pytest.raises(KeyError, match="contain"):
        swap_tensor(net, "0.weight", new)
    with pytest.raises(KeyError, match="does not exist"):
        access.swap_submodule("7", inner)


def test_names_of_transforms_fakes_and_quantization():
    from importlib import import_module

    from facula import _subclasses, ao, quantization
    from facula._functorch import apis
    from facula._subclasses import fake_tensor, meta_utils

    vmap = import_module("facula._functorch.vmap")
    assert apis.vmap is facula.vmap and vmap._get_name(len) == "len"
    leaves, spec = vmap.tree_flatten([1, {"a": 2}])
    assert vmap._broadcast_to_and_flatten(0, spec) == [0, 0]
    assert vmap.tree_unflatten(leaves, spec) == [1, {"a": 2}]
    with pytest.raises(RuntimeError, match=r"Use torch\.vmap"):
        vmap._add_batch_dim(facula.ones(1), 0, 1)
    x = facula.ones(2)
    assert not fake_tensor.is_fake(x) and not isinstance(x, _subclasses.FakeTensor)
    with fake_tensor.unset_fake_temporarily() as mode:
        assert mode is None
    with pytest.raises(RuntimeError, match="device meta"):
        _subclasses.FakeTensorMode()
    convert = meta_utils.MetaConverter()
    assert convert(x).is_meta and convert(x) is convert(x)
    assert not isinstance(nn.Linear(1, 1), ao.quantization.FakeQuantizeBase)
    with pytest.raises(RuntimeError, match="no quantized tensors"):
        quantization.quantize_dynamic(nn.Linear(1, 1))


def test_schedules_are_no_instances_of_the_older_base():
    base = optim.lr_scheduler._LRScheduler
    optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
    assert not isinstance(optim.lr_scheduler.StepLR(optimizer, 1), base)

    class Halving(base):
        def get_lr(self):
            return [rate * 0.5**self.last_epoch for rate in self.base_lrs]

    assert isinstance(Halving(optimizer), optim.lr_scheduler.LRScheduler)


def test_names_by_which_modules_and_cells_are_called():
    import facula._VF as functions
    from facula._vmap_internals import vmap

    layer, x = nn.Linear(2, 3), facula.ones(1, 2)
    layer.register_forward_hook(lambda module, args, result: result * 0)
    assert layer._call_impl(x).tolist() == layer._wrapped_call_impl(x).tolist() == [[0.0] * 3]
    assert layer._compiled_call_impl is None
    assert functions.lstm_cell is facula.lstm_cell and vmap is facula.vmap
    assert not hasattr(functions, "nothing")
