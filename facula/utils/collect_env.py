"""The machine and the packages on it, for a report of a problem: ``python -m`` prints it."""

from __future__ import annotations

import importlib.metadata
import locale
import platform
import sys
from typing import Any, NamedTuple

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "pretty_str"]

_PACKAGES = ("numpy", "pillow", "scipy", "tensorboardX", "onnx", "safetensors")


class SystemEnv(NamedTuple):
    """What is known of the machine."""

    torch_version: str
    is_debug_build: bool
    cuda_compiled_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: bool
    nvidia_gpu_models: str
    cudnn_version: str
    cpu_info: str
    blas: str
    threads: int
    pip_packages: str


def get_env_info() -> SystemEnv:
    """What is known of the machine.

    Example:
        >>> from facula.utils.collect_env import get_env_info
        >>> get_env_info().is_debug_build
        False
    """
    import facula
    from facula.cli import cpu_model

    cuda = facula.cuda
    gpus = [cuda.get_device_name(i) for i in range(cuda.device_count())]
    return SystemEnv(
        torch_version=facula.__version__,
        is_debug_build=facula.version.debug,
        cuda_compiled_version="None needed",
        os=platform.platform(),
        libc_version="-".join(platform.libc_ver()),
        python_version=sys.version.replace("\n", " "),
        python_platform=platform.platform(),
        is_cuda_available=cuda.is_available(),
        nvidia_gpu_models="\n".join(gpus) or f"None: {cuda.unavailable_reason()}",
        cudnn_version=str(facula.backends.cudnn.version()),
        cpu_info=f"{cpu_model()}, {facula.backends.cpu.get_cpu_capability()}",
        blas=facula._core._blas_config(),
        threads=facula.get_num_threads(),
        pip_packages="\n".join(_versions()),
    )


def _versions() -> list[str]:
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name}=={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def pretty_str(envinfo: SystemEnv) -> str:
    """What is known of the machine, as a text.

    Args:
        envinfo: what :func:`get_env_info` has returned.
    """

    def shown(value: Any) -> str:
        text = str(value)
        return "\n  " + text.replace("\n", "\n  ") if "\n" in text else text

    names = (name.replace("_", " ").capitalize() for name in SystemEnv._fields)
    return "\n".join(f"{name}: {shown(v)}" for name, v in zip(names, envinfo, strict=True))


def get_pretty_env_info() -> str:
    """The text of :func:`pretty_str` for this machine.

    Example:
        >>> from facula.utils.collect_env import get_pretty_env_info
        >>> get_pretty_env_info().startswith("Torch version: ")
        True
    """
    return pretty_str(get_env_info())


def main() -> None:
    """Print what is known of the machine."""
    print(f"Collecting environment information ({locale.getpreferredencoding()})...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
