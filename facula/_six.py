"""Names for Python 2 and 3 alike, which programs for PyTorch before 1.9 import from here."""

import collections.abc as container_abcs
import queue
from math import inf, nan

__all__ = ["PY2", "PY3", "container_abcs", "inf", "int_classes", "nan", "queue", "string_classes"]

PY2, PY3 = False, True
string_classes = (str, bytes)
int_classes = int
