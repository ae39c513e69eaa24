"""The settings of :func:`facula.save` and :func:`facula.load`.

``config.load.mmap = True`` maps the files that are loaded from now on; ``config.load.endianness``,
``config.load.mmap_flags`` and ``config.save.compute_crc32`` are those of ``facula.serialization``.
"""

from facula.serialization._options import config

__all__ = ["config"]
