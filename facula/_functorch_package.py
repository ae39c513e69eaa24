"""What the package ``functorch`` has, to programs that import it by that name.

Not ``facula._functorch``: functions of it have the names of its modules.
"""

from importlib import import_module
from typing import Any

_FUNC = ("grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap")
_MAKE_FUNCTIONAL = (
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
)
_PLACES = {
    **dict.fromkeys(_FUNC, "facula.func"),
    **dict.fromkeys(_MAKE_FUNCTIONAL, "facula._functorch.make_functional"),
    "make_fx": "facula.fx.experimental.proxy_tensor",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'functorch' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
