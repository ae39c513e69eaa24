"""Graph modules written as packages of Python: see :meth:`facula.fx.GraphModule.to_folder`."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import facula

if TYPE_CHECKING:
    from facula.fx.graph_module import GraphModule

# Modules whose repr is the call that makes one like them.
_BUILT_BY_REPR = (
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "Dropout",
    "Linear",
    "MaxPool2d",
    "ReLU",
)


def write(module: GraphModule, folder: Path, module_name: str) -> None:
    """Write ``module.py``, ``__init__.py``, the parameters, and modules that code cannot make."""
    from facula.fx.graph_module import _format_import_block

    folder.mkdir(parents=True, exist_ok=True)
    facula.save(module.state_dict(), folder / "state_dict.pt")
    python_code = module.recompile()
    lines = []
    for name, child in module.named_children():
        kind = type(child).__name__
        if kind in _BUILT_BY_REPR and type(child) is getattr(facula.nn, kind):
            lines.append(
                f"self.{name} = facula.nn.{child!r}"
                if name.isidentifier()
                else f'setattr(self, "{name}", facula.nn.{child!r})'
            )
            continue
        file = f"{name}.pt"
        facula.save(child, folder / file)
        lines.append(
            f'self.add_module("{name}", facula.load(HERE / "{file}", weights_only=False))  # {kind}'
        )
    for name, buffer in module._buffers.items():
        if buffer is not None:
            made = f"facula.empty({list(buffer.shape)}, dtype=facula.{_dtype(buffer)})"
            lines.append(f'self.register_buffer("{name}", {made})')
    for name, parameter in module._parameters.items():
        if parameter is not None:
            made = f"facula.empty({list(parameter.shape)}, dtype=facula.{_dtype(parameter)})"
            lines.append(f'self.register_parameter("{name}", facula.nn.Parameter({made}))')
    lines.append('self.load_state_dict(facula.load(HERE / "state_dict.pt"))')
    imports = _format_import_block(python_code.globals)
    source = (
        "from pathlib import Path\n\nimport facula\n"
        f"{imports}\n\nHERE = Path(__file__).parent\n\n\n"
        f"class {module_name}(facula.nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        f"{textwrap.indent(chr(10).join(lines), ' ' * 8)}\n"
        f"{textwrap.indent(python_code.src, ' ' * 4).rstrip()}\n"
    )
    (folder / "module.py").write_text(source)
    (folder / "__init__.py").write_text(f"from .module import {module_name} as {module_name}\n")


def _dtype(tensor: facula.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
