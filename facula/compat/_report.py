"""``facula run --report``: which of PyTorch's names a program used, and which were missing.

Each process counts for itself and leaves its counts in a folder; the first process adds them up.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections import Counter
from types import ModuleType
from typing import Any

from facula.compat._alias import _ROOT, REPORT

_PACKAGE = os.path.join(_ROOT, "facula", "")
_used: Counter[str] = Counter()
_missing: Counter[str] = Counter()


def begin() -> None:
    """Count from now on, in this process and in its children; tell all when it ends."""
    import tempfile

    os.environ[REPORT] = tempfile.mkdtemp(prefix="facula-report-")
    atexit.register(_tell, os.environ[REPORT], os.getpid())


def _is_program(depth: int) -> bool:
    """Whether the code so many frames up is the program's, or a package's, and not ours."""
    file = sys._getframe(depth + 1).f_code.co_filename
    return not file.startswith((_PACKAGE, "<frozen importlib"))


class _Watched(ModuleType):
    """A module that counts which of its names are asked for."""

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name[:1] != "_" and not isinstance(value, ModuleType) and _is_program(1):
            _used[f"{_names[id(self)]}.{name}"] += 1
        return value


_names: dict[int, str] = {}


def watch(theirs: str, module: ModuleType) -> None:
    """Count the uses of a module's names, if there is to be a report.

    Args:
        theirs: the module's name in PyTorch.
        module: our module.
    """
    if REPORT not in os.environ or any(part[:1] == "_" for part in theirs.split(".")):
        return
    _names[id(module)] = theirs
    own = type(module)  # some modules with settings have a class of their own
    module.__class__ = _Watched if own is ModuleType else type("_Watched", (_Watched, own), {})
    if theirs == "torch":
        _watch_tensors(module.Tensor)
        _leave_counts()


def _watch_tensors(tensor: Any) -> None:
    """Count the uses of methods and attributes of tensors."""
    plain = tensor.__getattribute__

    def get(self: Any, name: str) -> Any:
        is_counted = name[:1] != "_" and _is_program(1)
        try:
            value = plain(self, name)
        except AttributeError:
            if is_counted:
                _missing[f"torch.Tensor.{name}"] += 1
            raise
        if is_counted and hasattr(tensor, name):
            _used[f"torch.Tensor.{name}"] += 1
        return value

    tensor.__getattribute__ = get


def miss(name: str) -> None:
    """Count a name that was asked for and is not there."""
    if REPORT in os.environ and not any(part[:1] == "_" for part in name.split(".")):
        _missing[name] += 1


def _leave_counts() -> None:
    """See to it that this process, and those that it forks, leave their counts."""
    from multiprocessing import util

    atexit.register(_write)
    os.register_at_fork(after_in_child=_forget)
    # Processes of multiprocessing end without atexit, but they do run finalizers.
    util.register_after_fork(_forget, lambda _: util.Finalize(None, _write, exitpriority=-100))


def _forget() -> None:
    _used.clear()
    _missing.clear()


def _write() -> None:
    folder = os.environ.get(REPORT, "")
    if os.path.isdir(folder):
        import json

        with open(os.path.join(folder, f"{os.getpid()}.json"), "w") as file:
            json.dump([_used, _missing], file)


def _tell(folder: str, process: int) -> None:
    if os.getpid() != process:
        return
    import json
    import shutil

    used, missing = Counter(_used), Counter(_missing)
    for entry in os.listdir(folder):
        if entry != f"{process}.json":
            with open(os.path.join(folder, entry)) as file:
                for counts, more in zip((used, missing), json.load(file), strict=True):
                    counts.update(more)
    shutil.rmtree(folder)
    print(text(used, missing), end="", file=sys.stderr)


def text(used: Counter[str], missing: Counter[str]) -> str:
    """The report: one line for each name, those asked for most often first.

    Args:
        used: how often each name was asked for.
        missing: how often each name was asked for that is not there.
    """
    lines = [f"facula run: {len(used)} names of PyTorch were used, {len(missing)} were missing."]
    for title, counts in (("missing", missing), ("used", used)):
        if counts:
            lines += ["", f"{'times':>9}  {title}"]
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            lines += [f"{count:9}  {name}" for name, count in ordered]
    return "\n".join(lines) + "\n"
