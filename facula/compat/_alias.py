"""The finder that answers for ``torch``, ``torchvision`` and ``tensorboardX``.

Every child process loads this file when it starts, so it imports nothing of Facula and almost
nothing of Python; the package follows when the program asks for one of those names.

Note [One module per file]
``torch.nn`` is no second module made of our file: the loader of the name imports ``facula.nn`` and
hands out that object. A module of ours that is imported by its own name gets its other name in
``sys.modules`` as well, before its file runs, so neither name can ever execute the file again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# The names of other packages, and our modules that stand for them.
PACKAGES = {
    "torch": "facula",
    "torchvision": "facula.vision",
    "functorch": "facula._functorch_package",
}
_WRITER = "facula.utils.tensorboard.writer"

# Packages whose libraries are linked against PyTorch's own, which is not loaded. Others look for
# them, and have a way without them: so they are not there.
COMPILED = {
    "apex",
    "flash_attn",
    "flash_attn_interface",
    "pyg_lib",
    "torch_cluster",
    "torch_scatter",
    "torch_sparse",
    "torch_spline_conv",
    "torchcodec",
    "torchtext",
    "xformers",
}

# What a child process is told by: the Python it was started from, the era of the program, and the
# folder in which processes leave what they used.
PYTHON, ERA, REPORT = "FACULA_RUN", "FACULA_ERA", "FACULA_REPORT"

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(os.path.dirname(_FOLDER))  # the folder that has the package
SITE = os.path.join(_FOLDER, "_site")


def other_name(ours: str) -> str | None:
    """The name in PyTorch or torchvision of a module of ours; None if it is not ours."""
    for theirs, package in sorted(PACKAGES.items(), reverse=True):
        if ours == package or ours.startswith(package + "."):
            return theirs + ours[len(package) :]
    return None


def our_name(theirs: str) -> str | None:
    """The name of our module for one of PyTorch's or torchvision's; None for other packages."""
    package, dot, rest = theirs.partition(".")
    if package not in PACKAGES:
        return None
    return PACKAGES[package] + dot + rest


class Finder:
    """Finds the other packages' modules in ours, and gives our modules their other names.

    Args:
        on_import: called with the name of each of our modules and the module, once it is loaded.
    """

    def __init__(self, on_import: Callable[[str, ModuleType], None]) -> None:
        self.on_import = on_import

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module, if it is one of ours by either name."""
        top = name.partition(".")[0]
        if top == "facula":
            return self._watched(self._own_spec(name, path), name)
        if top == "tensorboardX":
            return self._tensorboard_spec(name, path)
        if name == "pkg_resources":
            return self._listing_spec(self._own_spec(name, path))
        if name in COMPILED:
            _refuse_compiled(name)
            return None
        ours = our_name(name)
        if ours is None:
            return None
        if path is None and "." in ours:  # torchvision, whose parent may not be imported yet
            parent = self._own_spec("facula", None)
            path = parent.submodule_search_locations if parent else None
        spec = self._own_spec(ours, path)
        if spec is None:
            _refuse(name)
            return None
        return _alias_spec(name, ours, spec)

    def find_distributions(self, context: Any) -> Iterable[Any]:
        """What ``importlib.metadata`` says of the packages that we stand for."""
        # A path of its own means a look at files, such as pip's at an environment: not at us.
        if "path" in vars(context):
            return []
        from facula.compat import _metadata

        return _metadata.distributions(context.name)

    def invalidate_caches(self) -> None:
        """Nothing is kept that could be out of date."""

    def _own_spec(self, name: str, path: Sequence[str] | None) -> ModuleSpec | None:
        loaded: ModuleSpec | None = getattr(sys.modules.get(name), "__spec__", None)
        if loaded is not None:
            return loaded
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None
            if find is not None and finder is not self:
                spec = find(name, path)
            if spec is not None:
                return spec
        # A child may have been given another path than its parent.
        return _on_path(name, [_ROOT]) if path is None else None

    def _watched(self, spec: ModuleSpec | None, name: str) -> ModuleSpec | None:
        """The spec of one of our modules, whose loading tells ``on_import``."""
        theirs = other_name(name)
        if spec is None or spec.loader is None or theirs is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            sys.modules[theirs] = module
            try:
                load(module)
            except BaseException:
                sys.modules.pop(theirs, None)
                raise
            self.on_import(name, module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _listing_spec(self, spec: ModuleSpec | None) -> ModuleSpec | None:
        """The spec of ``pkg_resources``, whose own list of packages gets those that we are."""
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            from facula.compat._versions import versions

            for package, version in versions().items():
                listed = module.Distribution(project_name=package, version=version, location=_ROOT)
                module.working_set.add(listed, replace=True)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _tensorboard_spec(self, name: str, path: Sequence[str] | None) -> ModuleSpec | None:
        # Our writer is built on the real package, so that one's other files stay themselves.
        if name == "tensorboardX.writer":
            spec = self._own_spec(_WRITER, import_module("facula.utils.tensorboard").__path__)
            return None if spec is None else _alias_spec(name, _WRITER, spec)
        if name != "tensorboardX":
            return None
        real = _on_path(name, None)
        from importlib.util import spec_from_file_location

        return spec_from_file_location(
            name,
            os.path.join(_FOLDER, "_tensorboardX.py"),
            submodule_search_locations=list((real and real.submodule_search_locations) or []),
        )


class _OtherPackages:
    """Python's own finder, but for the packages that cannot be loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module on ``sys.path``."""
        return None if name in COMPILED else PathFinder.find_spec(name, path, target)

    def find_distributions(self, context: Any) -> Iterable[Any]:
        """What ``importlib.metadata`` says of the packages on ``sys.path``."""
        if str(context.name).lower().replace("-", "_") in COMPILED:
            return []
        return PathFinder.find_distributions(context)

    def invalidate_caches(self) -> None:
        """Look at the folders again."""
        PathFinder.invalidate_caches()


def _on_path(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    return PathFinder.find_spec(name, path)


def _alias_spec(name: str, ours: str, spec: ModuleSpec) -> ModuleSpec:
    alias = ModuleSpec(
        name,
        _AliasLoader(ours, spec.loader),  # type: ignore[arg-type]
        origin=spec.origin,
        is_package=spec.submodule_search_locations is not None,
    )
    alias.submodule_search_locations = spec.submodule_search_locations
    alias.has_location = spec.has_location
    return alias


class _AliasLoader:
    """Loads a module of ours under another package's name: the same object."""

    def __init__(self, ours: str, loader: Any) -> None:
        self._ours = ours
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Our module, imported if it was not yet."""
        module = import_module(self._ours)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back: the import system has put the alias there."""
        module.__spec__ = self._spec

    # What runpy (for -m), inspect and pkgutil ask of a loader.
    def get_code(self, name: str) -> Any:
        """The code of the file."""
        return self._loader.get_code(self._ours)

    def get_source(self, name: str) -> Any:
        """The text of the file."""
        return self._loader.get_source(self._ours)

    def get_filename(self, name: str) -> Any:
        """The path of the file."""
        return self._loader.get_filename(self._ours)

    def is_package(self, name: str) -> bool:
        """Whether it is the file of a package."""
        return bool(self._loader.is_package(self._ours))


def _is_question() -> bool:
    """Whether the finder was asked by ``importlib.util.find_spec``, which wants None, no error."""
    return sys._getframe(4).f_code.co_name == "find_spec"


def _refuse_compiled(name: str) -> None:
    """Raise, where a program imports a package that is installed and cannot be loaded."""
    if not _is_question() and _on_path(name, None) is not None:
        raise ImportError(
            f"{name} cannot be imported under facula run: its libraries were compiled for those of "
            "PyTorch. Leave it out, or run the program with PyTorch.",
            name=name,
        )


def _refuse(name: str) -> None:
    """Raise, where a program imports what the table of refusals has a sentence for."""
    if _is_question() or "facula.compat" not in sys.modules:
        return
    from facula.compat._refusals import sentence
    from facula.compat._report import miss

    miss(name)
    text = sentence(name)
    if text is not None:
        raise ImportError(text, name=name)


def is_installed() -> bool:
    """Whether the names are ours in this process."""
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def install() -> None:
    """Take the names over in this process, and let its children do so when they start."""
    if is_installed():
        return
    for name in (*PACKAGES, "tensorboardX"):
        _check_free(name)
    sys.meta_path[:] = [
        _OtherPackages() if finder is PathFinder else finder for finder in sys.meta_path
    ]
    sys.meta_path.insert(0, Finder(_on_import))
    ours = [name for name in sys.modules if other_name(name) is not None]
    for name in sorted(ours, key=lambda name: name == "facula"):  # it comes last, as in imports
        module, theirs = sys.modules[name], other_name(name)
        if theirs is not None and module is not None:
            sys.modules[theirs] = module
            _on_import(name, module)
    if "tensorboardX" in sys.modules:  # our writer has imported the real one
        del sys.modules["tensorboardX"]
        import_module("tensorboardX")
    os.environ[PYTHON] = str(sys.implementation.cache_tag)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([SITE, *(p for p in paths if p not in ("", SITE))])


def _check_free(name: str) -> None:
    loaded = sys.modules.get(name)
    if loaded is not None and name in PACKAGES and loaded is not sys.modules.get(PACKAGES[name]):
        raise RuntimeError(
            f"facula.compat.install: {name} is already imported from "
            f"{getattr(loaded, '__file__', None)}. Call install() before the first import of it, "
            "or start the program with facula run."
        )


_undressed: list[tuple[str, ModuleType]] = []
_dress: Callable[[str, ModuleType], None] | None = None


def _on_import(name: str, module: ModuleType) -> None:
    global _dress
    if name.startswith("facula.compat"):
        return
    _undressed.append((name, module))
    if name == "facula":  # whole now, so that the rest of this package can be imported
        from facula.compat._appearance import dress

        _dress = dress
    while _dress is not None and _undressed:
        _dress(*_undressed.pop())
