"""``distributed`` can be imported, answers questions, and says what is missing."""

import importlib

import pytest

import facula
from facula import distributed as dist
from facula import nn


@pytest.mark.promise("U2")
def test_programs_are_led_to_the_branch_of_one_process():
    assert not dist.is_available()
    assert not dist.is_initialized()
    assert not dist.is_nccl_available() and not dist.is_gloo_available()
    assert not dist.is_torchelastic_launched()
    assert not dist.rpc.is_available()
    rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0
    assert rank == 0


@pytest.mark.promise("U2")
@pytest.mark.parametrize(
    "name", ["get_rank", "get_world_size", "barrier", "all_reduce", "broadcast", "all_gather"]
)
def test_what_needs_other_processes_says_so(name):
    with pytest.raises(ValueError, match=rf"distributed\.{name}: Default process group has not"):
        getattr(dist, name)(facula.ones(1))


def test_a_process_outside_of_a_group_has_no_number_in_it():
    outside = dist.GroupMember.NON_GROUP_MEMBER
    assert dist.get_rank(outside) == dist.get_world_size(outside) == -1
    assert dist.get_rank(group=outside) == -1
    dist.destroy_process_group(outside)
    with pytest.raises(AssertionError, match="there is no process group"):
        dist.destroy_process_group()


def test_starting_a_group_names_the_missing_engine():
    with pytest.raises(RuntimeError, match="no engine yet for several processes"):
        dist.init_process_group("gloo", rank=0, world_size=1)
    with pytest.raises(RuntimeError, match=r"DistributedDataParallel.*DataParallel"):
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    with pytest.raises(AssertionError, match="no process group"):
        dist.destroy_process_group()


def test_constants_can_be_named():
    assert dist.ReduceOp.SUM != dist.ReduceOp.MAX
    assert dist.ReduceOp(dist.ReduceOp.SUM) == dist.ReduceOp.SUM
    assert dist.group.WORLD is None and dist.GroupMember.WORLD is None
    assert dist.Backend("NCCL") == "nccl"
    assert dist.supports_complex(dist.ReduceOp.SUM) and not dist.supports_complex(dist.ReduceOp.MAX)


def test_the_local_rank_comes_from_the_environment(monkeypatch):
    with pytest.raises(RuntimeError, match="LOCAL_RANK"):
        dist.get_node_local_rank()
    assert dist.get_node_local_rank(2) == 2
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert dist.get_node_local_rank() == 3


def test_nothing_is_of_the_classes_of_several_processes():
    assert not isinstance(facula.ones(1), dist.tensor.DTensor)
    assert not isinstance(nn.Linear(1, 1), nn.parallel.DistributedDataParallel)
    assert not isinstance(nn.Linear(1, 1), dist.fsdp.FullyShardedDataParallel)
    assert not isinstance(nn.Linear(1, 1), dist.fsdp.FSDPModule)
    with pytest.raises(RuntimeError, match="DTensor is not part of Facula"):
        dist.tensor.DTensor(facula.ones(1))


@pytest.mark.parametrize(
    "module, names",
    [
        ("_composable.fsdp", ["FSDPModule", "fully_shard"]),
        ("_tensor.experimental", ["implicit_replication"]),
        ("_tensor", ["DTensor", "Replicate", "Shard"]),
        ("algorithms.join", ["Join"]),
        ("algorithms._checkpoint.checkpoint_wrapper", ["checkpoint_wrapper"]),
        ("checkpoint", ["save"]),
        ("device_mesh", ["DeviceMesh", "init_device_mesh"]),
        ("elastic.multiprocessing.errors", ["record"]),
        ("fsdp", ["MixedPrecision", "ShardingStrategy", "StateDictType", "CPUOffload"]),
        ("fsdp.fully_sharded_data_parallel", ["FullyShardedDataParallel", "FullStateDictConfig"]),
        ("fsdp.sharded_grad_scaler", ["ShardedGradScaler"]),
        ("fsdp.wrap", ["transformer_auto_wrap_policy"]),
        ("nn.functional", ["all_reduce"]),
        ("optim", ["ZeroRedundancyOptimizer"]),
        ("rpc.api", ["_require_initialized"]),
        ("tensor.parallel", ["ColwiseParallel", "parallelize_module"]),
        ("tensor.placement_types", ["Placement"]),
    ],
)
def test_modules_that_packages_import_are_there(module, names):
    found = importlib.import_module(f"facula.distributed.{module}")
    assert all(hasattr(found, name) for name in names)


def test_placements_compare_by_what_they_say():
    from facula.distributed.tensor import Partial, Replicate, Shard

    assert Shard(1) == Shard(1) != Shard(0)
    assert Replicate().is_replicate() and Partial().is_partial("sum")
    assert repr(Shard(dim=1)) == "Shard(dim=1)"


def test_policies_choose_modules():
    from facula.distributed.fsdp import wrap

    big = nn.Linear(10, 10)
    assert wrap.size_based_auto_wrap_policy(big, False, 200, min_num_params=100)
    assert not wrap.size_based_auto_wrap_policy(big, False, 20, min_num_params=100)
    assert wrap.transformer_auto_wrap_policy(big, False, 0, {nn.Linear})
    assert not wrap.ModuleWrapPolicy({nn.Conv2d})(big, False)


def test_wrapped_modules_compute_their_activations_again():
    from facula.distributed.algorithms._checkpoint.checkpoint_wrapper import (
        CheckpointWrapper,
        apply_activation_checkpointing,
    )

    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    x = facula.ones(4, 2)
    net(x).sum().backward()
    expected, names = net[0].weight.grad.clone(), list(net.state_dict())
    net.zero_grad()
    apply_activation_checkpointing(net, check_fn=lambda m: isinstance(m, nn.Linear))
    assert isinstance(net[0], CheckpointWrapper)
    assert list(net.state_dict()) == names
    net.load_state_dict(net.state_dict())
    net(x).sum().backward()
    assert facula.equal(net[0].weight.grad, expected)
