"""What an export gives: the model of ONNX, to be saved and to be run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import facula
from facula import Tensor
from facula.fx.graph import Graph
from facula.onnx._writer import element_type, package
from facula.utils._pytree import tree_leaves


class ONNXProgram:
    """An exported model, which :func:`facula.onnx.export` gives.

    Args:
        model_proto: the model, of the package ``onnx``.
        graph: the graph that it was translated from.
    """

    __module__ = "facula.onnx"

    def __init__(self, model_proto: Any, graph: Graph) -> None:
        self.model_proto = model_proto
        self.graph = graph
        self._session: Any = None

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        make = package("onnx.helper").make_graph
        # Without the weights, whose numbers nobody reads.
        shown = make(graph.node, graph.name, graph.input, graph.output)
        return f"ONNXProgram(\n{package('onnx.printer').to_text(shown)}\n)"

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        """Run the model with ``onnxruntime``.

        Args:
            args: the inputs, in the order of the model's.
            kwargs: further inputs, in the order of the model's.
        """
        if self._session is None:
            self.initialize_inference_session()
        results = self._session.run(None, self._feed(args, kwargs))
        return tuple(facula.from_numpy(each) for each in results)

    def call_reference(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        """Run the model with the slow and simple evaluator of the package ``onnx``.

        Args:
            args: the inputs, in the order of the model's.
            kwargs: further inputs, in the order of the model's.
        """
        evaluator = package("onnx.reference").ReferenceEvaluator(self.model_proto)
        results = evaluator.run(None, self._feed(args, kwargs))
        return tuple(facula.as_tensor(each) for each in results)

    def _feed(self, args: Any, kwargs: Any) -> dict[str, Any]:
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        names = [each.name for each in self.model_proto.graph.input]
        if len(tensors) != len(names):
            raise ValueError(
                f"ONNXProgram: expected {len(names)} tensors, for {', '.join(names)}, got "
                f"{len(tensors)}."
            )
        return {name: t.detach().cpu().numpy() for name, t in zip(names, tensors, strict=True)}

    def initialize_inference_session(
        self, initializer: Callable[[bytes], Any] | None = None
    ) -> None:
        """Make the session that runs the model.

        Args:
            initializer: makes a session of the model's bytes; by default ``onnxruntime`` does, on
                the CPU.
        """
        if initializer is None:
            runtime = package("onnxruntime")

            def initializer(model: bytes) -> Any:
                return runtime.InferenceSession(model, providers=["CPUExecutionProvider"])

        self._session = initializer(self.model_proto.SerializeToString())

    def release(self) -> None:
        """Let go of the session."""
        self._session = None

    def save(
        self,
        destination: str | os.PathLike[str],
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model to a file.

        Args:
            destination: the file's name.
            include_initializers: whether the weights are written.
            keep_initializers_as_inputs: whether weights are inputs, too, so that whoever runs the
                model can give others.
            external_data: whether large weights go to a file of their own beside it, whose name
                ends with ``.data``; by default if the model is larger than a file can be, 2 GB.

        Example:
            >>> import os, tempfile
            >>> program = facula.onnx.export(facula.nn.Linear(2, 1), (facula.ones(1, 2),))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     program.save(os.path.join(folder, "model.onnx"))
            ...     print(os.listdir(folder))
            ['model.onnx']
        """
        onnx = package("onnx")
        proto = type(self.model_proto)()
        proto.CopyFrom(self.model_proto)
        if keep_initializers_as_inputs or not include_initializers:
            make = onnx.helper.make_tensor_value_info
            weights = proto.graph.initializer
            proto.graph.input.extend(make(w.name, w.data_type, list(w.dims)) for w in weights)
        if not include_initializers:
            del proto.graph.initializer[:]
        path = os.fspath(destination)
        if external_data is None:
            external_data = proto.ByteSize() > 2**31 - 2**20
        if not external_data:
            onnx.save_model(proto, path)
            return
        data = os.path.basename(path) + ".data"
        beside = os.path.join(os.path.dirname(path), data)
        if os.path.exists(beside):
            os.remove(beside)  # else it would be appended to
        onnx.save_model(proto, path, save_as_external_data=True, location=data)

    def apply_weights(self, state_dict: Mapping[str, Tensor]) -> None:
        """Replace weights of the model.

        Args:
            state_dict: tensors by the names of the weights; others are not changed.
        """
        for weight in self.model_proto.graph.initializer:
            if weight.name in state_dict:
                weight.CopyFrom(tensor_proto(weight.name, state_dict[weight.name]))
        self.release()

    def rename_axes(self, rename_mapping: Mapping[str, str]) -> None:
        """Give dynamic dimensions of inputs and results other names.

        Args:
            rename_mapping: the new names by the old ones.
        """
        for each in (*self.model_proto.graph.input, *self.model_proto.graph.output):
            for dim in each.type.tensor_type.shape.dim:
                if dim.dim_param in rename_mapping:
                    dim.dim_param = rename_mapping[dim.dim_param]


def tensor_proto(name: str, tensor: Tensor) -> Any:
    """A tensor as ONNX keeps it.

    Args:
        name: its name.
        tensor: the tensor.
    """
    dense = tensor.detach().cpu().contiguous()
    numbers = dense.view(facula.int16) if dense.dtype == facula.bfloat16 else dense
    make = package("onnx.helper").make_tensor
    kind = element_type(dense.dtype)
    return make(name, kind, list(dense.shape), numbers.numpy().tobytes(), raw=True)
