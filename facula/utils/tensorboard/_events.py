"""The file that TensorBoard reads: records of events, each with two checksums."""

import os
import socket
import struct
import threading
import time
from itertools import count
from typing import Any

from tensorboardX.crc32c import crc32c
from tensorboardX.proto.event_pb2 import Event

_numbers = count()


class EventFile:
    """An event file in a folder of its own run.

    A record is one write to the system: TensorBoard sees it at once, and a process that is killed
    loses none.
    """

    def __init__(self, folder: str, suffix: str = "") -> None:
        os.makedirs(folder, exist_ok=True)
        self._folder = folder
        name = f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}"
        path = os.path.join(folder, f"{name}.{os.getpid()}.{next(_numbers)}{suffix}")
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115
        self._lock = threading.Lock()
        self.add(Event(file_version="brain.Event:2"))

    def add(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Writes an event, with the time of the clock unless another is given."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        data = event.SerializeToString()
        length = struct.pack("<Q", len(data))
        with self._lock:
            self._append(length + _checksum(length) + data + _checksum(data))

    # The names of PyTorch's ``writer.file_writer``.
    add_event = add

    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Writes a summary as an event."""
        self.add(Event(summary=summary), global_step, walltime)

    def get_logdir(self) -> str:
        """The folder of the run."""
        return self._folder

    def _append(self, record: bytes) -> None:
        # A disk that is full takes a part. A reader would not get past it, so it is cut off again.
        n_written = 0
        try:
            while n_written < len(record):
                n_written += self._file.write(memoryview(record)[n_written:])
        except OSError:
            end = self._file.tell()
            if n_written and end == os.fstat(self._file.fileno()).st_size:
                self._file.truncate(end - n_written)
            raise

    def flush(self) -> None:
        """Returns when all records are on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file; a second time does nothing."""
        if not self._file.closed:
            self.flush()
            self._file.close()


class FileWriter(EventFile):
    """An event file, with the arguments of PyTorch's class.

    Args:
        log_dir: the folder.
        max_queue: accepted for compatibility: records are written at once.
        flush_secs: accepted for compatibility.
        filename_suffix: the end of the file's name.
    """

    def __init__(
        self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        super().__init__(str(log_dir), filename_suffix)

    def reopen(self) -> None:
        """Opens the file again after close()."""
        if self._file.closed:
            self._file = open(self._file.name, "ab", buffering=0)  # noqa: SIM115


def _checksum(data: bytes) -> bytes:
    # Rotated and shifted, as the format asks: the checksum of data that has its own would be weak.
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
