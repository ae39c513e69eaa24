"""The way of an export: inputs and their dynamic dimensions, capture, translation, model."""

from __future__ import annotations

import enum
import inspect
import itertools
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import facula
from facula import Tensor, _exporting, nn
from facula._core import _Operation
from facula.export.dynamic_shapes import Dim
from facula.fx.node import Node
from facula.onnx._capture import Capture, OtherSizesFailed
from facula.onnx._program import ONNXProgram, tensor_proto
from facula.onnx._sizes import traced_builtins
from facula.onnx._writer import Writer, element_type, package
from facula.onnx.errors import OnnxExporterError
from facula.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

OPSETS = range(18, 24)
DEFAULT_OPSET = 20


class TrainingMode(enum.Enum):
    """The mode in which a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """Which operators an exported model may have: those of ONNX."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: its code may want to do other things then.

    Example:
        >>> facula.onnx.is_in_onnx_export()
        False
    """
    return _exporting.is_active


def export(
    model: Callable[..., Any],
    args: tuple[Any, ...] | Tensor = (),
    f: str | os.PathLike[str] | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Mapping[str, Any] | Sequence[Any] | None = None,
    custom_translation_table: Mapping[Callable[..., Any], Callable[..., Any]] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Mapping[int, str] | Sequence[int]] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[type[nn.Module]] = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:
    """Translate a model to ONNX, which other programs can run.

    The model is run once with the example inputs, and the operations that it does are written
    down. Loops are unrolled, and of conditions the branch that was taken is kept, with a warning
    where it depends on a value of a tensor.

    Args:
        model: the module, or a function of tensors.
        args: the example inputs.
        f: the file to write; None to write none.
        kwargs: further inputs, by name.
        verbose: whether the translated graph is printed.
        input_names: the names of the inputs; by default those of the parameters of ``forward``.
        output_names: the names of the results.
        opset_version: the version of ONNX's operators, 18 to 23; 20 by default.
        dynamo: False for a call that gives None, as the older exporter's.
        external_data: whether large weights are written to a file of their own, ``f`` with
            ``.data`` at its end.
        dynamic_shapes: which dimensions of inputs may have other sizes than the example: for each
            input, by name or in order, the names of its dynamic dimensions, ``{0: "batch"}``, or
            :class:`facula.export.Dim` for them.
        custom_translation_table: translations of operations, which are called with the writer of
            :mod:`facula.onnx` and the arguments of the operation, and give the name of the result.
        report: must be False: no reports are written.
        optimize: accepted for programs that give it: what is constant is always computed.
        verify: whether the model is run with ``onnxruntime`` and compared with the result.
        profile: must be False.
        dump_exported_program: must be False.
        artifacts_dir: accepted for programs that give it.
        export_params: whether the weights are part of the file.
        keep_initializers_as_inputs: whether weights are inputs of the model, too.
        dynamic_axes: as ``dynamic_shapes``, by the names of inputs and results.
        training: the mode that the model is in; it has its own again afterwards.
        operator_export_type: must be ``OperatorExportTypes.ONNX``.
        do_constant_folding: whether what is computed from weights alone becomes a constant.
        custom_opsets: versions of further sets of operators, by domain.
        export_modules_as_functions: must be False.
        autograd_inlining: accepted for programs that give it: functions are always inlined.

    Example:
        >>> from facula import nn
        >>> net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        >>> program = facula.onnx.export(
        ...     net, (facula.ones(2, 3),), dynamic_shapes=({0: "batch"},), output_names=["y"]
        ... )
        >>> [node.op_type for node in program.model_proto.graph.node]
        ['Gemm', 'Relu']
        >>> [weight.name for weight in program.model_proto.graph.initializer]
        ['0.weight', '0.bias']
        >>> (y,) = program(facula.ones(5, 3))
        >>> facula.allclose(y, net(facula.ones(5, 3)), atol=1e-6)
        True
    """
    _refuse(
        report=report,
        profile=profile,
        dump_exported_program=dump_exported_program,
        export_modules_as_functions=export_modules_as_functions,
        operator_export_type=operator_export_type is not OperatorExportTypes.ONNX,
    )
    if f is None and not dynamo:
        raise ValueError("onnx.export: expected a file f to write to, where dynamo is False.")
    opset = DEFAULT_OPSET if opset_version is None else opset_version
    if opset not in OPSETS:
        raise OnnxExporterError(
            f"onnx.export: expected an opset_version from {OPSETS[0]} to {OPSETS[-1]}, got {opset}."
        )
    package("onnx")
    args, kwargs = _call_arguments(args, kwargs)
    inputs = _inputs(model, args, kwargs, input_names, dynamic_shapes, dynamic_axes)
    custom = dict(custom_translation_table or {})
    with _ready(model, training):
        capture, results = _captured(
            model, args, kwargs, inputs, custom, do_constant_folding and export_params
        )
    axes = {} if dynamic_axes is None else dict(dynamic_axes)
    proto = _model(capture, inputs, output_names, opset, custom, axes, dict(custom_opsets or {}))
    program = ONNXProgram(proto, capture.graph)
    if verbose:
        print(program)
    if verify:
        _verify(program, inputs, results)
    if f is not None:
        program.save(
            f,
            include_initializers=export_params,
            keep_initializers_as_inputs=keep_initializers_as_inputs,
            external_data=external_data,
        )
    return program if dynamo else None


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value:
            raise OnnxExporterError(
                f"onnx.export: {name} can not be used: there is nothing of the kind in Facula. "
                "Leave it out."
            )


class _Input(NamedTuple):
    """An input: its name, the example, and the names of its dynamic dimensions."""

    name: str
    tensor: Tensor
    axes: dict[int, str]


def _call_arguments(args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args = args if isinstance(args, tuple) else (args,)
    if kwargs is None and args and isinstance(args[-1], dict):
        return args[:-1], args[-1]
    return args, kwargs or {}


def _inputs(
    model: Any, args: Any, kwargs: Any, names: Any, dynamic_shapes: Any, dynamic_axes: Any
) -> list[_Input]:
    given = _by_parameter(model, args, kwargs)
    shapes = _shapes_of(given, dynamic_shapes)
    inputs: list[_Input] = []
    wanted = iter(names or ())
    for parameter, value in given.items():
        leaves = tree_leaves(value)
        specs = _specs(shapes.get(parameter), value, len(leaves))
        for i, (leaf, spec) in enumerate(zip(leaves, specs, strict=True)):
            if isinstance(leaf, Tensor):
                own = parameter if len(leaves) == 1 else f"{parameter}_{i}"
                name = next(wanted, own)
                axes = _axes(name, leaf, (dynamic_axes or {}).get(name, spec))
                inputs.append(_Input(name, leaf, axes))
    if not inputs:
        raise OnnxExporterError(
            "onnx.export: expected an example input that is a tensor, got none."
        )
    unknown = [] if names is None else list(wanted)
    if unknown:
        raise OnnxExporterError(
            f"onnx.export: input_names has names for more than the {len(inputs)} inputs: {unknown}."
        )
    return inputs


def _by_parameter(model: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by the names of the model's parameters."""
    function = model.forward if isinstance(model, nn.Module) else model
    try:
        signature = inspect.signature(function)
        bound = signature.bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {**{f"input_{i}": arg for i, arg in enumerate(args)}, **kwargs}
    given: dict[str, Any] = {}
    for name, value in bound.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            given.update({f"{name}_{i}": each for i, each in enumerate(value)})
        elif kind is inspect.Parameter.VAR_KEYWORD:
            given.update(value)
        else:
            given[name] = value
    return given


def _shapes_of(given: Mapping[str, Any], shapes: Any) -> dict[str, Any]:
    if shapes is None:
        return {}
    if not isinstance(shapes, Mapping):
        shapes = dict(zip(given, shapes, strict=False))
    unknown = [name for name in shapes if name not in given]
    if unknown:
        raise OnnxExporterError(
            f"onnx.export: dynamic_shapes has {unknown}, but the inputs are {list(given)}."
        )
    return dict(shapes)


def _specs(spec: Any, value: Any, n: int) -> list[Any]:
    """The dynamic dimensions of each tensor in an argument."""
    if isinstance(value, Tensor) or spec is None:
        return [spec] * n
    items = list(spec.values()) if isinstance(spec, Mapping) else list(spec)
    if len(items) != n:
        raise OnnxExporterError(
            f"onnx.export: dynamic_shapes has {len(items)} entries for an argument of {n} tensors."
        )
    return items


def _axes(name: str, tensor: Tensor, spec: Any) -> dict[int, str]:
    """The names of dynamic dimensions, from any of the forms in which they are given."""
    if spec is None:
        return {}
    if isinstance(spec, Mapping):
        items = list(spec.items())
    elif all(isinstance(each, int) for each in spec):  # a list of dimensions
        items = [(dim, True) for dim in spec]
    else:  # an entry for each dimension
        items = list(enumerate(spec))
    axes: dict[int, str] = {}
    for dim, what in items:
        is_number = isinstance(what, int) and what is not True
        if what is None or is_number or what is Dim.STATIC:
            continue  # a size that stays
        if not -tensor.dim() <= dim < tensor.dim():
            raise OnnxExporterError(
                f"onnx.export: the input {name!r} of shape {tuple(tensor.shape)} has no dimension "
                f"{dim} that could be dynamic."
            )
        at = dim % tensor.dim()
        axes[at] = what if isinstance(what, str) else getattr(what, "__name__", f"{name}_dim_{at}")
    return axes


@contextmanager
def _ready(model: Any, training: TrainingMode) -> Iterator[None]:
    """The model in the mode of the export, and the flags that its code may ask for."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    modes = [module.training for module in modules]
    # In training mode norms write to their buffers, and each operation is done twice.
    buffers = [] if training is TrainingMode.EVAL or not modules else list(model.buffers())
    before_run = [buffer.clone() for buffer in buffers]
    if training is not TrainingMode.PRESERVE and modules:
        model.train(training is TrainingMode.TRAINING)
    before = _exporting.is_active
    _exporting.is_active = True
    try:
        with facula.no_grad():
            yield
    finally:
        _exporting.is_active = before
        for buffer, value in zip(buffers, before_run, strict=True):
            buffer.copy_(value)
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode


def _captured(
    model: Any,
    args: Any,
    kwargs: Any,
    inputs: list[_Input],
    custom: Mapping[Any, Any],
    folds: bool,
) -> tuple[Capture, list[Tensor]]:
    """The graph of the model. Where one set of other sizes does not fit it, another may."""
    failure: OtherSizesFailed | None = None
    for sizes in _other_sizes(inputs):
        try:
            return _capture(model, args, kwargs, inputs, sizes, custom, folds)
        except OtherSizesFailed as error:
            failure = error
    dims = sorted({name for each in inputs for name in each.axes.values()})
    raise OnnxExporterError(
        f"onnx.export: the model can not be run with other sizes of the dynamic dimensions "
        f"{', '.join(dims)}: {failure} Sizes that the model computes with must stay what "
        "x.shape gives; dimensions that can not change must not be dynamic."
    ) from failure


def _other_sizes(inputs: list[_Input]) -> Iterator[dict[str, int]]:
    """Sizes that dynamic dimensions might have as well, by their names; the likeliest first.

    They should differ between dimensions of different names, so that results tell which is which,
    and be far enough from the example for quotients to differ. But some models have upper limits,
    or want multiples.
    """
    names = {name: int(x.tensor.shape[dim]) for x in inputs for dim, name in x.axes.items()}
    if not names:
        yield {}
        return
    yield {name: 2 * n + 1 + i for i, (name, n) in enumerate(names.items())}
    yield {name: 2 * n + 1 for name, n in names.items()}
    yield {name: n + 1 + i for i, (name, n) in enumerate(names.items())}
    yield {name: 2 * n for name, n in names.items()}
    yield {name: n + 1 for name, n in names.items()}
    if min(names.values()) > 1:
        yield {name: n - 1 for name, n in names.items()}


def _capture(
    model: Any,
    args: Any,
    kwargs: Any,
    inputs: list[_Input],
    sizes: dict[str, int],
    custom: Mapping[Any, Any],
    folds: bool,
) -> tuple[Capture, list[Tensor]]:
    names: dict[int, str] = {}
    modules: dict[int, str] = {}
    if isinstance(model, nn.Module):
        named = itertools.chain(model.named_parameters(), model.named_buffers())
        names = {id(tensor): name for name, tensor in named}
        modules = {id(module): path for path, module in model.named_modules()}
    composed = {key for key in custom if isinstance(key, _Operation)}
    capture = Capture(names, modules, folds, composed)
    # Copies of the examples: one tensor that is given twice is two inputs, and the model may write.
    leaves, spec = tree_flatten((args, kwargs))
    own = [leaf.detach().clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    copies: dict[int, list[Tensor]] = {}
    for leaf, copy in zip(leaves, own, strict=True):
        copies.setdefault(id(leaf), []).append(copy)
    for each in inputs:
        example = copies[id(each.tensor)].pop(0)
        other = example
        for dim, name in each.axes.items():
            n = example.shape[dim]
            other = other.index_select(dim, facula.arange(sizes[name]) % max(n, 1))
        capture.add_input(each.name, example, other)
    own_args, own_kwargs = tree_unflatten(own, spec)
    with capture, traced_builtins():
        result = model(*own_args, **own_kwargs)
    results = []
    for leaf in tree_leaves(result):
        if isinstance(leaf, Tensor):
            results.append(leaf)
        elif not isinstance(leaf, (int, float, str, type(None))):
            raise OnnxExporterError(
                f"onnx.export: the model gives a {type(leaf).__name__}, of which ONNX knows "
                "nothing. Export one that gives tensors, in tuples, lists or dicts (a model of "
                "transformers: with use_cache=False)."
            )
    capture.add_outputs(results)
    return capture, results


def _model(
    capture: Capture,
    inputs: list[_Input],
    output_names: Sequence[str] | None,
    opset: int,
    custom: Mapping[Any, Any],
    dynamic_axes: Mapping[str, Any],
    custom_opsets: Mapping[str, int],
) -> Any:
    from facula.onnx._translate import Translation  # with all of the table

    helper = package("onnx.helper")
    writer = Writer(opset)
    for name in output_names or ():
        writer.name(name)  # nobody else may have it
    values = Translation(writer, capture.constants, custom).run(
        capture.graph, [each.name for each in inputs]
    )
    names = _output_names(writer, values, output_names)
    input_infos = [
        _info(each.name, node, each.axes)
        for node, each in zip(capture.graph.find_nodes(op="placeholder"), inputs, strict=True)
    ]
    symbols = capture.symbols([each.axes for each in inputs])
    output_infos = []
    for name, node in zip(names, capture.graph.output_node().args[0], strict=True):
        wished = dynamic_axes.get(name)
        axes = dict(wished) if isinstance(wished, Mapping) else {}
        for i, pair in enumerate(capture.pairs(node)):
            axes.setdefault(i, symbols.get(pair, f"{name}_dim_{i}"))
        output_infos.append(_info(name, node, axes))
    weights = [tensor_proto(name, tensor) for name, tensor in _used(writer)]
    graph = helper.make_graph(writer.nodes, "main_graph", input_infos, output_infos, weights)
    sets = [helper.make_opsetid("", opset)]
    sets += [helper.make_opsetid(domain, version) for domain, version in custom_opsets.items()]
    model = helper.make_model(
        graph, opset_imports=sets, producer_name="facula", producer_version=facula.__version__
    )
    model.ir_version = min(10, model.ir_version)
    return model


def _info(name: str, node: Node, axes: Mapping[int, str]) -> Any:
    """An input or a result of the model: its name, dtype and sizes."""
    dtype, shape = node.meta["form"]
    dims = [axes[i] if size is None else size for i, size in enumerate(shape)]
    return package("onnx.helper").make_tensor_value_info(name, element_type(dtype), dims)


def _output_names(writer: Writer, values: list[str], wished: Sequence[str] | None) -> list[str]:
    """Give results their names: what makes one gets the name, or an Identity does."""
    names = [str(name) for name in wished or ()]
    if len(names) > len(values):
        raise OnnxExporterError(
            f"onnx.export: output_names has {len(names)} names for {len(values)} results."
        )
    for i in range(len(names), len(values)):
        names.append(writer.name("output" if len(values) == 1 else f"output_{i}"))
    made = {name for node in writer.nodes for name in node.output}
    renamed: dict[str, str] = {}
    for value, name in zip(values, names, strict=True):
        if str(value) in made and str(value) not in renamed:
            renamed[str(value)] = name
    identity = package("onnx.helper").make_node
    for node in writer.nodes:
        node.input[:] = [renamed.get(each, each) for each in node.input]
        node.output[:] = [renamed.get(each, each) for each in node.output]
    for value, name in zip(values, names, strict=True):
        source = renamed.get(str(value), str(value))
        if source != name:
            writer.nodes.append(identity("Identity", [source], [name], name=f"{name}/Identity"))
    return names


def _used(writer: Writer) -> Iterator[tuple[str, Tensor]]:
    used = {name for node in writer.nodes for name in node.input}
    for name, tensor in writer.initializers.items():
        if name in used:
            yield name, tensor


def _verify(program: ONNXProgram, inputs: list[_Input], results: list[Tensor]) -> None:
    for i, (got, expected) in enumerate(
        zip(program(*(each.tensor for each in inputs)), results, strict=True)
    ):
        try:
            facula.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)
        except AssertionError as error:
            raise OnnxExporterError(
                f"onnx.export: result {i} of the exported model differs. {error}"
            ) from None
