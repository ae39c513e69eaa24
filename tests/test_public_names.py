import importlib
import math
import pkgutil
import typing

import facula
from facula._exports import public_names


def public_modules():
    # The BLAS library lies beside _core, and its suffix is that of a module.
    for module in pkgutil.walk_packages(facula.__path__, "facula."):
        if not any(part.startswith(("_", "libscipy")) for part in module.name.split(".")):
            yield importlib.import_module(module.name)


def test_every_public_module_lists_its_names():
    for module in [facula, *public_modules()]:
        names = module.__all__
        assert len(names) == len(set(names)), module.__name__
        missing = [name for name in names if not hasattr(module, name)]
        assert not missing, f"{module.__name__}: {missing}"


def test_every_public_python_function_has_a_docstring():
    bare = [
        f"{module.__name__}.{name}"
        for module in public_modules()
        for name in module.__all__
        if callable(getattr(module, name))
        and not getattr(module, name).__doc__
        and typing.get_origin(getattr(module, name)) is None  # a type for annotations
        # Python's own module, which ours passes on.
        and not getattr(module, name).__module__.startswith("multiprocessing")
    ]
    assert not bare


def test_a_package_exports_what_its_files_list_and_the_submodules_it_names():
    namespace = {"f": len, "_g": len, "file": math, "submodule": math}
    assert public_names(namespace, "submodule") == ["f", "submodule"]


def test_what_the_core_has_for_the_package_is_not_public():
    for name in ["_run_backward", "_set_grad_enabled", "_linalg_vector_norm"]:
        assert hasattr(facula._core, name)
        assert not hasattr(facula, name)


def test_marked_operations_are_public_and_what_they_are_made_with_is_not():
    assert set(facula._ops.__all__) < set(facula.__all__)
    for name in ["broadcast_for", "fill_diagonal_", "into", "math", "operation", "reduced"]:
        assert hasattr(facula._ops, name)
        assert not hasattr(facula, name)


def test_constants_are_those_of_python():
    assert (facula.e, facula.inf, facula.pi) == (math.e, math.inf, math.pi)
    assert math.isnan(facula.nan)
    assert facula.newaxis is None
