"""What PyTorch's readers call, and programs with them: versions, classes of storages, folders."""

from __future__ import annotations

from tempfile import mkdtemp
from typing import Any

__all__ = [
    "DEFAULT_PROTOCOL",
    "check_module_version_greater_or_equal",
    "mkdtemp",
    "normalize_storage_type",
    "storage_to_tensor_type",
]

DEFAULT_PROTOCOL = 2


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[int, ...], error_if_malformed: bool = True
) -> bool:
    """Whether a package is of a version or newer.

    Args:
        module: the package, which has ``__version__``.
        req_version_tuple: the version as numbers.
        error_if_malformed: whether a version that is no numbers raises; else it is new enough.

    Example:
        >>> import types
        >>> package = types.SimpleNamespace(__name__="package", __version__="1.10.2")
        >>> facula.serialization.check_module_version_greater_or_equal(package, (1, 9))
        True
    """
    kinds = [type(part) for part in req_version_tuple]
    try:
        parts = module.__version__.split(".")
        version = tuple(kind(part) for kind, part in zip(kinds, parts, strict=False))
    except Exception as error:
        if error_if_malformed:
            raise RuntimeError(
                f"{module.__name__}: expected a version of numbers, got {module.__version__!r}."
            ) from error
        return True
    return version >= tuple(req_version_tuple)


def normalize_storage_type(storage_type: Any) -> Any:
    """The class of storages of this name in the package's top level.

    Args:
        storage_type: a class of storages, such as ``facula.FloatStorage``.

    Example:
        >>> normalize = facula.serialization.normalize_storage_type
        >>> normalize(facula.FloatStorage) is facula.FloatStorage
        True
    """
    import facula

    return getattr(facula, storage_type.__name__)


def storage_to_tensor_type(storage: Any) -> Any:
    """The legacy tensor type that belongs to a class of storages.

    Args:
        storage: a storage of that class.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.serialization.storage_to_tensor_type(facula.FloatStorage(2))
        <class 'torch.FloatTensor'>
    """
    import facula

    name: str = storage.type().rpartition(".")[2]
    return getattr(facula, name.replace("Storage", "Tensor"))
