"""Classes that compiled libraries bring along for TorchScript: there are none.

Programs look for one behind a ``try``, and some set ``classes.__path__`` to an empty list, so that
tools that walk through all modules do not look inside.
"""

from facula.ops import load_library as load_library
from facula.ops import loaded_libraries as loaded_libraries

__all__: list[str] = []  # both are described as those of facula.ops
