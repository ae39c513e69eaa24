"""``facula run``: starts a program as ``python`` starts it.

Note [As python does]
The program is the module ``__main__`` itself, a fresh one, so classes that it pickles are found
there again, by its children too. An exception of the program is shown here, without the frames of
this file and of the doctor, and in the order of the interpreter: ``sys.last_exc``,
``sys.excepthook``, exit status.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import BuiltinImporter
from types import CodeType, ModuleType, TracebackType
from typing import NoReturn

from facula import compat

USAGE = """usage: facula run [--era VERSION] [--report] (SCRIPT | -m MODULE | -c CODE | -) ...

Runs a PyTorch program, unchanged: torch, torchvision and tensorboardX are Facula in it and in the
processes that it starts. What follows the program is for the program.

  SCRIPT         a file, or a folder or zip archive with a __main__.py
  -m MODULE      a module, as python -m runs it
  -c CODE        the code itself
  -              the code that standard input has
  --era VERSION  follow the rules of an early PyTorch, such as 0.3; none for those of today. Without
                 it the source of the program decides
  --report       say at the end which names of PyTorch the program used, and which were missing
"""


class _Options:
    """What the command line says, before the program and its arguments."""

    def __init__(self, argv: list[str]) -> None:
        self.era: str | None = None
        self.report = False
        rest = list(argv)
        while rest and rest[0].startswith("--"):
            name, equals, value = rest.pop(0).partition("=")
            if name == "--era":
                if not equals and not rest:
                    _stop("--era needs a version, such as 0.3.")
                self.era = value if equals else rest.pop(0)
            elif name == "--report" and not equals:
                self.report = True
            elif name == "--help":
                print(USAGE, end="")
                sys.exit()
            else:
                _stop(f"there is no option {name}.")
        if rest and rest[0] == "-h":
            print(USAGE, end="")
            sys.exit()
        self.kind = "script"
        if rest and rest[0][:2] in ("-m", "-c"):
            # As with python, the value may be joined to the letter.
            flag = rest.pop(0)
            self.kind = {"-m": "module", "-c": "code"}[flag[:2]]
            if flag[2:]:
                rest.insert(0, flag[2:])
            elif not rest:
                _stop(f"{flag} needs a value.")
        elif rest and rest[0].startswith("-") and rest[0] != "-":
            _stop(f"there is no option {rest[0]}.")
        self.program = rest.pop(0) if rest else "-"
        self.arguments = rest


def _stop(message: str) -> NoReturn:
    print(f"facula run: {message}\n\n{USAGE}", end="", file=sys.stderr)
    sys.exit(2)


# Kept alive: what the launcher's own __main__ has registered may run when the process ends.
_LAUNCHER = sys.modules["__main__"]


def main(argv: list[str]) -> None:
    """Run a program, and end as it ends.

    Args:
        argv: what follows ``facula run`` on the command line.
    """
    try:
        run(argv)
        return
    except SystemExit:
        raise
    except BaseException as error:
        ended_by = error
    # Outside of the handler: there a hook's own failure would be told as a second one.
    _end_with(ended_by)


def run(argv: list[str]) -> None:
    """Run a program; what it raises goes on to the caller.

    Args:
        argv: the options, the program and its arguments, as for :func:`main`.
    """
    options = _Options(argv)
    sys.modules["__main__"] = program = ModuleType("__main__")
    program.__dict__.update(
        __builtins__=sys.modules["builtins"], __annotations__={}, __loader__=BuiltinImporter
    )
    {"script": _run_script, "module": _run_module, "code": _run_code}[options.kind](
        options, program
    )


def _run_script(options: _Options, program: ModuleType) -> None:
    path = options.program
    sys.argv = [path, *options.arguments]
    if path == "-":
        _set_path("")
        source = _standard_input(options, program)
        if source is not None:
            program.__dict__.update(__file__="<stdin>", __cached__=None)
            _execute(options, source, "<stdin>", program)
        return
    # As __file__ of programs since Python 3.9.
    full = os.path.abspath(path)
    if os.path.isdir(full) or (not full.endswith((".py", ".pyc")) and _is_archive(full)):
        _set_path(full)
        _install(options, _read(os.path.join(full, "__main__.py")), full)
        _as_main("__main__", set_argv0=False)
        return
    try:
        with open(full, "rb") as stream:
            source = stream.read()
    except OSError as error:
        print(
            f"facula run: can't open file {full!r}: [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        sys.exit(2)
    from importlib.machinery import SourceFileLoader, SourcelessFileLoader

    loader = (SourcelessFileLoader if full.endswith(".pyc") else SourceFileLoader)("__main__", full)
    program.__dict__.update(__file__=full, __cached__=None, __loader__=loader)
    _set_path(os.path.dirname(os.path.realpath(full)))
    if isinstance(loader, SourcelessFileLoader):
        _install(options, b"", None)
        _call(loader.get_code("__main__"), program)
    else:
        _execute(options, source, full, program)


def _run_code(options: _Options, program: ModuleType) -> None:
    sys.argv = ["-c", *options.arguments]
    _set_path("")
    if sys.version_info >= (3, 13):  # which shows lines of the code in tracebacks
        import linecache

        lines = options.program.splitlines(keepends=True)
        linecache.cache["<string>"] = (len(options.program), None, lines, "<string>")
    _execute(options, options.program.encode(), "<string>", program)


def _run_module(options: _Options, program: ModuleType) -> None:
    sys.argv = ["-m", *options.arguments]
    _set_path(os.getcwd())
    _install(options, _source_of(options.program), os.getcwd())
    _as_main(options.program, set_argv0=True)


def _standard_input(options: _Options, program: ModuleType) -> bytes | None:
    """The code on standard input; None if there is a person, who was given a prompt instead."""
    if not sys.stdin.isatty():
        return sys.stdin.buffer.read()
    import code

    _install(options, b"", None)
    code.interact(local=program.__dict__)
    return None


def _execute(options: _Options, source: bytes, filename: str, program: ModuleType) -> None:
    folder = None if filename.startswith("<") else os.path.dirname(filename)
    if _install(options, source, folder):
        from facula.compat.era import compiled

        _call(compiled(source, filename), program)
        return
    # Inherited flags would apply the __future__ imports of this file to the program.
    _call(compile(source, filename, "exec", dont_inherit=True), program)


def _call(code: CodeType | None, program: ModuleType) -> None:
    if code is not None:
        exec(code, program.__dict__)


def _as_main(name: str, *, set_argv0: bool) -> None:
    import runpy

    # What the interpreter itself calls for -m: its frames are in tracebacks there as well.
    runpy._run_module_as_main(name, set_argv0)  # type: ignore[attr-defined]


def _install(options: _Options, source: bytes, folder: str | None) -> bool:
    """Take the names over, by the rules that the program was written for.

    True if they are those of an early version.
    """
    era = options.era
    if era is None:
        from facula.compat._era_signs import era_of

        era = era_of(source.decode(errors="replace"), folder)
    if options.report:
        from facula.compat import _report

        _report.begin()
    compat.install(era=None if era == "none" else era)
    return era not in (None, "none")


def _set_path(entry: str) -> None:
    """Put the program's folder where the launcher's is, unless python was told to have none."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = entry


def _source_of(module: str) -> bytes:
    """The text of a module that is to be run, found without importing anything; else b""."""
    for entry in sys.path:
        path = os.path.join(entry, *module.split("."))
        for file in (path + ".py", os.path.join(path, "__main__.py")):
            if os.path.isfile(file):
                return _read(file)
    return b""


def _read(file: str) -> bytes:
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except OSError:
        return b""


def _is_archive(path: str) -> bool:
    import zipfile

    return zipfile.is_zipfile(path)


def _end_with(error: BaseException) -> NoReturn:
    """Show what has ended the program, and end the process as python would."""
    frame = _without_launcher(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, frame
    sys.last_exc = error  # type: ignore[attr-defined,unused-ignore]
    failure: BaseException | None = None
    try:
        sys.excepthook(type(error), error, frame)
    except SystemExit:
        raise
    except BaseException as raised:
        failure = raised
    if failure is not None:
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(failure), failure, _without_launcher(failure))
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, frame)
    if isinstance(error, KeyboardInterrupt):
        # The interpreter then ends by the signal, which shells look for; all is said already.
        sys.excepthook = _silent
        raise KeyboardInterrupt
    sys.exit(1)


_OURS = os.path.dirname(__file__) + os.sep  # also what reads the source of an early program
_DOCTOR = os.path.join(os.path.dirname(os.path.dirname(__file__)), "doctor") + os.sep


def _without_launcher(error: BaseException) -> TracebackType | None:
    """Take our frames off: those of the launcher in front, and of a watch wherever they are."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_OURS):
        frame = frame.tb_next
    error.__traceback__ = frame
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = _without_watch(one.__traceback__)
            waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return error.__traceback__


def _without_watch(frame: TracebackType | None) -> TracebackType | None:
    """The frames that do not belong to the doctor; the others are unlinked."""
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_DOCTOR):
        frame = frame.tb_next
    first = frame
    while frame is not None:
        after = frame.tb_next
        while after is not None and after.tb_frame.f_code.co_filename.startswith(_DOCTOR):
            after = after.tb_next
        if after is not frame.tb_next:
            frame.tb_next = after
        frame = after
    return first


def _silent(kind: object, error: object, frame: TracebackType | None) -> None:
    pass
