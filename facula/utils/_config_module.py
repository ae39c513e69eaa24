"""Modules of settings, such as ``torch._dynamo.config``, which can be patched for a while."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType, NoneType
from typing import Any

__all__ = ["ConfigModule", "install_config_module"]


# The types of settings; what else a module has is imported.
_DATA = (bool, int, float, str, set, dict, NoneType)


class ConfigPatch(contextlib.ContextDecorator):
    """Other values of some settings, in a block or while a function runs.

    Args:
        config: the module of settings.
        changes: the values by name.
    """

    def __init__(self, config: ModuleType, changes: dict[str, Any]) -> None:
        self._config, self._changes = config, changes
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._before.append({name: getattr(self._config, name) for name in self._changes})
        for name, value in self._changes.items():
            setattr(self._config, name, value)

    def __exit__(self, *error: object) -> None:
        for name, value in self._before.pop().items():
            setattr(self._config, name, value)


class _Group:
    """The settings of a module whose names begin with the group's, ``"triton.cudagraphs"``."""

    def __init__(self, config: ModuleType, name: str) -> None:
        vars(self).update(_config=config, _name=name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._config, f"{self._name}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._config, f"{self._name}.{name}", value)


class ConfigModule(ModuleType):
    """A module whose attributes are settings: those that it has, and no others, can be set."""

    _settings: frozenset[str]
    _aliases: dict[str, str]  # other names of settings, and settings of other modules

    def __getattr__(self, name: str) -> Any:
        # Reached for what is not in this module itself.
        if name in self._aliases:
            return getattr(*self._place_of(name))
        raise AttributeError(f"{self.__name__}.{name} does not exist.")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._aliases:
            setattr(*self._place_of(name), value)
        elif name in self._settings or name.startswith("__"):
            super().__setattr__(name, value)
        else:
            raise AttributeError(f"{self.__name__}.{name} does not exist, and cannot be set.")

    def _place_of(self, alias: str) -> tuple[ModuleType, str]:
        module, _, name = self._aliases[alias].rpartition(".")
        return import_module(module) if module else self, name

    def patch(
        self, arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any
    ) -> Any:
        """Change settings in a ``with`` block, or in a function that this decorates.

        Args:
            arg1: the name of a setting, or a dict of several.
            arg2: the value of the setting ``arg1``.
            kwargs: settings by name.
        """
        changes = dict(arg1) if isinstance(arg1, dict) else {} if arg1 is None else {arg1: arg2}
        changes.update(kwargs)
        for name in changes:
            if not hasattr(self, name):
                raise AttributeError(f"{self.__name__}.{name} does not exist.")
        return ConfigPatch(self, changes)

    def shallow_copy_dict(self) -> dict[str, Any]:
        """The settings by name."""
        return {name: getattr(self, name) for name in sorted(self._settings)}

    get_config_copy = to_dict = shallow_copy_dict

    def load_config(self, maybe_pickled_config: dict[str, Any]) -> None:
        """Set all settings of a dict that :meth:`shallow_copy_dict` has given.

        Args:
            maybe_pickled_config: the settings by name.
        """
        for name, value in maybe_pickled_config.items():
            if hasattr(self, name):
                setattr(self, name, value)
            else:
                warnings.warn(f"{self.__name__}.{name} does not exist: ignored.", stacklevel=2)


def install_config_module(
    name: str,
    aliases: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Make a module one of settings.

    Args:
        name: the name of the module.
        aliases: names that stand for another setting of the module, or with a dot,
            ``"facula._dynamo.config.verbose"``, for one of another module.
        settings: the values by name, where names have dots: those are in groups. The settings
            are the variables that the module has so far if None is given.
    """
    module = sys.modules[name]
    if settings is None:
        settings = {
            key: value
            for key, value in vars(module).items()
            if not key.startswith("__") and isinstance(value, _DATA)
        }
    groups = {key.partition(".")[0] for key in settings if "." in key}
    vars(module).update(
        settings,
        **{group: _Group(module, group) for group in groups},
        _settings=frozenset(settings),
        _aliases=dict(aliases or {}),
    )
    module.__class__ = ConfigModule
