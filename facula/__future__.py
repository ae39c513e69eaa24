"""Switches between two ways in which modules convert their parameters."""

__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]

_overwrites = False
_swaps = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Choose whether ``module.to()`` and its like make new parameters.

    Args:
        value: True for new objects, False for new data in the same ones, which optimisers hold.

    Example:
        >>> module = facula.nn.Linear(2, 2)
        >>> weight = module.weight
        >>> facula.__future__.set_overwrite_module_params_on_conversion(True)
        >>> module.double().weight is weight
        False
        >>> facula.__future__.set_overwrite_module_params_on_conversion(False)
    """
    global _overwrites
    _overwrites = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether ``module.to()`` and its like make new parameters.

    Example:
        >>> facula.__future__.get_overwrite_module_params_on_conversion()
        False
    """
    return _overwrites


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Choose whether parameters are swapped with their converted form.

    They stay the same objects with new contents, which they do in any case.

    Args:
        value: what :func:`get_swap_module_params_on_conversion` will say.
    """
    global _swaps
    _swaps = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether :func:`set_swap_module_params_on_conversion` was asked for.

    Example:
        >>> facula.__future__.get_swap_module_params_on_conversion()
        False
    """
    return _swaps
