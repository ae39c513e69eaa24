"""What the driver's library for management (NVML) tells about a GPU: load, heat, processes."""

from __future__ import annotations

import struct
from typing import Any

from facula import _core
from facula.cuda._devices import DeviceLike, device_index

__all__ = [
    "clock_rate",
    "device_memory_used",
    "list_gpu_processes",
    "memory_usage",
    "power_draw",
    "temperature",
    "utilization",
]

_MOST_PROCESSES = 256
_PROCESS = "=I4xQII"  # its number, bytes of memory, two numbers of parts of the GPU


def _ask(
    op: str, device: DeviceLike, function: str, answer: str, kind: int | None = None
) -> tuple[Any, ...]:
    """What ``function(GPU, kind, &answer)`` of the library answers, in the format of struct."""
    import ctypes  # half of what importing this package costs, for what few ask

    def check(status: int) -> None:
        if status != 0:
            raise RuntimeError(f"{op}: NVML failed with status {status}.")

    # NVML counts all GPUs, also those that are hidden from CUDA: they are told apart by their bus.
    bus = _core._cuda_pci_bus_id(device_index(device)).encode()
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        raise RuntimeError(f"{op}: the driver's library NVML was not found ({error}).") from None
    check(library.nvmlInit_v2())
    try:
        handle = ctypes.c_void_p()
        check(library.nvmlDeviceGetHandleByPciBusId_v2(bus, ctypes.byref(handle)))
        memory = ctypes.create_string_buffer(struct.calcsize(answer))
        arguments = () if kind is None else (ctypes.c_int(kind),)
        if answer.endswith("s"):  # a list, before which its length is taken and returned
            length = ctypes.c_uint(_MOST_PROCESSES)
            check(getattr(library, function)(handle, ctypes.byref(length), memory))
            return (length.value, *struct.unpack(answer, memory.raw))
        check(getattr(library, function)(handle, *arguments, memory))
        return struct.unpack(answer, memory.raw)
    finally:
        library.nvmlShutdown()


def utilization(device: DeviceLike = None) -> int:
    """The share of the last second, in percent, in which the GPU had work.

    Args:
        device: the GPU; None for the current one.
    """
    return int(_ask("utilization", device, "nvmlDeviceGetUtilizationRates", "II")[0])


def memory_usage(device: DeviceLike = None) -> int:
    """The share of the last second, in percent, in which the GPU's memory was read or written.

    Args:
        device: the GPU; None for the current one.
    """
    return int(_ask("memory_usage", device, "nvmlDeviceGetUtilizationRates", "II")[1])


def device_memory_used(device: DeviceLike = None) -> int:
    """The bytes of the GPU's memory that all programs have.

    Args:
        device: the GPU; None for the current one.
    """
    return int(_ask("device_memory_used", device, "nvmlDeviceGetMemoryInfo", "QQQ")[2])


def temperature(device: DeviceLike = None) -> int:
    """The temperature of the GPU, in degrees Celsius.

    Args:
        device: the GPU; None for the current one.
    """
    return int(_ask("temperature", device, "nvmlDeviceGetTemperature", "I", kind=0)[0])


def power_draw(device: DeviceLike = None) -> int:
    """The power that the GPU takes, in milliwatts.

    Args:
        device: the GPU; None for the current one.
    """
    return int(_ask("power_draw", device, "nvmlDeviceGetPowerUsage", "I")[0])


def clock_rate(device: DeviceLike = None) -> int:
    """The speed of the GPU's multiprocessors, in MHz.

    Args:
        device: the GPU; None for the current one.
    """
    return int(_ask("clock_rate", device, "nvmlDeviceGetClockInfo", "I", kind=1)[0])


def list_gpu_processes(device: DeviceLike = None) -> str:
    """A text that lists the programs on the GPU and the memory that each has.

    Args:
        device: the GPU; None for the current one.
    """
    size = struct.calcsize(_PROCESS)
    function = "nvmlDeviceGetComputeRunningProcesses_v3"
    n, raw = _ask("list_gpu_processes", device, function, f"{_MOST_PROCESSES * size}s")
    lines = [f"GPU:{device_index(device)}"]
    for i in range(n):
        pid, nbytes, *_ = struct.unpack_from(_PROCESS, raw, i * size)
        lines.append(f"process {pid:>10d} uses {nbytes / 2**20:>12.3f} MB GPU memory")
    return "\n".join(lines if n else [*lines, "no processes are running"])
