"""Context managers that decorate functions too, by the names that packages subclass."""

from facula.autograd.grad_mode import _BareMode as _NoParamDecoratorContextManager
from facula.autograd.grad_mode import _Mode as _DecoratorContextManager

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager"]
