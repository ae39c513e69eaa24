"""Writes docs/missing.md: public names of PyTorch that Facula has not, by comparing namespaces.

Needs PyTorch beside the package: `make parity` checks that the page is true.
"""

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "missing.md"

# The namespaces of PyTorch that are compared, each with ours of the same name.
NAMESPACES = [
    "torch",
    "torch.Tensor",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.grad",
    "torch.nn.utils",
    "torch.nn.utils.rnn",
    "torch.nn.utils.parametrizations",
    "torch.nn.utils.parametrize",
    "torch.nn.utils.prune",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.optim.swa_utils",
    "torch.autograd",
    "torch.autograd.functional",
    "torch.autograd.forward_ad",
    "torch.autograd.graph",
    "torch.autograd.profiler",
    "torch.func",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.signal.windows",
    "torch.masked",
    "torch.sparse",
    "torch.distributions",
    "torch.distributions.transforms",
    "torch.distributions.constraints",
    "torch.amp",
    "torch.cuda",
    "torch.cuda.amp",
    "torch.cuda.comm",
    "torch.profiler",
    "torch.random",
    "torch.testing",
    "torch.utils.data",
    "torch.utils.checkpoint",
    "torch.utils.benchmark",
    "torch.utils.flop_counter",
    "torch.utils.dlpack",
    "torch.utils.tensorboard",
    "torch.serialization",
    "torch.hub",
    "torch.overrides",
    "torch.multiprocessing",
    "torch.types",
]

# What Facula leaves out on purpose, and why.
LEFT_OUT = {
    r"q_.*|.*quant.*|int_repr|fbgemm.*|qu?int.*|qscheme|choose_qparams.*": "quantized tensors",
    r".*[Nn]ame(s|d)\b|align_(as|to|tensors)|refine_names|rename_?|has_names": "named tensors",
    r"nested|.*NestedTensor|is_nested": "nested tensors",
    r"jit|.*Script.*|compile|.*_ir_.*|parse_.*|(unify|merge)_type_.*|export|fork|wait": "compilers",
    r".*(mkl|vulkan|xpu|mps|mtia|ipu|hpu|maia|metal|xla|hip|cudnn_|miopen|opaque).*": "backends",
    r"rpc|.*RRef.*|distributed": "remote calls",
    r".*SymInt.*|Sym(Int|Bool|Float)|sym_.*": "symbolic sizes of compilers",
    r"MaskedTensor|masked_tensor|as_masked_tensor|is_masked_tensor": "masked tensors as a type",
}

UNDOCUMENTED = "functions that PyTorch does not document"

# The top level also shows the classes of PyTorch's own core, of which these are documented.
INSIDE = "classes of PyTorch's own core"
DOCUMENTED = {"AcceleratorError", "Event", "GradScaler", "OutOfMemoryError", "Stream"}


def load(name: str) -> Any:
    """A module, or what a module has by this name; None if there is none."""
    try:
        return importlib.import_module(name)
    except ImportError:
        module, _, attribute = name.rpartition(".")
        try:
            return getattr(importlib.import_module(module), attribute, None)
        except ImportError:
            return None


def public_names(space: Any) -> set[str]:
    """The names that a namespace means for its users."""
    listed = getattr(space, "__all__", None) if isinstance(space, ModuleType) else None
    names = set(listed if listed is not None else dir(space))
    if listed is None and isinstance(space, ModuleType):
        # Without a list: what was made in PyTorch itself, not what such a module imports.
        def is_own(value: Any) -> bool:
            origin = getattr(value, "__module__", None) or ""
            return not inspect.ismodule(value) and origin.startswith("torch")

        names = {n for n in names if is_own(getattr(space, n, None))}
    return {n for n in names if not n.startswith("_")}


def reason_of(name: str, value: Any) -> str | None:
    is_inside = getattr(value, "__module__", "") in ("torch", "torch._C") and name[0].isupper()
    if is_inside and name not in DOCUMENTED:
        return INSIDE
    found = next((why for form, why in LEFT_OUT.items() if re.match(rf"({form})$", name)), None)
    if found is None and not inspect.getdoc(value):
        return UNDOCUMENTED
    return found


def compare() -> dict[str, tuple[int, list[str], dict[str, str]]]:
    """By namespace: how many names count, those that are missing, and why others are left out."""
    rows = {}
    for name in NAMESPACES:
        theirs, ours = load(name), load("facula" + name.removeprefix("torch"))
        names = public_names(theirs)
        missing = sorted(n for n in names if not hasattr(ours, n))
        reasons = {n: reason_of(n, getattr(theirs, n, None)) for n in missing}
        left_out = {n: why for n, why in reasons.items() if why}
        rows[name] = len(names) - len(left_out), [n for n in missing if not reasons[n]], left_out
    return rows


def page() -> str:
    version = load("torch").__version__.partition("+")[0]
    lines = [
        "# What PyTorch has and Facula has not",
        "",
        f"Made by `tools/missing.py`, which compares the namespaces with PyTorch {version}'s.",
        "",
        "| namespace | names | here | missing |",
        "| --- | --- | --- | --- |",
    ]
    rows = compare()
    for name, (total, missing, _) in rows.items():
        text = ", ".join(f"`{n}`" for n in missing) or ""
        lines.append(f"| `{name}` | {total} | {total - len(missing)} | {text} |")
    lines += ["", "## Left out on purpose", "", "| what | names |", "| --- | --- |"]
    for why in [*dict.fromkeys(LEFT_OUT.values()), INSIDE, UNDOCUMENTED]:
        names = sorted({n for _, _, out in rows.values() for n in out if out[n] == why})
        if names:
            lines.append(f"| {why} | {', '.join(f'`{n}`' for n in names)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
