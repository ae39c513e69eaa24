"""``facula view``: a page about a program's first loss, a model, a checkpoint or a log."""

from __future__ import annotations

import argparse
import difflib
import sys
import webbrowser
from pathlib import Path

from facula import Tensor, _core
from facula.serialization import CheckpointError
from facula.viz._checkpoint import checkpoint
from facula.viz._graph import graph
from facula.viz._page import Page
from facula.viz._training import training


def main(argv: list[str]) -> None:
    """Write a page, say where it is, and open it if a person is watching.

    Args:
        argv: what follows ``facula view`` on the command line.
    """
    parser = argparse.ArgumentParser(
        prog="facula view",
        description="Shows the graph of a program's first loss, a model, a file of weights, or the "
        "curves of a training.",
        epilog="Options stand before a program: what follows it is for the program.",
    )
    parser.add_argument(
        "what",
        help="a program (train.py), a model of facula.vision (resnet50), a checkpoint, or a log: a "
        "folder of TensorBoard's, or a table (loss.csv)",
    )
    parser.add_argument("-o", "--output", help="where to write the page (WHAT.html)")
    parser.add_argument(
        "--size", default="1,3,224,224", help="the size of a model's input (%(default)s)"
    )
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    # What follows a program is for the program.
    n_own = next((i + 1 for i, word in enumerate(argv) if word.endswith(".py")), len(argv))
    options = parser.parse_args(argv[:n_own])
    try:
        page = _page_of(options.what, argv[n_own:], options.size)
    except (CheckpointError, ModuleNotFoundError, OSError, ValueError) as error:
        if options.what.endswith(".py"):
            raise  # the program's own, with its lines
        print(f"facula view: {error}", file=sys.stderr)
        sys.exit(2)
    path = Path(options.output or f"{Path(options.what).stem}.html")
    page.save(path)
    kind = "rows" if "rows" in page.data else "curves"
    print(f"facula view: {path} has {len(page.data[kind])} {kind}.")
    if not options.no_open and sys.stdout.isatty():
        webbrowser.open(path.resolve().as_uri())


def _page_of(what: str, arguments: list[str], size: str) -> Page:
    path = Path(what)
    if path.suffix == ".py" and path.exists():
        return _page_of_program(what, arguments)
    if path.is_dir() or path.suffix == ".csv" or "tfevents" in path.name:
        return training(what)
    if path.exists():
        return checkpoint(what)
    from facula.vision.models import get_model, list_models

    if what not in list_models():
        close = difflib.get_close_matches(what, list_models())
        hint = f" Was {' or '.join(close)} meant?" if close else ""
        print(f"facula view: there is no file {what}, and no such model.{hint}", file=sys.stderr)
        sys.exit(2)
    return graph(get_model(what).eval(), tuple(int(n) for n in size.split(",")))


class _FirstLoss(BaseException):
    """Ends a program at its first ``backward``: all that is wanted of it is there."""


def _page_of_program(path: str, arguments: list[str]) -> Page:
    from facula.compat import _launch

    pages: list[Page] = []

    def before(name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        loss = args[0]
        if isinstance(loss, Tensor) and loss.grad_fn is not None:
            pages.append(graph(loss))
            raise _FirstLoss

    observer = _core._Observer(None, before, {"backward"})
    observer.start()
    try:
        _launch.run([path, *arguments])
    except _FirstLoss:
        pass
    finally:
        observer.stop()
    if not pages:
        print(f"facula view: {path} ended without a call of backward.", file=sys.stderr)
        sys.exit(1)
    return pages[0]
