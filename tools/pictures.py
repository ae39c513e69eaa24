"""Draw the pictures of the chapters in docs/learn, from what the programs there really do.

The numbers, shapes, versions and names of nodes in a picture are read from the tensors of a program
that is run here. The tests draw the pictures again and compare.

    python -m tools.pictures    # writes docs/images/learn
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import facula
from facula import Tensor, nn, optim
from facula.autograd.graph import saved_tensors_hooks
from facula.nn import functional as F
from facula.nn.utils.rnn import pack_sequence, pad_sequence
from facula.utils.data import DataLoader, Dataset, get_worker_info
from tools.svg import CELL, Drawing

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "images" / "learn"
Say = Callable[[str, str], str]  # the English words or the Chinese ones


def views(say: Say) -> Drawing:
    """One row of memory, seen through three descriptions."""
    x = facula.arange(6).reshape(2, 3)
    shown = {"x": x, "x.t()": x.t(), "x[:, ::2]": x[:, ::2]}
    d = Drawing(720, 330, say("Three tensors over one memory", "同一块内存上的三个张量"))
    left = 20.0
    for name, tensor in shown.items():
        d.word(left, 24, name, "code")
        d.word(left, 44, f"{say('strides', '步长')} {tensor.stride()}", "small faint")
        for i, row in enumerate(tensor.tolist()):
            for j, value in enumerate(row):
                place = tensor.storage_offset() + i * tensor.stride(0) + j * tensor.stride(1)
                d.cell(left + j * CELL, 56 + i * CELL, str(value), hue=place)
        left += max(tensor.shape[1] * CELL, 140) + 100
    memory = x.untyped_storage()
    count = memory.nbytes() // x.element_size()
    d.word(20, 232, say("the storage, one row of numbers", "存储：一排数"))
    for place, value in enumerate(facula.as_strided(x, (count,), (1,), 0).tolist()):
        d.cell(20 + place * 60, 244, str(value), hue=place, width=60)
        d.word(50 + place * 60, 302, f"{place}", "small faint", "middle")
    is_one = all(t.untyped_storage().data_ptr() == memory.data_ptr() for t in shown.values())
    d.word(
        20,
        322,
        say(f"the same memory for all three: {is_one}", f"三者是同一块内存：{is_one}"),
        "small",
    )
    return d


def broadcasting(say: Say) -> Drawing:
    """Stretched numbers are dashed: they are read again, not copied."""
    column, row = facula.tensor([[0.0], [10.0]]), facula.tensor([1.0, 2.0, 3.0])
    total = column + row
    d = Drawing(640, 180, say("A column plus a row", "一列加一行"))
    left = 20.0
    for sign, name, tensor in (
        ("", "column", column),
        ("+", "row", row),
        ("=", "column + row", total),
    ):
        d.word(left - 24, 96, sign, "", "middle")
        d.word(left, 24, f"{name} {tuple(tensor.shape)}", "code small")
        wide = tensor.expand(total.shape)
        for i, values in enumerate(wide.tolist()):
            for j, value in enumerate(values):
                is_own = (i == 0 or wide.stride(0) != 0) and (j == 0 or wide.stride(1) != 0)
                d.cell(left + j * 50, 40 + i * 50, f"{value:g}", hue=0 if is_own else None,
                       is_dashed=not is_own, width=50, height=50)  # fmt: skip
        d.word(left, 160, f"{say('strides', '步长')} {wide.stride()}", "small faint")
        left += 210
    return d


def _chain(loss: Tensor) -> list[Any]:
    """The nodes from a loss down its first inputs."""
    nodes: list[Any] = [loss.grad_fn]
    while nodes[-1].next_functions:
        nodes.append(nodes[-1].next_functions[0][0])
    return nodes


def _short_name(node: Any) -> str:
    return str(node.name()).rsplit("::", 1)[-1]


def leaves(say: Say) -> Drawing:
    """A graph, forward above and the gradients on their way back below."""
    w = facula.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    loss = h.sum()
    passed: dict[str, Tensor] = {}
    h.register_hook(lambda g: passed.__setitem__("h", g))
    names = [_short_name(node) for node in reversed(_chain(loss))]
    loss.backward()
    d = Drawing(720, 210, say("What backward leaves behind", "backward 之后留下什么"))
    tensors = [("w", w), ("h = w * 3", h), ("loss = h.sum()", loss)]
    for i, (name, tensor) in enumerate(tensors):
        x = 20 + i * 250
        d.box(x, 20, 170, 56, hue=2 if tensor.is_leaf else None)
        d.word(x + 85, 42, name, "code", "middle")
        kind = say("a leaf", "叶子") if tensor.is_leaf else say("a result", "运算结果")
        d.word(x + 85, 64, kind, "small faint", "middle")
        if i:
            d.arrow((x - 80, 48), (x - 2, 48))
    for i, name in enumerate(names):
        d.cell(20 + i * 250, 110, name, width=170, height=34)
        if i:
            d.arrow((18 + i * 250, 127), (i * 250 - 58, 127))
    kept = f"w.grad = {_numbers(w.grad)}"
    d.word(105, 172, kept, "code small good", "middle")
    d.word(105, 192, say("kept", "留下"), "small good", "middle")
    d.word(355, 172, f"{_numbers(passed['h'])}", "code small bad", "middle")
    d.word(355, 192, say("passed on, then dropped", "传下去，然后丢弃"), "small bad", "middle")
    return d


def _numbers(x: Tensor | None) -> str:
    return "None" if x is None else "[" + ", ".join(f"{v:g}" for v in x.tolist()) + "]"


def accumulation(say: Say) -> Drawing:
    """The path of a weight with and without ``zero_grad``."""

    def path(zeroes: bool) -> list[tuple[float, float]]:
        w = facula.tensor(5.0, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.4)
        points = [(0.0, float(w))]
        for step in range(12):
            if zeroes:
                optimizer.zero_grad()
            (w**2).backward()
            optimizer.step()
            points.append((step + 1.0, float(w)))
        return points

    d = Drawing(720, 280, say("The weight of w**2 over the steps", "w**2 的权重随步数的变化"))
    curves = [
        ("zero_grad()", "good", path(True)),
        (say("without", "没有 zero_grad()"), "bad", path(False)),
    ]
    d.chart(60, 40, 520, 200, curves, (say("step", "步"), "w"))
    return d


def train_and_eval(say: Say) -> Drawing:
    """What dropout does to ones, called twice in each mode."""
    facula.manual_seed(0)
    dropout = nn.Dropout(0.5)
    x = facula.ones(10)
    d = Drawing(
        720, 210, say("What nn.Dropout(0.5) makes of ten ones", "nn.Dropout(0.5) 把十个 1 变成什么")
    )
    top = 10.0
    for mode in (True, False):
        dropout.train(mode)
        for call in (1, 2):
            name = f"{'train' if mode else 'eval'}()"
            d.word(20, top + 26, f"{name}, {say('call', '第')} {call}{say('', ' 次')}", "small")
            for i, value in enumerate(dropout(x).tolist()):
                d.cell(170 + i * 48, top, f"{value:g}", hue=None if value == 0 else int(value),
                       is_dashed=value == 0, width=48)  # fmt: skip
            top += 46
        top += 12
    return d


def detach(say: Say) -> Drawing:
    """Which of three results share memory, and which have a node."""
    w = facula.tensor([1.0, 2.0], requires_grad=True)
    y = w * 3
    with facula.no_grad():
        a = w * 3
    shown = {"y = w * 3": y, "y.detach()": y.detach(), "no_grad: w * 3": a}
    d = Drawing(720, 250, say("What each keeps of the history", "三者各保留了什么"))
    d.word(20, 60, say("history", "历史"), "faint small")
    d.word(20, 130, say("tensor", "张量"), "faint small")
    d.word(20, 205, say("memory", "内存"), "faint small")
    memory: dict[int, float] = {}
    for i, (name, tensor) in enumerate(shown.items()):
        x = 110 + i * 205
        if tensor.grad_fn is None:
            d.word(x + 85, 60, say("none: cut off", "没有：已切断"), "small bad", "middle")
        else:
            d.cell(x, 36, _short_name(tensor.grad_fn), hue=2, width=170)
            d.arrow((x + 85, 104), (x + 85, 78))
        d.cell(x, 106, name, width=170)
        # Tensors over the same memory lead to the same boxes.
        place = memory.setdefault(tensor.data_ptr(), x)
        if place == x:
            for j, value in enumerate(tensor.tolist()):
                d.cell(x + j * 85, 180, f"{value:g}", hue=0, width=85)
        d.arrow((x + 85, 146), (place + 85 + (20 if place != x else 0), 178))
    return d


def in_place(say: Say) -> Drawing:
    """The versions of a tensor, line by line, and what the node noted."""
    x = facula.tensor([0.0, 1.0], requires_grad=True)
    y = x.exp()
    rows = [
        (
            "y = x.exp()",
            y._version,
            say("ExpBackward0 keeps y, version 0", "ExpBackward0 保留 y，版本 0"),
            "good",
        )
    ]
    assert rows[0][1] == 0
    y += 1
    rows.append(("y += 1", y._version, say("the numbers are other ones now", "数已经变了"), ""))
    try:
        y.sum().backward()
    except RuntimeError as error:
        assert f"expected version 0, got version {y._version}" in str(error)
        words = say(
            f"expected version 0, got version {y._version}", f"期望版本 0，得到版本 {y._version}"
        )
        rows.append(("y.sum().backward()", y._version, words, "bad"))
    d = Drawing(
        720, 200, say("Versions find a write that spoils a gradient", "版本号发现破坏梯度的写入")
    )
    d.word(250, 24, say("version of y", "y 的版本"), "small faint")
    for i, (line, version, words, kind) in enumerate(rows):
        top = 36 + i * 52
        d.word(20, top + 26, line, "code")
        d.cell(270, top, str(version), hue=version)
        d.word(340, top + 26, words, kind)
    return d


def _count_nodes(tensor: Tensor) -> int:
    seen: set[Any] = set()
    todo: list[Any] = [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [other for other, _ in node.next_functions]
    return len(seen)


def retain_graph(say: Say) -> Drawing:
    """How many nodes each backward goes through."""

    def path(cuts: bool) -> list[tuple[float, float]]:
        w = facula.tensor(2.0, requires_grad=True)
        state = facula.zeros(())
        points = []
        for step in range(1, 21):
            state = facula.tanh((state.detach() if cuts else state) + w)
            points.append((float(step), float(_count_nodes(state))))
            state.backward(retain_graph=not cuts)
        return points

    d = Drawing(720, 280, say("Nodes that backward goes through", "backward 经过的节点数"))
    curves = [("retain_graph=True", "bad", path(False)), ("state.detach()", "good", path(True))]
    d.chart(60, 40, 480, 200, curves, (say("step", "步"), say("nodes", "节点")))
    return d


def saving(say: Say) -> Drawing:
    """A training that is stopped, and goes on with or without what its optimiser knew."""
    facula.manual_seed(0)
    x = facula.randn(64, 8)
    y = x @ facula.randn(8, 1)
    n_before = 60

    def start() -> tuple[nn.Linear, optim.Adam]:
        facula.manual_seed(1)
        model = nn.Linear(8, 1)
        return model, optim.Adam(model.parameters(), lr=0.1)

    def run(model: nn.Module, optimizer: optim.Adam, n: int) -> list[float]:
        found = []
        for _ in range(n):
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(float(loss))
        return found

    model, optimizer = start()
    before = run(model, optimizer, n_before)
    weights = {name: value.clone() for name, value in model.state_dict().items()}

    def go_on(state: dict[str, Any] | None) -> list[float]:
        model, optimizer = start()
        model.load_state_dict(weights)
        if state is not None:
            optimizer.load_state_dict(state)
        return run(model, optimizer, 30)

    with_optimizer, without = go_on(optimizer.state_dict()), go_on(None)
    assert run(*start(), n_before + 30) == before + with_optimizer
    d = Drawing(720, 300, say("The loss after going on", "继续训练之后的损失"))
    first = n_before - 20
    whole = [(float(i), loss) for i, loss in enumerate(before + with_optimizer)][first:]
    lost = [whole[19], *((float(n_before + i), loss) for i, loss in enumerate(without))]
    curves = [
        (say("weights only", "只有权重"), "bad", lost),
        (say("with the optimiser", "连同优化器"), "good", whole),
    ]
    labels = say("step; stopped at 60", "步；停在第 60 步"), say("loss", "损失")
    d.chart(70, 40, 460, 220, curves, labels)
    return d


def parameter_groups(say: Say) -> Drawing:
    """How far one step moves two layers, in three ways to set up the optimiser."""

    def moved(prepare: Callable[[nn.Sequential], optim.Optimizer]) -> list[float]:
        facula.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        optimizer = prepare(model)
        before = [p.detach().clone() for p in (model[0].weight, model[1].weight)]
        model(facula.ones(1, 4)).square().sum().backward()
        optimizer.step()
        after = (model[0].weight, model[1].weight)
        return [float((a - b).norm()) for a, b in zip(after, before, strict=True)]

    def groups(model: nn.Sequential) -> optim.Optimizer:
        body = {"params": model[0].parameters(), "lr": 0.01}
        return optim.SGD([body, {"params": model[1].parameters()}], lr=0.1)

    def frozen(model: nn.Sequential) -> optim.Optimizer:
        model[0].requires_grad_(False)
        return optim.SGD(model.parameters(), lr=0.1)

    def replaced(model: nn.Sequential) -> optim.Optimizer:
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        model[1] = nn.Linear(4, 2)
        return optimizer

    ways = [
        (say("groups: 0.01 and 0.1", "参数组：0.01 和 0.1"), groups, ""),
        (say("body frozen", "主体已冻结"), frozen, ""),
        (
            say("head replaced after the optimiser was made", "优化器建好之后才换头"),
            replaced,
            "bad",
        ),
    ]
    results = [moved(prepare) for _, prepare, _ in ways]
    longest = max(value for result in results for value in result)
    d = Drawing(720, 270, say("How far one step moves the weights", "一步把权重移动多远"))
    for i, ((name, _, kind), result) in enumerate(zip(ways, results, strict=True)):
        top = 24 + i * 84
        d.word(20, top, name, kind)
        for j, (layer, value) in enumerate(zip(("body", "head"), result, strict=True)):
            y = top + 8 + j * 26
            d.word(70, y + 16, layer, "code small", "end")
            if value:
                d.box(80, y, 440 * value / longest, 22, hue=j)
            said = f"{value:.3f}" if value else say("does not move", "不动")
            d.word(88 + 440 * value / longest, y + 16, said, "small" if value else f"small {kind}")
    return d


class _Drawing(Dataset[Any]):
    """Gives random numbers, and the worker that drew each."""

    def __init__(self, is_mended: bool) -> None:
        self.is_mended, self.generator = is_mended, np.random.default_rng(0)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple[int, int]:
        worker = get_worker_info()
        assert worker is not None
        if self.is_mended:
            seed = int(facula.randint(2**31, ()))
            return worker.id, int(np.random.default_rng(seed).integers(1000))
        return worker.id, int(self.generator.integers(1000))


def loader_workers(say: Say) -> Drawing:
    """The numbers of two workers, from copies of a generator and from a seed of each batch."""
    d = Drawing(720, 250, say("Numbers drawn by two workers", "两个工作进程抽到的数"))
    hues: dict[int, int] = {}
    ways = [
        (
            say(
                "a generator of the dataset: both have a copy of it",
                "数据集自带生成器：两个进程各有一份拷贝",
            ),
            False,
            "bad",
        ),
        (say("from the loader's seed of each batch", "来自加载器给每个批次的种子"), True, "good"),
    ]
    for i, (name, is_mended, kind) in enumerate(ways):
        facula.manual_seed(0)
        top = 30 + i * 120
        d.word(20, top, name, kind)
        loader: Any = DataLoader(_Drawing(is_mended), batch_size=1, num_workers=2)
        for j, (worker, number) in enumerate(loader):
            value = int(number)
            y = top + 10 + int(worker) * 44
            hue = hues.setdefault(value, len(hues))
            d.cell(150 + (j // 2) * 80, y, str(value), hue=None if is_mended else hue, width=80)
        for worker in (0, 1):
            d.word(20, top + 36 + worker * 44, f"{say('worker', '进程')} {worker}", "small faint")
    return d


def packed_sequences(say: Say) -> Drawing:
    """A padded batch, read column by column without its padding."""
    sentences = [facula.tensor(s) for s in ([1, 2, 3, 4], [5, 6], [7])]
    padded = pad_sequence(sentences, batch_first=True)
    packed = pack_sequence(sentences)
    owner = {int(word): i for i, sentence in enumerate(sentences) for word in sentence}
    d = Drawing(720, 310, say("A padded batch and a packed one", "填充的批次与打包的批次"))
    d.word(20, 24, say("padded: zeros are computed with", "填充：零也参与计算"))
    for i, row in enumerate(padded.tolist()):
        for j, word in enumerate(row):
            d.cell(20 + j * CELL, 36 + i * CELL, str(word), hue=owner.get(word), is_dashed=not word)
    d.word(20, 196, say("packed: step by step, without them", "打包：一步一步，没有零"))
    left, place = 20.0, 0
    for step, size in enumerate(packed.batch_sizes.tolist()):
        for word in packed.data[place : place + size].tolist():
            d.cell(left, 208, str(word), hue=owner[word])
            left += CELL
        width = size * CELL
        d.word(left - width / 2, 268, say(f"step {step}", f"第 {step} 步"), "small faint", "middle")
        d.word(left - width / 2, 286, str(size), "code small", "middle")
        left, place = left + 24, place + size
    d.word(left + 10, 286, "batch_sizes", "code small faint")
    return d


def losses(say: Say) -> Drawing:
    """The loss against the score of the right class, with and without a softmax before."""
    target = facula.tensor([0])

    def curve(loss: Callable[[Tensor], Tensor]) -> list[tuple[float, float]]:
        scores = [x / 2 for x in range(-12, 13)]
        return [(s, float(loss(facula.tensor([[s, 0.0, 0.0]])))) for s in scores]

    d = Drawing(720, 300, say("A loss that cannot become small", "降不下去的损失"))
    curves = [
        ("cross_entropy(scores)", "good", curve(lambda x: F.cross_entropy(x, target))),
        (
            "cross_entropy(softmax(scores))",
            "bad",
            curve(lambda x: F.cross_entropy(F.softmax(x, 1), target)),
        ),
    ]
    d.chart(
        60,
        40,
        400,
        220,
        curves,
        (say("score of the right class", "正确类别的得分"), say("loss", "损失")),
    )
    return d


def devices(say: Say) -> Drawing:
    """What goes along when a module moves, and what stays."""

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(facula.ones(3))
            self.forgotten = facula.ones(3)
            self.register_buffer("scale", facula.ones(3))

    names = {
        "weight": say("nn.Parameter", "nn.Parameter"),
        "scale": say("register_buffer", "register_buffer"),
        "forgotten": say("only an attribute", "只是一个属性"),
    }
    module = Scaled()
    before = {name: str(getattr(module, name).device) for name in names}
    module.to("meta")
    after = {name: str(getattr(module, name).device) for name in names}
    d = Drawing(
        720,
        240,
        say("module.to(device) moves two of three", "module.to(device) 移动了三个中的两个"),
    )
    places = {"cpu": 200, "meta": 500}
    d.word(412, 32, 'module.to("meta")', "code small faint", "middle")
    for device, x in places.items():
        d.word(x + 70, 24, device, "code", "middle")
        d.box(x - 16, 36, 172, 184, is_dashed=True)
    for i, (name, kind) in enumerate(names.items()):
        y = 50 + i * 58
        d.word(20, y + 26, kind, "small faint")
        moves = before[name] != after[name]
        d.cell(places[after[name]], y, name, hue=0 if moves else 4, width=140)
        if moves:
            d.box(places[before[name]], y, 140, CELL, is_dashed=True)
            d.arrow((places[before[name]] + 142, y + 20), (places[after[name]] - 2, y + 20))
        else:
            d.word(500, y + 26, say("stays behind", "被落下了"), "small bad")
    return d


class _Kept:
    """A tensor that a node keeps, with the sum of the bytes of all that are alive."""

    def __init__(self, tensor: Tensor, alive: list[int]) -> None:
        self.tensor, self.alive = tensor, alive
        alive[0] += tensor.nbytes

    def __del__(self) -> None:
        self.alive[0] -= self.tensor.nbytes


def memory(say: Say) -> Drawing:
    """The bytes that graphs keep while losses are added up."""
    facula.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    x = facula.randn(128, 64)

    def path(takes_number: bool) -> list[tuple[float, float]]:
        alive, points = [0], [(0.0, 0.0)]
        total: Any = 0
        with saved_tensors_hooks(lambda t: _Kept(t, alive), lambda kept: kept.tensor):
            for step in range(1, 11):
                loss = model(x).square().mean()
                total = total + (loss.item() if takes_number else loss)
                points += [(step - 0.5, alive[0] / 1000)]
                del loss
                points += [(float(step), alive[0] / 1000)]
        return points

    d = Drawing(720, 290, say("What is kept while losses are added up", "累加损失时保留了什么"))
    curves = [
        ("total + loss", "bad", path(False)),
        ("total + loss.item()", "good", path(True)),
    ]
    labels = say("step", "步"), say("kB kept for backward", "为反向保留的 kB")
    d.chart(80, 40, 440, 210, curves, labels)
    return d


def reproducibility(say: Say) -> Drawing:
    """The row of numbers of one seed, and who takes which."""

    def drawn(sizes: list[int]) -> list[list[str]]:
        facula.manual_seed(0)
        return [[f"{v:.2f}" for v in facula.rand(n).tolist()] for n in sizes]

    d = Drawing(720, 190, say("One draw more moves all that follow", "多抽一次，后面全都错位"))
    rows = [
        (["a = rand(2)", "b = rand(2)", "c = rand(2)"], [2, 2, 2]),
        (["rand(1)", "a = rand(2)", "b = rand(2)"], [1, 2, 2]),
    ]
    seen: dict[str, int] = {}  # the same number has the same colour
    for i, (names, sizes) in enumerate(rows):
        left, top = 130.0, 40.0 + i * 76
        d.word(20, top + 26, "manual_seed(0)", "code small faint")
        for name, values in zip(names, drawn(sizes), strict=True):
            d.word(left + len(values) * 33, top - 6, name, "code small", "middle")
            for value in values:
                d.cell(left, top, value, hue=seen.setdefault(value, len(seen)), width=66)
                left += 66
            left += 12
    return d


CHAPTERS: dict[str, Callable[[Say], Drawing]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        views, broadcasting, leaves, accumulation, train_and_eval, detach, in_place, retain_graph,
        saving, parameter_groups, loader_workers, packed_sequences, losses, devices, memory,
        reproducibility,
    )
}  # fmt: skip


def pictures() -> Iterator[tuple[Path, str]]:
    """Every file with its content, in both languages."""
    for name, draw in CHAPTERS.items():
        yield FOLDER / f"{name}.svg", draw(lambda english, chinese: english).text
        yield FOLDER / f"{name}.zh.svg", draw(lambda english, chinese: chinese).text


def main() -> int:
    """Write the pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in pictures():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
