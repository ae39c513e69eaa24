"""Runs when a Python process starts that a program under ``facula run`` has started.

It takes the names over there too, and then lets the sitecustomize run that it stands in front of.
"""

import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _take_over() -> None:
    # Another Python than the parent's cannot load our core: it keeps the packages that it has.
    if os.environ.get("FACULA_RUN") != sys.implementation.cache_tag:
        return
    name = "facula.compat._alias"
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(os.path.dirname(_HERE), "_alias.py")
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Found there by facula.compat, which so has this finder and not another one.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    module.install()


def _go_on() -> None:
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
    own = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found,unused-ignore] # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = own  # the import system looks for it


if __name__ == "sitecustomize":
    _take_over()
    _go_on()
