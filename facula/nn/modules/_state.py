"""``state_dict`` and ``load_state_dict``; loading changes everything or nothing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from facula._core import Tensor
from facula._warnings import warn_user
from facula.autograd.grad_mode import no_grad
from facula.nn.parameter import Parameter, UninitializedTensorMixin, is_lazy
from facula.utils.hooks import RemovableHandle

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self[0]}, unexpected_keys={self[1]})"


def persistent(module: Stateful) -> Iterator[tuple[str, Tensor]]:
    """The module's own parameters and buffers that a state_dict has, without its children's."""
    for name, param in module._parameters.items():
        if param is not None:
            yield name, param
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in module._non_persistent_buffers_set:
            yield name, buffer


def _load_tensor(
    module: Stateful, name: str, key: str, target: Tensor, value: Any, assign: bool
) -> str | None:
    """Copy or assign one value; returns what is wrong with it, or None."""
    if not isinstance(value, Tensor):
        return f"{key}: expected a tensor in the state_dict, got {type(value).__name__}."
    # A lazy module has materialized its targets in a pre-hook, unless the value has no shape
    # either.
    if is_lazy(target) and is_lazy(value):
        return None
    if not is_lazy(target):
        if target.dim() == 0 and value.dim() == 1 and value.numel() == 1:
            value = value[0]  # PyTorch before 0.4 saved scalars as vectors
        if value.shape != target.shape:
            return (
                f"size mismatch for {key}: expected {tuple(target.shape)}, as the module has it, "
                f"got {tuple(value.shape)} in the state_dict."
            )
    if target.is_meta and not value.is_meta and not assign:
        warn_user(
            f"load_state_dict: for {key}: copying from a non-meta parameter in the checkpoint to a "
            "meta parameter in the current model, which is a no-op. (Did you mean to pass "
            "assign=True to assign items in the state dictionary to their corresponding key in the "
            "module instead of copying them in place?)",
        )
    # Any exception becomes a line of the one error that lists all problems.
    try:
        with no_grad():
            if assign:
                setattr(module, name, _as_assigned(target, value))
            else:
                target.copy_(value)
    except Exception as error:
        return (
            f"{key}: the value {tuple(value.shape)} of the state_dict could not become that of the "
            f"module {tuple(target.shape)}: {type(error).__name__}: {error}"
        )
    return None


def _as_assigned(target: Tensor, value: Tensor) -> Tensor:
    # Whether a parameter is trained belongs to the module, not to the file that its values are
    # from.
    if not isinstance(target, Parameter):
        return value
    if isinstance(value, Parameter):
        return value.requires_grad_(target.requires_grad)
    return Parameter(value, requires_grad=target.requires_grad)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _load_tree(
    module: Stateful,
    state: dict[str, Any],
    prefix: str,
    metadata: Any,
    assign: bool,
    found: _IncompatibleKeys,
    errors: list[str],
) -> None:
    local: dict[str, Any] = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    # Always strict, so that the lists are complete: load_state_dict decides whether they are
    # errors.
    lists = found.missing_keys, found.unexpected_keys, errors
    module._load_from_state_dict(state, prefix, local, True, *lists)
    # Each child is given its own keys only: all keys for all modules would take quadratic time.
    # They are collected after the module's own load, whose hooks may have renamed keys.
    parts: dict[str, dict[str, Any]] = {}
    for key, value in state.items():
        if key.startswith(prefix):
            parts.setdefault(key[len(prefix) :].partition(".")[0], {})[key] = value
    for name, child in module._modules.items():
        if child is not None:
            part = parts.get(name, {})
            _load_tree(child, part, f"{prefix}{name}.", metadata, assign, found, errors)
    for hook in list(module._load_state_dict_post_hooks.values()):
        if hook(module, found) is not None:
            raise AssertionError(
                "load_state_dict: a hook of register_load_state_dict_post_hook gave a value, where "
                "None is expected. It changes the lists of incompatible_keys it is given instead."
            )


def _is_sure_to_fit(module: Any, state: dict[str, Any], strict: bool) -> bool:
    """Whether loading cannot fail, so that the old values need not be kept.

    A copy of all values would double the memory of a large model while it is loaded.
    """
    expected: dict[str, Tensor] = {}
    for path, part in module.named_modules(remove_duplicate=False):
        # Code of the user's may raise, or write anywhere, whatever the shapes are.
        hooks = part._load_state_dict_pre_hooks or part._load_state_dict_post_hooks
        loader = type(part)._load_from_state_dict
        if hooks or not loader.__module__.startswith("facula."):
            return False
        prefix = f"{path}." if path else ""
        expected.update((prefix + name, value) for name, value in persistent(part))
    if strict and expected.keys() != state.keys():
        return False
    return all(
        isinstance(state[key], Tensor)
        and not is_lazy(target)
        and state[key].shape == target.shape
        and 0 not in target.stride()  # copy_ refuses elements that share memory
        for key, target in expected.items()
        if key in state
    )


class _Snapshot:
    """The state of a module and its children, to go back to."""

    def __init__(self, module: Any, *, with_values: bool) -> None:
        modules = list(module.modules())
        self.tables: list[tuple[dict[str, Any], dict[str, Any]]] = [
            (table, dict(table)) for part in modules for table in (part._parameters, part._buffers)
        ]
        tensors = [t for _, values in self.tables for t in values.values() if t is not None]
        once = {id(t): t for t in tensors} if with_values else {}  # tied tensors are copied once
        self.values = [
            (t, type(t), t._n_writes, t.data if is_lazy(t) else t.data.clone())
            for t in once.values()
        ]
        self.extra = [
            (part, part.get_extra_state())
            for part in modules
            if type(part).get_extra_state is not Stateful.get_extra_state
            and type(part).set_extra_state is not Stateful.set_extra_state
        ]

    @no_grad()
    def restore(self) -> None:
        # The dictionaries stay the same objects, since others may hold them.
        for table, values in self.tables:
            table.clear()
            table.update(values)
        for tensor, kind, version, value in self.values:
            if issubclass(kind, UninitializedTensorMixin):  # loading may have given it a shape
                tensor.data = value
                tensor.__class__ = kind
            # An unchanged tensor is not written to: a copy would count as a change for graphs made
            # before, whose backward would then fail.
            elif tensor._n_writes != version:
                tensor.copy_(value)
        for part, state in self.extra:
            part.set_extra_state(state)


class Stateful:
    """The methods of a module that save and load its state."""

    # The version of the module's part of a state_dict; a layer that saves something else than
    # before has a higher one.
    _version = 1

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: dict[int, Any]
    _state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_post_hooks: dict[int, Any]

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the module's part of a state_dict."""
        return RemovableHandle.add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after the module's part.

        It changes the dictionary in place.
        """
        return RemovableHandle.add(self._state_dict_hooks, (hook, False))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The same, but a dictionary that the hook returns replaces the first one."""
        return RemovableHandle.add(self._state_dict_hooks, (hook, True))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook`` before the module takes its part of a state_dict.

        Its arguments are ``module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs``, which it may change in place.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return RemovableHandle.add(self._load_state_dict_pre_hooks, (hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after the module and those inside are loaded.

        Keys that it removes from the lists do not count as errors.
        """
        return RemovableHandle.add(self._load_state_dict_post_hooks, hook)

    def get_extra_state(self) -> Any:
        """State other than tensors, for ``state_dict``; a subclass may define it."""
        raise RuntimeError(
            "get_extra_state: the module has none. A subclass that defines it defines "
            "set_extra_state as well."
        )

    def set_extra_state(self, state: Any) -> None:
        """Restore what :meth:`get_extra_state` returned; a subclass may define it."""
        raise RuntimeError(
            "set_extra_state: the module has none. A subclass that defines it defines "
            "get_extra_state as well."
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in persistent(self):
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        # The module's own state only: _load_tree goes through the children.
        for hook, takes_module in list(self._load_state_dict_pre_hooks.values()):
            known = (self,) if takes_module else ()
            rest = (strict, missing_keys, unexpected_keys, error_msgs)
            hook(*known, state_dict, prefix, local_metadata, *rest)

        assign = local_metadata.get("assign_to_params_buffers", False)
        own = dict(persistent(self))
        for name, target in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            problem = _load_tensor(self, name, key, target, state_dict[key], assign)
            if problem:
                error_msgs.append(problem)

        extra_key = prefix + EXTRA_STATE
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        # A key is unexpected where its path leaves the module: the rest of a path that goes on into
        # a child is for that child to check.
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    first, *rest_of_path = key[len(prefix) :].split(".", 1)
                    if first not in (self._modules if rest_of_path else own):
                        unexpected_keys.append(key)

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and persistent buffers by their paths.

        The tensors share their memory with the module's.

        Args:
            destination: a dictionary to put the tensors into; by default a new one.
            prefix: a text to put before every path.
            keep_vars: whether the parameters themselves are returned, rather than tensors detached
                from the graph.

        Example:
            >>> list(facula.nn.Linear(2, 1).state_dict())
            ['weight', 'bias']
        """
        for value, name in zip(args, ("destination", "prefix", "keep_vars"), strict=False):
            warn_user(
                f"state_dict: give {name} by keyword; positional arguments are deprecated.",
                FutureWarning,
            )
            destination = value if name == "destination" else destination
            prefix = value if name == "prefix" else prefix
            keep_vars = value if name == "keep_vars" else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        # A plain dictionary of the caller's has no place for versions.
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}{name}."
                module.state_dict(destination=destination, prefix=below, keep_vars=keep_vars)
        for hook, may_replace in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, local_metadata)
            if replaced is not None:
                if not may_replace:
                    raise RuntimeError(
                        "state_dict: a hook of register_state_dict_post_hook gave a value, where "
                        "None is expected. It changes the state_dict it is given instead."
                    )
                destination = replaced
        return destination

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Copy the values of a ``state_dict`` into the module's parameters and buffers.

        All differences are listed in one error, after which the module is as it was before.

        Args:
            state_dict: the values by their paths.
            strict: whether keys that are missing or unknown are an error.
            assign: whether the given tensors themselves become the module's parameters, rather than
                their values being copied.

        Returns:
            The lists ``missing_keys`` and ``unexpected_keys``.

        Example:
            >>> from facula import nn
            >>> nn.Linear(2, 1).load_state_dict(nn.Linear(2, 1).state_dict())
            <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"load_state_dict: expected a mapping, got {type(state_dict).__name__}."
            )
        for key in state_dict:
            if not isinstance(key, str):
                raise TypeError(
                    f"load_state_dict: expected the names of tensors as keys, got {key!r}."
                )
        found = _IncompatibleKeys([], [])
        errors: list[str] = []
        # A copy, since hooks and old layers rename and remove keys, and the caller keeps the
        # original.
        metadata = getattr(state_dict, "_metadata", None)
        state: OrderedDict[str, Any] = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata  # type: ignore[attr-defined]
        is_sure = _is_sure_to_fit(self, state, strict)
        # An assignment may be refused halfway, for its dtype: the tables must be restored even
        # where all shapes fit. Values need not be, since an assignment writes to no tensor.
        before = _Snapshot(self, with_values=not is_sure) if assign or not is_sure else None
        try:
            _load_tree(self, state, "", metadata, assign, found, errors)
            if strict and found.unexpected_keys:
                errors.insert(
                    0, f"Unexpected key(s) in state_dict: {_quoted(found.unexpected_keys)}. "
                )
            if strict and found.missing_keys:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(found.missing_keys)}. ")
            if errors:
                listed = "\n\t".join(errors)
                raise RuntimeError(
                    f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"
                )
        except BaseException:  # an interrupt, too, must not leave half of the values loaded
            if before is not None:
                before.restore()
            raise
        return found
