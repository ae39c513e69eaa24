"""The base class of all layers and networks.

Its methods are in four files: here are attributes, parts and text; ``_hooks.py`` has the hooks and
the call that runs them, ``_state.py`` ``state_dict`` and loading, ``_moves.py`` ``to`` and its kin.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import chain
from types import FunctionType
from typing import Any, TypeVar

from facula import _core
from facula._core import Tensor
from facula._exports import own_module
from facula._legacy import typename
from facula.nn.modules import _hooks
from facula.nn.modules._error_notes import note_failing_module
from facula.nn.modules._hooks import (
    GLOBAL,
    Hooked,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from facula.nn.modules._moves import Movable
from facula.nn.modules._state import EXTRA_STATE, Stateful
from facula.nn.modules._state import _IncompatibleKeys as _IncompatibleKeys
from facula.nn.parameter import Buffer, Parameter

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_Self = TypeVar("_Self", bound="Module")

# The parts of a module, and its hooks by kind. __init__ makes all of them, and __setstate__ those
# that a pickle of another version does not have.
_TABLES: dict[str, type] = {
    "_parameters": dict,
    "_buffers": dict,
    "_non_persistent_buffers_set": set,
    "_backward_pre_hooks": OrderedDict,
    "_backward_hooks": OrderedDict,
    "_forward_hooks": OrderedDict,
    "_forward_hooks_with_kwargs": OrderedDict,
    "_forward_hooks_always_called": OrderedDict,
    "_forward_pre_hooks": OrderedDict,
    "_forward_pre_hooks_with_kwargs": OrderedDict,
    "_state_dict_hooks": OrderedDict,
    "_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_post_hooks": OrderedDict,
    "_modules": dict,
}


_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE
# The hooks of all modules, by the names that PyTorch has for them.
_global_backward_pre_hooks = GLOBAL._backward_pre_hooks
_global_backward_hooks = GLOBAL._backward_hooks
_global_forward_pre_hooks = GLOBAL._forward_pre_hooks
_global_forward_hooks = GLOBAL._forward_hooks
_global_forward_hooks_always_called = GLOBAL._forward_hooks_always_called
_global_forward_hooks_with_kwargs = GLOBAL._forward_hooks_with_kwargs
_global_buffer_registration_hooks = GLOBAL._registration_hooks["buffer"]
_global_module_registration_hooks = GLOBAL._registration_hooks["module"]
_global_parameter_registration_hooks = GLOBAL._registration_hooks["parameter"]

_Attribute = _core._ModuleAttribute
_NOTHING = _Attribute("")

# Classes whose objects have parts of any name: their classes would collect names without end, so
# that they are read through __getattr__ instead.
open_classes: set[type] = set()


def _expose(kind: type, name: str) -> None:
    """Let ``name`` be read from the tables of a module without a call of ``__getattr__``.

    An attribute that the class has by that name already goes first, as it does without this. A
    class with a ``__getattr__`` of its own is asked for every part.
    """
    if kind.__getattr__ is not Module.__getattr__:  # type: ignore[attr-defined]
        # No part is called "": a base class may expose the name, and this one finds nothing, so
        # that Python goes on to __getattr__.
        found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), _NOTHING)
        if name not in vars(kind) and type(found) is _Attribute:
            setattr(kind, name, _NOTHING)
        return
    # The descriptor has no __set__: what an object has in its own __dict__ still goes first. It is
    # there for all objects of the class; for one without the part it raises AttributeError, and
    # Python goes on to __getattr__.
    if not hasattr(kind, name) and kind not in open_classes and name.isidentifier():
        setattr(kind, name, _Attribute(name))


@functools.cache
def _named_by_init(kind: type) -> frozenset[str]:
    """The names that the constructors of a class mention, those of its usual parts among them."""
    names: set[str] = set()
    for base in kind.__mro__:
        code = getattr(vars(base).get("__init__"), "__code__", None)
        if code is not None:
            names.update(code.co_names, (c for c in code.co_consts if isinstance(c, str)))
    return frozenset(names)


def _missing_forward(self: Module, *args: Any, **kwargs: Any) -> Any:
    """What the module computes; every subclass defines it. Call the module rather than this."""
    raise NotImplementedError(
        f"{type(self).__name__}: a module has to define forward to be called. "
        '(it is missing the required "forward" function)'
    )


# Added where a program asks a module for what only TorchScript gives it.
_OF_TORCHSCRIPT = (
    ": jit.script and jit.trace leave a module as it is, without TorchScript. Save its weights "
    "with torch.save(model.state_dict(), path), write it for other programs with "
    "torch.onnx.export, or take its graph from torch.fx.symbolic_trace."
)


class Module(Stateful, Movable, Hooked):
    """Base class of layers and networks.

    Parameters, buffers and modules that are assigned to attributes become part of the module:
    ``parameters()`` lists them, ``to()`` moves them, ``state_dict()`` saves them.

    Example:
        >>> from facula import nn
        >>> class Net(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.hidden = nn.Linear(3, 4)
        ...         self.out = nn.Linear(4, 2)
        ...     def forward(self, x):
        ...         return self.out(facula.relu(self.hidden(x)))
        >>> net = Net()
        >>> net(facula.ones(5, 3)).shape
        torch.Size([5, 2])
        >>> [name for name, _ in net.named_parameters()]
        ['hidden.weight', 'hidden.bias', 'out.weight', 'out.bias']
    """

    dump_patches = False
    call_super_init = False
    # The type of what state_dict writes to, for annotations of methods that override it.
    T_destination = TypeVar("T_destination", bound=dict[str, Any])

    training: bool
    # Whether this module may have a hook that its call must run. The register methods set it, and
    # the first call that finds no hook clears it.
    _has_hooks: bool
    _modules: dict[str, Module | None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}: nn.Module takes no arguments, got the keyword "
                    f"{next(iter(kwargs))!r}. Set call_super_init=True to pass them on."
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}: nn.Module takes no arguments, got {len(args)}. Set "
                    "call_super_init=True to pass them on."
                )
        # Written to __dict__ directly, without the questions that __setattr__ asks of each value.
        own = self.__dict__
        own["training"] = True
        own["_is_full_backward_hook"] = None
        own["_has_hooks"] = False
        for name, table in _TABLES.items():
            own[name] = table()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _missing_forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Without an error the try block costs nothing, and without hooks the rest is two flags.
        # Nothing else may come between a caller and forward: small layers would feel it.
        try:
            if self._has_hooks or GLOBAL._has_hooks:
                return _hooks.call(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            note_failing_module(self, error)
            raise

    # The same, by the names that packages call in PyTorch.
    _wrapped_call_impl = _call_impl = __call__
    _compiled_call_impl: Any = None  # what torch.compile would leave there

    # Attributes

    def __getattr__(self, name: str) -> Any:
        # Reached only by what ordinary lookup has not found: see _expose. Before __init__ has run
        # there are no tables, and asking for them by attribute would come back here without end.
        own = self.__dict__
        if "_parameters" in own:
            if name in own["_parameters"]:
                return own["_parameters"][name]
            if name in own["_modules"]:
                return own["_modules"][name]
            if name in own["_buffers"]:
                return own["_buffers"][name]
        hint = _OF_TORCHSCRIPT if name in ("graph", "inlined_graph", "save") else ""
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{hint}")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        # isinstance(value, Parameter) is a slow question, since other types can bear its mark. It
        # is asked of tensors only.
        is_tensor = isinstance(value, Tensor)
        if is_tensor and isinstance(value, Parameter):
            self._check_initialized("parameter")
            self._forget(name, keep="_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            # A plain tensor must not take the place of a parameter in silence: the optimiser would
            # go on with the old one.
            if value is not None:
                raise _wrong_kind(value, "parameter", name, "a Parameter or None")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._check_initialized("module")
            self._forget(name, keep="_modules")
            own["_modules"][name] = _hooks.on_registration("module", self, name, value)
            _expose(type(self), name)
        elif name in own.get("_modules", ()):
            if value is not None:
                raise _wrong_kind(value, "module", name, "a Module or None")
            own["_modules"][name] = _hooks.on_registration("module", self, name, value)
        elif name in own.get("_buffers", ()) or (is_tensor and isinstance(value, Buffer)):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise _wrong_kind(value, "buffer", name, "a Tensor, a Buffer or None")
        if isinstance(value, Buffer):
            self._check_initialized("buffer")
            self._forget(name, keep="_buffers")
            self.register_buffer(name, value, value.persistent)
        else:
            self._buffers[name] = _hooks.on_registration("buffer", self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        of_class: dict[str, Any] = {}
        for base in reversed(type(self).__mro__):
            of_class.update(vars(base))
        # _expose puts a name on the class as soon as one object has such a part; others have not.
        names = {name for name, value in of_class.items() if type(value) is not _Attribute}
        names.update(self.__dict__, self._parameters, self._modules, self._buffers)
        # Names such as "0", which containers give, cannot be written after a dot.
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._restore(state)
        kind: type = type(self)
        # A copy of what a stranger's file names must not give our classes attributes either.
        known = _named_by_init(kind) if own_module(kind).startswith("facula.") else None
        for name in chain(self._parameters, self._modules, self._buffers):
            if known is None or name in known:
                _expose(kind, name)

    def _restore(self, state: dict[str, Any]) -> None:
        """Take over the state of a pickle, which may be PyTorch's or older than the class.

        The class is left as it is: a file of a stranger must not give it attributes.
        """
        self.__dict__.update(state)
        for name, table in _TABLES.items():
            if name not in self.__dict__:
                self.__dict__[name] = table()
        self.__dict__.setdefault("_is_full_backward_hook", None)
        # A pickle of PyTorch has no such flag, but may have hooks: the first call finds out.
        self.__dict__["_has_hooks"] = True
        if "_backend" in state and type(self).__module__.startswith("facula.nn."):
            self._add_newer_options()

    def _add_newer_options(self) -> None:
        """Give a layer that PyTorch before 1.2 saved the options it did not have, as by default."""
        from inspect import signature

        for name, parameter in signature(type(self).__init__).parameters.items():
            is_option = parameter.default is not parameter.empty and name not in ("device", "dtype")
            if is_option and name not in self.__dict__ and not hasattr(self, name):
                self.__dict__[name] = parameter.default

    def _check_initialized(self, kind: str) -> None:
        if "_parameters" not in self.__dict__:
            kinds = kind if kind == "module" else f"{kind}s"  # as PyTorch says it
            raise AttributeError(
                f"{type(self).__name__}: call super().__init__() before the first {kind} is "
                f"assigned. (cannot assign {kinds} before Module.__init__() call)"
            )

    def _forget(self, name: str, *, keep: str) -> None:
        """Take ``name`` away from wherever it is an attribute, except the table ``keep``."""
        # A name is in one table at most, and never in __dict__ as well, where it would hide the
        # part that state_dict and the optimiser see.
        own = self.__dict__
        own.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != keep:
                own[table].pop(name, None)
        if keep != "_buffers":
            own["_non_persistent_buffers_set"].discard(name)

    def _check_new_name(self, kind: str, name: Any, table: dict[str, Any]) -> None:
        self._check_initialized(kind)
        if not isinstance(name, str):
            raise TypeError(
                f"{type(self).__name__}: expected a str as the name of a {kind}, got "
                f"{typename(name)}."
            )
        # A part must not hide a method or property; to register it again under its name is fine.
        if hasattr(self, name) and name not in table:
            raise KeyError(
                f"{type(self).__name__}: {name!r} is an attribute already, so it cannot name a "
                f"{kind}."
            )
        if "." in name:  # paths are split at dots
            raise KeyError(
                f"{type(self).__name__}: the name of a {kind} must not have a dot, got {name!r}."
            )
        if name == "":
            raise KeyError(f"{type(self).__name__}: the name of a {kind} must not be empty.")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under ``name``; ``None`` takes the place of one that is not there."""
        self._check_new_name("parameter", name, self.__dict__.get("_parameters", {}))
        if param is not None:
            if not isinstance(param, Parameter):
                raise _wrong_kind(param, "parameter", name, "a Parameter or None")
            # An optimiser's step would change a value that the next forward computes anew.
            if param.grad_fn is not None:
                raise ValueError(
                    f"{type(self).__name__}: expected a leaf as parameter {name!r}, got the result "
                    "of an operation. Compute it in forward(), or use nn.utils.parametrize."
                )
        self._parameters[name] = _hooks.on_registration("parameter", self, name, param)
        _expose(type(self), name)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is state but no parameter, such as a running mean.

        Args:
            name: the name of the attribute.
            tensor: the buffer, or ``None`` for one that is missing.
            persistent: whether the buffer is part of ``state_dict``.

        Example:
            >>> m = facula.nn.Module()
            >>> m.register_buffer("running_mean", facula.zeros(2))
            >>> m.running_mean
            tensor([0., 0.])
        """
        self._check_new_name("buffer", name, self.__dict__.get("_buffers", {}))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise _wrong_kind(tensor, "buffer", name, "a Tensor or None")
        self._buffers[name] = _hooks.on_registration("buffer", self, name, tensor)
        _expose(type(self), name)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def _replicate_for_data_parallel(self: _Self) -> _Self:
        """The module without its parts, for :func:`facula.nn.parallel.replicate` to fill."""
        replica = self.__new__(type(self))
        own = replica.__dict__
        own.update(self.__dict__)
        own["_parameters"] = {}
        own["_buffers"] = self._buffers.copy()
        own["_modules"] = self._modules.copy()
        own["_is_replica"] = True
        own["_former_parameters"] = {}
        return replica

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile ``forward``; it runs as it is, and only the arguments are checked.

        Args:
            args: the arguments of :func:`facula.compile` after the module.
            kwargs: the arguments of :func:`facula.compile` by name.
        """
        from facula.compiler import compile

        compile(self, *args, **kwargs)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module under ``name``, as an assignment to the attribute does."""
        if not isinstance(module, Module) and module is not None:
            given = typename(module)
            if isinstance(module, type) and issubclass(module, Module):
                given = f"the class {given}: write {module.__name__}()"
            raise TypeError(f"add_module: expected a Module or None, got {given}.")
        self._check_new_name("module", name, self.__dict__.get("_modules", {}))
        self._modules[name] = _hooks.on_registration("module", self, name, module)
        _expose(type(self), name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of :meth:`add_module`."""
        self.add_module(name, module)

    # Parts

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as ``"layers.0"``; the module itself for ``""``."""
        module: Module = self
        for name in target.split(".") if target else ():
            part = _attribute_of(module, name)
            if not isinstance(part, Module):
                raise AttributeError(f"get_submodule: {name!r} of {target!r} is not a Module.")
            module = part
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put ``module`` at the path ``target``.

        Args:
            target: the path of the module to replace.
            module: the module to put at the path.
            strict: whether a path that has no module yet is an error.

        Example:
            >>> from facula import nn
            >>> m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            >>> m.set_submodule("1", nn.Tanh())
            >>> m[1]
            Tanh()
        """
        if target == "":
            raise ValueError(
                "set_submodule: expected the path of the module to replace, got an empty one."
            )
        if not isinstance(module, Module):
            raise ValueError(f"set_submodule: expected a Module, got {type(module).__name__}.")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as ``"layers.0.weight"``."""
        path, _, name = target.rpartition(".")
        value = _attribute_of(self.get_submodule(path), name)
        if not isinstance(value, Parameter):
            raise AttributeError(f"get_parameter: {target!r} is not a Parameter.")
        return value

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path such as ``"layers.0.running_mean"``."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        value = _attribute_of(owner, name)
        if name not in owner._buffers:
            raise AttributeError(f"get_buffer: {target!r} is not a buffer.")
        return value  # type: ignore[no-any-return]

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        # By id: == on tensors compares their elements. The module keeps them alive, so that no id
        # comes twice.
        seen = set()
        named = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in named if recurse else [(prefix, self)]:
            for name, value in get_members_fn(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once; only the module's own without ``recurse``."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their paths.

        Args:
            prefix: a text to put before every path.
            recurse: whether the parameters of the modules inside are listed, too.
            remove_duplicate: whether a parameter that has several paths is listed only under its
                first.

        Example:
            >>> from facula import nn
            >>> m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            >>> [name for name, _ in m.named_parameters()]
            ['0.weight', '0.bias']
        """
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once; only the module's own without ``recurse``."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their paths; the arguments are those of :meth:`named_parameters`."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def children(self) -> Iterator[Module]:
        """The modules directly inside, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly inside with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and all modules inside."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """The module itself, as ``""``, and all modules inside with their paths.

        Args:
            memo: a set of modules to leave out; those that are listed are added to it.
            prefix: a text to put before every path.
            remove_duplicate: whether a module that has several paths is listed only under its
                first.

        Example:
            >>> from facula import nn
            >>> [path for path, _ in nn.Sequential(nn.Sequential(nn.Identity())).named_modules()]
            ['', '0', '0.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    # Changes of all parts

    def apply(self: _Self, fn: Callable[[Module], Any]) -> _Self:
        """Call ``fn`` with every module inside, then with the module itself.

        Example:
            >>> from facula import nn
            >>> def ones(m):
            ...     if isinstance(m, nn.Linear):
            ...         m.weight.data.fill_(1.0)
            >>> nn.Sequential(nn.Linear(2, 1)).apply(ones)[0].weight.data
            tensor([[1., 1.]])
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self: _Self, mode: bool = True) -> _Self:
        """Switch the module and all inside to training mode, or with ``False`` to evaluation."""
        if not isinstance(mode, bool):
            raise ValueError(f"train: expected mode as a bool, got {mode!r}.")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: _Self) -> _Self:
        """Switch to evaluation: dropout passes all, batch norm uses its running statistics."""
        return self.train(False)

    def requires_grad_(self: _Self, requires_grad: bool = True) -> _Self:
        """Switch the recording of gradients for all parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or with ``False`` fill them with zeros."""
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                # After backward(create_graph=True) the gradient has a graph, which zero_ would
                # extend.
                param.grad.detach_()
                param.grad.zero_()

    # Text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The arguments of the module, as its repr shows them; subclasses define it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        for name, module in self._modules.items():
            lines.append(f"({name}): " + _addindent(repr(module), 2))
        if not self._modules and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def _repr_html_(self) -> str | None:
        from facula.viz._notebook import module_html  # only notebooks ask for it

        return module_html(self)


open_classes.add(Module)


def _addindent(s_: str, numSpaces: int) -> str:
    """The text with all lines but the first indented; reports of programs call it, too."""
    first, *rest = s_.split("\n")
    return "\n".join([first, *(" " * numSpaces + line for line in rest)])


def _attribute_of(module: Module, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()}: there is no attribute {name!r}.")
    return getattr(module, name)


def _wrong_kind(value: Any, kind: str, name: str, expected: str) -> TypeError:
    given = typename(value)
    return TypeError(
        f"{kind} {name!r}: expected {expected}, got {given}. "
        f"(cannot assign {given!r} as {kind} {name!r})"
    )


# Python's errors name a method by the class that it is written in: users know one class only.
for _part in (Stateful, Movable, Hooked):
    for _method in vars(_part).values():
        if isinstance(_method, FunctionType):
            _method.__qualname__ = f"Module.{_method.__name__}"
