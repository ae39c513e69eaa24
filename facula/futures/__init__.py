"""Results that are not there yet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

from facula import _core

__all__ = ["Future", "collect_all", "wait_all"]

_T = TypeVar("_T")
_S = TypeVar("_S")


class Future(Generic[_T]):
    """A result that is set once, by any thread, and can be waited for.

    Args:
        devices: the GPUs that tensors in the result may be on; a result that :meth:`set_result`
            puts is used on the stream it was computed on, so that the list is only checked.

    Example:
        >>> future = facula.futures.Future()
        >>> doubled = future.then(lambda f: 2 * f.wait())
        >>> future.set_result(21)
        >>> doubled.wait()
        42
    """

    def __init__(self, *, devices: Sequence[int | str | _core.device] | None = None) -> None:
        for device in devices or ():
            if not isinstance(device, int) and _core.device(device).type == "cpu":
                raise ValueError(f"Future: expected devices with an index, got {device!r}.")
        self._condition = threading.Condition()
        self._is_done = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[_T]], None]] = []

    def done(self) -> bool:
        """Whether the future has a result or an exception."""
        return self._is_done

    def wait(self) -> _T:
        """Wait for the result; an exception that was set in its place is raised."""
        with self._condition:
            self._condition.wait_for(lambda: self._is_done)
        return self.value()

    def value(self) -> _T:
        """The result of a future that is done."""
        if not self._is_done:
            raise RuntimeError("Future.value: the result is not there yet. Call wait() first.")
        if self._error is not None:
            raise self._error
        return cast(_T, self._result)

    def then(self, callback: Callable[[Future[_T]], _S]) -> Future[_S]:
        """A future of what ``callback`` returns; it is called with this future once it is done.

        If it raises, waiting for the new future raises a RuntimeError that holds the error.

        Args:
            callback: takes this future; called at once if it is done already.
        """
        child: Future[_S] = Future()

        def run(parent: Future[_T]) -> None:
            try:
                result = callback(parent)
            except Exception as error:
                child.set_exception(_error_of_callback(error))
            else:
                child.set_result(result)

        self.add_done_callback(run)
        return child

    def add_done_callback(self, callback: Callable[[Future[_T]], None]) -> None:
        """Call ``callback`` with this future once it is done, in the thread that sets the result.

        If it raises, the error is logged: who sets the result, and the callbacks after it, do not
        depend on it.

        Args:
            callback: takes this future; called at once if it is done already.
        """
        with self._condition:
            if not self._is_done:
                self._callbacks.append(callback)
                return
        self._call(callback)

    def set_result(self, result: _T) -> None:
        """Set the result, and call what waits for it.

        Args:
            result: anything; it can be set once.
        """
        self._finish(result, None)

    def set_exception(self, result: Any) -> None:
        """Set an exception, which :meth:`wait` and :meth:`value` will raise.

        Args:
            result: the exception.
        """
        if not isinstance(result, BaseException):
            raise AssertionError(
                f"Future.set_exception: expected an exception, got {type(result).__name__}."
            )
        self._finish(None, result)

    def _finish(self, result: Any, error: BaseException | None) -> None:
        with self._condition:
            if self._is_done:
                raise RuntimeError("Future: the result was set before, and can be set once only.")
            self._result, self._error, self._is_done = result, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._condition.notify_all()
        for callback in callbacks:
            self._call(callback)

    def _call(self, callback: Callable[[Future[_T]], None]) -> None:
        try:
            callback(self)
        except Exception as error:
            import logging

            logging.getLogger(__name__).error("%s", _error_of_callback(error), exc_info=error)


def _error_of_callback(error: Exception) -> RuntimeError:
    message = f"Got the following error when running the callback: {type(error).__name__}: {error}"
    wrapped = RuntimeError(message)
    wrapped.__cause__ = error
    return wrapped


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """One future of many: its result is their list, once all are done.

    Args:
        futures: what is waited for.

    Example:
        >>> first, second = facula.futures.Future(), facula.futures.Future()
        >>> both = facula.futures.collect_all([first, second])
        >>> first.set_result(1), second.set_result(2)
        (None, None)
        >>> [future.value() for future in both.wait()]
        [1, 2]
    """
    together: Future[list[Future[Any]]] = Future()
    left = len(futures)
    lock = threading.Lock()

    def count(future: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            is_last = left == 0
        if not is_last:
            return
        errors = [f._error for f in futures if f._error is not None]
        if errors:
            together._finish(None, errors[0])
        else:
            together.set_result(futures)

    if not futures:
        together.set_result(futures)
    for future in futures:
        future.add_done_callback(count)
    return together


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all futures; the first exception among them is raised.

    Args:
        futures: what is waited for.

    Example:
        >>> future = facula.futures.Future()
        >>> future.set_result("done")
        >>> facula.futures.wait_all([future])
        ['done']
    """
    return [future.wait() for future in collect_all(futures).wait()]
