"""Captured work: what a launch of it computes, and what cannot be captured."""

import pytest

import facula
from facula import cuda, nn
from facula.testing import assert_close

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]


def capture(function):
    graph = cuda.CUDAGraph()
    with cuda.stream(cuda.Stream()):
        function()  # programs are compiled, libraries choose
    with cuda.graph(graph):
        result = function()
    return graph, result


def test_a_launch_computes_with_what_the_inputs_hold_now():
    x = facula.zeros(1000, device="cuda")
    graph, y = capture(lambda: (x + 1).exp().sum())
    for value in (0.0, 1.0, -2.0):
        x.fill_(value)
        graph.replay()
        assert_close(y, (x + 1).exp().sum())


def test_memory_of_a_graph_is_its_own():
    x = facula.ones(1 << 20, device="cuda")
    graph, y = capture(lambda: (x * 2).add(1).mul(3))
    # Would take what the graph uses between its operations, if it could.
    others = [facula.full((1 << 20,), 7.0, device="cuda") for _ in range(8)]
    cuda.empty_cache()
    graph.replay()
    assert (y == 9).all()
    assert all((z == 7).all() for z in others)
    graph.reset()


def test_each_launch_draws_other_numbers():
    x = facula.ones(10000, device="cuda")
    graph, y = capture(lambda: nn.functional.dropout(x, 0.5))
    cuda.manual_seed(5)
    graph.replay()
    first = y.clone()
    graph.replay()
    assert 0.3 < (first == y).float().mean().item() < 0.7
    cuda.manual_seed(5)
    graph.replay()
    assert (first == y).all()
    assert 0.45 < (y > 0).float().mean().item() < 0.55


def test_a_training_step_is_captured():
    facula.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 5)).cuda()
    x, target = facula.randn(8, 20).cuda(), facula.randint(5, (8,)).cuda()

    def step():
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        return loss

    step()
    expected = [p.grad.clone() for p in model.parameters()]
    for p in model.parameters():
        p.grad.zero_()
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        loss = step()
    for p in model.parameters():
        p.grad.zero_()
    graph.replay()
    assert loss.item() > 0
    for p, e in zip(model.parameters(), expected, strict=True):
        assert_close(p.grad, e)


def test_probabilities_are_checked_in_a_captured_step():
    x = facula.full((300,), 0.5, device="cuda", requires_grad=True)
    target = facula.ones(300, device="cuda")

    def step():
        loss = nn.functional.binary_cross_entropy(x, target)
        return loss, *facula.autograd.grad(loss, x)

    graph, (loss, _) = capture(step)
    graph.replay()
    assert_close(loss.cpu(), nn.functional.binary_cross_entropy(x.cpu(), target.cpu()))
    target[299] = 2
    graph.replay()
    with pytest.raises(RuntimeError, match="expected target with values from 0 to 1, got 2"):
        cuda.synchronize()


CAPTURED = {
    "norm": lambda x: x.norm(dim=1),
    "norm of order 0.5": lambda x: x.norm(0.5, dim=1),
    "std": lambda x: x.std(1),
    "logsumexp": lambda x: x.logsumexp(1),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "angle": lambda x: x.angle(),
    "normalize": lambda x: nn.functional.normalize(x),
    "triplet loss": lambda x: nn.functional.triplet_margin_loss(x, x.flip(0), x.flip(1)),
    "dropout of all": lambda x: nn.functional.dropout(x, 1.0),
    "multi margin loss": lambda x: nn.functional.multi_margin_loss(x, x.argmin(1)),
    "multilabel margin loss": lambda x: nn.functional.multilabel_margin_loss(
        x, x.argsort(1).where(x.sort(1)[0] < 0, -1)
    ),
    "repeat_interleave": lambda x: x.repeat_interleave(x.argmin(1) + 2, 0, output_size=8),
    "linspace": lambda x: x * facula.linspace(-1, 3, 5, dtype=x.dtype, device=x.device),
    "logspace": lambda x: x * facula.logspace(-1, 2, 5, dtype=x.dtype, device=x.device),
    "max unpool": lambda x: nn.functional.max_unpool1d(x, x.argsort(1), 2, output_size=(9,)),
}


@pytest.mark.parametrize("name", CAPTURED)
def test_operations_with_numbers_and_checks_are_captured(name):
    def step(x):
        y = CAPTURED[name](x)
        return y, *facula.autograd.grad(y.sum(), x)

    x = facula.linspace(-2, 3, 20, dtype=facula.float64).reshape(4, 5)
    there = x.cuda().requires_grad_()
    graph, results = capture(lambda: step(there))
    graph.replay()
    for actual, expected in zip(results, step(x.requires_grad_()), strict=True):
        assert_close(actual.cpu(), expected)


def test_slopes_of_rrelu_are_drawn_in_a_captured_step():
    x = facula.tensor([-1.0, 2.0] * 500, device="cuda", requires_grad=True)

    def step():
        y = nn.functional.rrelu(x, 0.25, 0.5, training=True)
        return y, *facula.autograd.grad(y.sum(), x)

    graph, (y, slopes) = capture(step)
    seen = []
    for _ in range(2):
        graph.replay()
        assert facula.equal(y, x.detach() * slopes)
        assert (slopes[1::2] == 1).all()
        seen.append(slopes[::2].cpu())
        assert ((seen[-1] >= 0.25) & (seen[-1] <= 0.5)).all()
    assert (seen[0] != seen[1]).float().mean() > 0.9


def test_counts_that_do_not_fit_are_told_after_a_captured_repeat_interleave():
    x = facula.arange(3, device="cuda")
    counts = facula.tensor([1, 2, 1], device="cuda")
    graph, y = capture(lambda: x.repeat_interleave(counts, output_size=4))
    graph.replay()
    assert y.tolist() == [0, 1, 1, 2]
    for wrong in ([1, 4, 1], [-1, 4, 1], [1, 1, 1]):
        counts.copy_(facula.tensor(wrong))
        graph.replay()
        with pytest.raises((IndexError, RuntimeError)):
            cuda.synchronize()


def test_a_number_is_written_in_a_captured_step():
    x = facula.zeros(3, 4, device="cuda")
    at = facula.tensor([0, 2], device="cuda")

    def step():
        x[0] = 1.5
        x[1, 1] = 2
        x[:, at] = 3
        return x

    graph, _ = capture(step)
    x.zero_()
    graph.replay()
    assert x.tolist() == [[3, 1.5, 3, 1.5], [3, 2, 3, 0], [3, 0, 3, 0]]


def test_indices_of_triangles_are_captured():
    graph, at = capture(lambda: facula.tril_indices(5, 4, 1, device="cuda"))
    graph.replay()
    assert facula.equal(at.cpu(), facula.tril_indices(5, 4, 1))


def test_what_needs_the_cpu_is_refused_and_the_gpu_stays_usable():
    x = facula.ones(3, device="cuda")
    for forbidden in (lambda: x.sum().item(), lambda: x.cpu(), lambda: facula.ones(3).cuda()):
        graph = cuda.CUDAGraph()
        with pytest.raises(RuntimeError, match="while a graph is captured"), cuda.graph(graph):
            forbidden()
        assert not cuda.is_current_stream_capturing()
        assert x.sum().item() == 3
    with pytest.raises(RuntimeError, match="has not been captured"):
        graph.replay()
    with pytest.raises(RuntimeError, match="default stream"):
        graph.capture_begin()


def test_graphed_callables_train_as_before():
    facula.manual_seed(1)
    plain = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 3)).cuda()
    graphed = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 3)).cuda()
    graphed.load_state_dict(plain.state_dict())
    sample = facula.randn(4, 10, device="cuda")
    graphed = cuda.make_graphed_callables(graphed, (sample,))
    optimizers = [facula.optim.SGD(m.parameters(), lr=0.1) for m in (plain, graphed)]
    for _ in range(4):
        x = facula.randn(4, 10, device="cuda")
        losses = []
        for model, optimizer in zip((plain, graphed), optimizers, strict=True):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach().clone())
        assert_close(losses[0], losses[1])
    graphed.eval()
    assert_close(graphed(x[:2]), plain(x[:2]), rtol=1e-4, atol=1e-4)


def test_graphs_share_a_pool():
    x = facula.ones(1 << 18, device="cuda")
    first, second = cuda.CUDAGraph(), cuda.CUDAGraph()
    with cuda.graph(first):
        y = x * 2
    with cuda.graph(second, pool=first.pool()):
        z = y + 1
    assert second.pool() == first.pool()
    first.replay()
    second.replay()
    assert (z == 3).all()
