"""Writes printing.json, the texts that PyTorch prints; needs torch."""

import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from printing_cases import EXPRESSIONS, OPTIONS, printed

# The texts of the full profile are long and add nothing to the other options.
texts = {
    expression: [
        "" if options.get("profile") == "full" and "000" in expression else text
        for options in OPTIONS
        for text in [printed(torch, expression, options)]
    ]
    for expression in EXPRESSIONS
}
Path(__file__).with_name("printing.json").write_text(json.dumps(texts, indent=1) + "\n")
