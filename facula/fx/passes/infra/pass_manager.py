"""Several passes, one after the other."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from facula.fx.graph_module import GraphModule
from facula.fx.passes.infra.pass_base import PassResult
from facula.nn import Module

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

_Pass = Callable[..., Any]
_Constraint = Callable[[_Pass, _Pass], bool]


def pass_result_wrapper(fn: _Pass | None) -> _Pass | None:
    """Make a pass of a function that changes a module in place, and returns None.

    Args:
        fn: the function.

    Example:
        >>> from facula.fx.passes.infra.pass_manager import pass_result_wrapper
        >>> traced = facula.fx.symbolic_trace(lambda x: x + 1)
        >>> pass_result_wrapper(lambda module: None)(traced).modified
        True
    """
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm: GraphModule) -> PassResult:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if isinstance(result, PassResult):
            return result
        if isinstance(result, Module):
            return PassResult(result, True)  # type: ignore[arg-type]
        raise TypeError(f"A pass must give a PassResult, a module or None, got {type(result)}.")

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this: _Pass, that: _Pass) -> _Constraint:
    """A constraint: one pass comes before another.

    Args:
        this: the pass that comes first.
        that: the pass that comes later.
    """

    def holds(a: _Pass, b: _Pass) -> bool:
        return not (a is that and b is this)

    return holds


class PassManager:
    """Runs passes in an order that constraints allow, until none of them changes anything.

    Args:
        passes: the passes.
        constraints: functions of two passes that say whether the first may come before the second.
        steps: how often all passes are run at most.
        run_checks_after_each_pass: whether checks are made after each pass.
        suppress_check_failures: whether an order that is not possible is no error.

    Example:
        >>> from facula.fx.passes.infra.pass_manager import PassManager
        >>> def remove_dead_code(module):
        ...     module.graph.eliminate_dead_code()
        >>> manager = PassManager([remove_dead_code])
        >>> manager(facula.fx.symbolic_trace(lambda x: x + 1)).graph_module(1)
        2
    """

    def __init__(
        self,
        passes: list[_Pass] | None = None,
        constraints: list[_Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes = list(passes or [])
        self.constraints = list(constraints or [])
        self.steps = 1 if steps is None else steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: _Pass) -> None:
        """Add a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: _Constraint) -> None:
        """Add a constraint.

        Args:
            constraint: says of two passes whether the first may come before the second.
        """
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raise a RuntimeError if the order of the passes breaks a constraint."""
        if self._validated:
            return
        for i, first in enumerate(self.passes):
            for later in self.passes[i + 1 :]:
                if not all(allows(first, later) for allows in self.constraints):
                    raise RuntimeError(
                        f"pass schedule constraint violated. Expected {_name(first)} before "
                        f"{_name(later)} but found {_name(first)} first."
                    )
        self._validated = True

    def solve_constraints(self) -> None:
        """Bring the passes into an order that all constraints allow."""
        remaining = list(self.passes)
        order: list[_Pass] = []
        while remaining:
            for candidate in remaining:
                others = [each for each in remaining if each is not candidate]
                if all(allows(candidate, o) for allows in self.constraints for o in others):
                    order.append(candidate)
                    remaining.remove(candidate)
                    break
            else:
                if self.suppress_check_failures:
                    order += remaining
                    break
                names = [_name(each) for each in remaining]
                raise RuntimeError(f"Circular dependency detected within the passes {names}.")
        self.passes = order
        self._validated = True

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Let a function check the module before and, if asked for, after each pass.

        Args:
            check: a function of one parameter, ``module``.
        """
        if list(inspect.signature(check).parameters) != ["module"]:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign]

    def check(self, module: Module) -> None:
        """Check the module; does nothing unless :meth:`add_checks` was called.

        Args:
            module: the module.
        """

    def __call__(self, module: GraphModule) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            changed_now = False
            for each in self.passes:
                run = pass_result_wrapper(each)
                if run is None:
                    continue
                try:
                    result = run(module)
                except Exception as error:
                    names = [_name(p) for p in self.passes[: self.passes.index(each)]]
                    raise Exception(
                        f"An error occurred when running the '{_name(each)}' pass after the "
                        f"following passes: {names}"
                    ) from error
                module = result.graph_module
                changed_now = changed_now or result.modified
                if isinstance(module, GraphModule):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            changed = changed or changed_now
            if not changed_now:
                break
        return PassResult(module, changed)


def _name(a_pass: _Pass) -> str:
    return a_pass.__name__ if inspect.isfunction(a_pass) else type(a_pass).__name__
