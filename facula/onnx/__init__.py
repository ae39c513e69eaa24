"""Models for other programs: :func:`export` translates them to ONNX. ``pip install facula[onnx]``.

In reading order: ``_export.py`` is the way of an export, ``_capture.py`` makes an fx graph of a run
of the model, with the sizes of ``_sizes.py``; ``_translate.py`` walks over the graph and calls for
each step its row of the table in ``_rows/``, which writes with ``_writer.py``; ``_program.py`` is
the result.
"""

from facula._refusing import refusing, refusing_class
from facula.onnx import errors
from facula.onnx._export import (
    OperatorExportTypes as OperatorExportTypes,
)
from facula.onnx._export import (
    TrainingMode as TrainingMode,
)
from facula.onnx._export import (
    export,
    is_in_onnx_export,
)
from facula.onnx._program import ONNXProgram
from facula.onnx.errors import OnnxExporterError

__all__ = [
    "ExportableModule",
    "InputObserver",
    "ONNXProgram",
    "OnnxExporterError",
    "errors",
    "export",
    "is_in_onnx_export",
]

_TABLE = "translations are given to torch.onnx.export with custom_translation_table."
_TRACED = "models are not prepared for an export. Call torch.onnx.export with example inputs."

register_custom_op_symbolic = refusing("torch.onnx.register_custom_op_symbolic", _TABLE)
unregister_custom_op_symbolic = refusing("torch.onnx.unregister_custom_op_symbolic", _TABLE)
select_model_mode_for_export = refusing("torch.onnx.select_model_mode_for_export", _TRACED)
ExportableModule = refusing_class("torch.onnx.ExportableModule", _TRACED)
InputObserver = refusing_class("torch.onnx.InputObserver", _TRACED)
