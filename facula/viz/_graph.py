"""The graph of a model or of a loss, as a page."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Any

import facula
from facula import Tensor, _core
from facula._progress import size_text
from facula._transform import tensors_in
from facula._warnings import line_text, user_frame
from facula.nn import Module
from facula.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from facula.viz._page import Page
from facula.viz._summary import _arguments, _nbytes


def graph(model_or_loss: Module | Tensor, input: Any = None, **kwargs: Any) -> Page:
    """The operations of a model or of a loss, and what flows between them, as a page.

    Modules can be opened and closed; each operation shows its shape, its memory, its line in the
    program and the tensors that it keeps for backward.

    Args:
        model_or_loss: a module, which is run once in its present mode with gradients, or a tensor
            whose history is shown.
        input: for a module, its input as in :func:`facula.summary`.
        kwargs: further arguments of the module.

    Returns:
        A :class:`Page`: ``save(path)`` writes it, a notebook shows it.

    Example:
        >>> from facula import nn
        >>> page = facula.viz.graph(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), (2, 3))
        >>> [(row["name"], row["shape"]) for row in page.data["rows"]]
        [('input', '(2, 3)'), ('linear', '(2, 4)'), ('relu', '(2, 4)')]
        >>> x = facula.ones(2, requires_grad=True)
        >>> [row["name"] for row in facula.viz.graph((x * 2).sum()).data["rows"]]
        ['leaf', 'MulBackward0', 'SumBackward0']
    """
    if isinstance(model_or_loss, Module):
        return _graph_of_model(model_or_loss, *_arguments(model_or_loss, input), kwargs)
    if not isinstance(model_or_loss, Tensor):
        raise TypeError(
            f"graph: expected a Module or a Tensor, got {type(model_or_loss).__name__}."
        )
    if model_or_loss.grad_fn is None:
        raise ValueError("graph: expected a tensor with a history, got one without a grad_fn.")
    return _graph_of_loss(model_or_loss)


class _Recorder:
    """Writes a row for each operation that a program calls, with the modules it is inside of."""

    def __init__(self, model: Module) -> None:
        self.rows: list[dict[str, Any]] = []
        self._paths = {id(module): path for path, module in model.named_modules()}
        self._names = {
            id(p): name for name, p in (*model.named_parameters(), *model.named_buffers())
        }
        self._modules: list[str] = []
        self._depth = 0  # of operations: those that others are composed of have no rows
        self._makers: dict[int, int] = {}  # the row that made a tensor
        self._alive: list[Tensor] = []  # or the id of a tensor could be that of another one

    def add(self, name: str, result: Any, given: list[Tensor]) -> None:
        tensors = list(tensors_in([result]))
        if not tensors:
            return
        frame = user_frame()
        node = tensors[0].grad_fn
        self.rows.append(
            {
                "name": name,
                "path": self._modules[-1] if self._modules else "",
                "shape": ", ".join(str(tuple(x.shape)) for x in tensors),
                "dtype": str(tensors[0].dtype).removeprefix("torch."),
                "bytes": sum(map(_nbytes, tensors)),
                "line": line_text(frame.f_code.co_filename, frame.f_lineno) if frame else "",
                "inputs": sorted({self._makers[id(x)] for x in given if id(x) in self._makers}),
                "parameters": [
                    f"{self._names[id(x)]} {tuple(x.shape)}" for x in given if id(x) in self._names
                ],
                "saved": _saved(node) if node is not None else [],
            }
        )
        for x in tensors:
            self._makers[id(x)] = len(self.rows) - 1
        self._alive += tensors

    def before(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._depth += 1

    def after(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and not name.startswith("_"):
            self.add(name, result, list(tensors_in([*args, *kwargs.values()])))

    def begin_module(self, module: Module, args: Any) -> None:
        self._modules.append(self._paths.get(id(module), ""))

    def end_module(self, module: Module, args: Any, output: Any) -> None:
        self._modules.pop()


def _graph_of_model(
    model: Module, args: tuple[Any, ...], named: dict[str, Any], kwargs: dict[str, Any]
) -> Page:
    recorder = _Recorder(model)
    for x in tensors_in([*args, *named.values(), *kwargs.values()]):
        recorder.add("input", x, [])
    observer = _core._Observer(recorder.after, recorder.before)
    with ExitStack() as stack:
        for handle in (
            register_module_forward_pre_hook(recorder.begin_module),
            register_module_forward_hook(recorder.end_module, always_call=True),
        ):
            stack.callback(handle.remove)
        stack.enter_context(facula.enable_grad())
        observer.start()
        stack.callback(observer.stop)
        model(*args, **named, **kwargs)
    groups = {
        path: f"{type(module).__name__}, {sum(p.numel() for p in module.parameters()):,} parameters"
        for path, module in model.named_modules()
    }
    return _page(type(model).__name__, recorder.rows, groups)


def _graph_of_loss(loss: Tensor) -> Page:
    nodes: dict[Any, None] = {}
    waiting = [loss.grad_fn]
    while waiting:
        node: Any = waiting.pop()
        if node is not None and node not in nodes:
            nodes[node] = None
            waiting += [other for other, _ in node.next_functions]
    # In the order of time; leaves, which have no time, stand before all operations.
    order = sorted(nodes, key=lambda node: (bool(node.next_functions), node._sequence_nr()))
    places = {node: i for i, node in enumerate(order)}
    rows = []
    for node in order:
        is_leaf = not node.next_functions and hasattr(node, "variable")
        forms = [node.variable] if is_leaf else node._input_metadata
        file, _, number = node._location().rpartition(":")
        line = line_text(file, int(number)) if number.isdigit() else ""
        rows.append(
            {
                "name": "leaf" if is_leaf else node.name(),
                "path": "leaves" if is_leaf else line,
                "shape": ", ".join(str(tuple(form.shape)) for form in forms),
                "dtype": str(forms[0].dtype).removeprefix("torch.") if forms else "",
                "bytes": sum(form.shape.numel() * form.dtype.itemsize for form in forms),
                "line": "" if is_leaf else line,
                "inputs": sorted({places[n] for n, _ in node.next_functions if n is not None}),
                "parameters": [],
                "saved": _saved(node),
            }
        )
    return _page(f"graph of {order[-1].name()}", rows, {})


def _page(title: str, rows: list[dict[str, Any]], groups: dict[str, str]) -> Page:
    return Page(title, "graph.html", {"title": title, "rows": rows, "groups": groups})


def _saved(node: Any) -> list[str]:
    """The tensors that a node keeps for backward."""
    found = []
    for name in dir(node):
        if name.startswith("_saved_"):
            with suppress(RuntimeError):  # freed, or changed since
                value = getattr(node, name)
                if isinstance(value, Tensor):
                    size = size_text(_nbytes(value))
                    found.append(f"{name.removeprefix('_saved_')} {tuple(value.shape)}, {size}")
    return found
