"""DataParallel on logical devices: two times "cpu" are two places."""

import threading
from collections import namedtuple

import pytest

import facula
from facula import nn
from facula.nn import parallel
from facula.nn.parallel import comm

CPUS = ["cpu", "cpu"]


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))


@pytest.mark.promise("G2")
def test_gradients_of_replicas_are_summed_into_the_original():
    net, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), facula.randn(5, 4)
    expected = facula.autograd.grad(net(x).square().sum(), list(net.parameters()))
    result = parallel.data_parallel(net, x, CPUS)
    result.square().sum().backward()
    facula.testing.assert_close(result, net(x))
    for param, grad in zip(net.parameters(), expected, strict=True):
        facula.testing.assert_close(param.grad, grad)


@pytest.mark.promise("G2")
def test_without_a_gpu_and_with_one_the_module_itself_computes(device):
    net = nn.Linear(2, 3).to(device)
    wrapped = nn.DataParallel(net, device_ids=None if device == "cpu" else [0])
    x = facula.ones(4, 2, device=device)
    assert facula.equal(wrapped(x), net(x))
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    assert wrapped.module is net


@pytest.mark.promise("G2")
def test_the_class_cuts_the_batch_and_joins_the_results():
    seen = []

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 3)

        def forward(self, x, scale=1, mask=None):
            seen.append((threading.current_thread().name, x.shape, mask.shape))
            return {"y": scale * self.layer(x), "n": facula.tensor([len(x)])}

    net = nn.DataParallel(Net())
    net.device_ids, net.output_device, net.dim = [-1, -1], -1, 0  # as on a machine with two
    net.src_device_obj = facula.device("cpu")
    x = facula.randn(5, 2)
    result = net(x, scale=2, mask=facula.ones(5))
    facula.testing.assert_close(result["y"], 2 * net.module.layer(x))
    assert result["n"].tolist() == [3, 2]
    assert sorted(shape[0] for _, shape, _ in seen) == [2, 3]
    assert len({thread for thread, _, _ in seen}) == 2


def test_replicas_are_no_leaves_and_do_not_share_statistics():
    net = network()
    first, second = parallel.replicate(net, CPUS)
    assert list(first.parameters()) == []
    assert first[0].weight.grad_fn is not None
    assert second._former_parameters == {} and "weight" in second[0]._former_parameters
    before = net[1].running_mean.clone()
    second(facula.randn(6, 4))
    assert facula.equal(net[1].running_mean, before)
    first(facula.randn(6, 4))  # its buffers are those of the original
    assert not facula.equal(net[1].running_mean, before)


def test_replicas_without_gradients():
    net = network()
    with facula.no_grad():
        replicas = parallel.replicate(net, CPUS, detach=True)
    assert not replicas[1][0].weight.requires_grad
    assert facula.equal(replicas[1][0].weight, net[0].weight)


def test_shared_parameters_stay_shared():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    replica = parallel.replicate(net, CPUS)[1]
    assert replica[0].weight is replica[1].weight


def test_recurrent_layers_have_replicas_too():
    net = nn.LSTM(3, 4, batch_first=True)
    x = facula.randn(6, 5, 3)
    outputs = parallel.parallel_apply(parallel.replicate(net, CPUS), x.chunk(2))
    parallel.gather([output for output, _ in outputs], "cpu").sum().backward()
    summed = net.weight_ih_l0.grad.clone()
    net.zero_grad()
    net(x)[0].sum().backward()
    facula.testing.assert_close(summed, net.weight_ih_l0.grad)


def test_scatter_cuts_tensors_in_containers_and_gives_the_rest_to_all():
    Pair = namedtuple("Pair", "a b")
    x = facula.arange(5)
    pieces = parallel.scatter({"x": x, "pair": Pair(x, "text"), "list": [x], "empty": ()}, CPUS)
    assert [piece["x"].tolist() for piece in pieces] == [[0, 1, 2], [3, 4]]
    assert [piece["pair"].b for piece in pieces] == ["text", "text"]
    assert isinstance(pieces[1]["pair"], Pair) and pieces[1]["list"][0].tolist() == [3, 4]
    assert pieces[0]["empty"] == ()


def test_scatter_gives_fewer_pieces_for_a_small_batch():
    pieces, named = parallel.scatter_gather.scatter_kwargs((facula.ones(1, 2),), {}, CPUS)
    assert len(pieces) == len(named) == 1
    assert parallel.data_parallel(nn.Linear(2, 3), facula.ones(1, 2), CPUS).shape == (1, 3)


def test_gather_joins_containers_of_the_same_form():
    Pair = namedtuple("Pair", "a b")
    parts = [Pair(facula.ones(1), [None, {"c": facula.ones(1, 2)}]) for _ in range(2)]
    joined = parallel.gather(parts, "cpu")
    assert isinstance(joined, Pair)
    assert joined.a.tolist() == [1, 1]
    assert joined.b[0] is None and joined.b[1]["c"].shape == (2, 2)
    with pytest.raises(ValueError, match="same number of keys"):
        parallel.gather([{"a": facula.ones(1)}, {}], "cpu")


def test_gather_of_scalars_is_a_vector_with_a_warning():
    losses = [facula.tensor(1.0, requires_grad=True), facula.tensor(2.0, requires_grad=True)]
    with pytest.warns(UserWarning, match="scalars"):
        joined = parallel.gather(losses, "cpu")
    joined.sum().backward()
    assert joined.tolist() == [1, 2] and losses[0].grad.item() == 1


def test_the_error_of_a_replica_is_raised_with_its_place():
    class Bad(nn.Module):
        def forward(self, x):
            raise KeyError(f"no such key in {len(x)}")

    with pytest.raises(KeyError, match=r"(?s)in replica 0 on device.*no such key in 2"):
        parallel.parallel_apply([Bad(), Bad()], [facula.ones(2), facula.ones(3)])


def test_modes_of_the_caller_hold_in_the_threads():
    class Net(nn.Module):
        def forward(self, x):
            return x @ x, facula.is_grad_enabled()

    x = facula.ones(2, 2)
    with facula.no_grad(), facula.autocast("cpu", dtype=facula.bfloat16):
        results = parallel.parallel_apply([Net(), Net()], [x, x])
    assert [(y.dtype, grad) for y, grad in results] == [(facula.bfloat16, False)] * 2


def test_a_call_on_no_devices_is_refused():
    with pytest.raises(RuntimeError, match="data_parallel: expected at least one device"):
        facula.nn.parallel.data_parallel(facula.nn.Linear(2, 2), facula.ones(2, 2), [])


def test_parameters_elsewhere_are_refused():
    with pytest.raises(RuntimeError, match=r"parameters and buffers on device cuda:0"):
        parallel.data_parallel(nn.Linear(2, 2), facula.ones(2, 2), [0, 1])


def test_broadcast_gives_each_device_a_copy_of_its_own():
    x = facula.ones(2)
    assert facula.cuda.comm.broadcast is comm.broadcast  # by the name beside the devices
    copies = comm.broadcast(x, ["cpu", "cpu", "cpu"])
    assert copies[0] is x
    copies[1].zero_()
    assert copies[2].tolist() == x.tolist() == [1, 1]
    targets = [facula.empty(2), facula.empty(2)]
    comm.broadcast(x, out=targets)
    assert targets[1].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="exactly one of devices and out"):
        comm.broadcast(x)


def test_many_tensors_are_sent_in_groups_of_one_dtype():
    tensors = [facula.ones(3), facula.arange(2), facula.zeros(2, 2), facula.tensor(5)]
    lists = comm.broadcast_coalesced(tensors, CPUS, buffer_size=8)
    for copy, tensor in zip(lists[1], tensors, strict=True):
        assert copy.dtype == tensor.dtype and facula.equal(copy, tensor)
    sums = comm.reduce_add_coalesced(lists, buffer_size=8)
    assert [t.tolist() for t in sums] == [[2, 2, 2], [0, 2], [[0, 0], [0, 0]], 10]


def test_sums_need_one_shape():
    with pytest.raises(ValueError, match=r"tensor 1 has the shape \(3,\), expected \(2,\)"):
        comm.reduce_add([facula.ones(2), facula.ones(3)])


def test_scatter_with_sizes_and_into_tensors():
    x = facula.arange(5)
    assert [p.tolist() for p in comm.scatter(x, CPUS, chunk_sizes=[1, 4])] == [[0], [1, 2, 3, 4]]
    out = [facula.empty(2, dtype=facula.int64), facula.empty(3, dtype=facula.int64)]
    assert [p.tolist() for p in comm.scatter(x, out=out)] == [[0, 1], [2, 3, 4]]
    total = facula.empty(5, dtype=facula.int64)
    assert comm.gather(out, out=total).tolist() == x.tolist()


def test_second_derivatives_pass_through_the_copies():
    weight = facula.tensor([2.0], requires_grad=True)
    net = nn.Module()
    net.weight = nn.Parameter(facula.tensor([2.0]))
    copies = parallel._functions.Broadcast.apply(CPUS, weight)
    (first,) = facula.autograd.grad(sum(c**3 for c in copies).sum(), weight, create_graph=True)
    (second,) = facula.autograd.grad(first.sum(), weight)
    assert (first.item(), second.item()) == (24.0, 24.0)
