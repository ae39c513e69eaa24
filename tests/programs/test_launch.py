"""``facula run`` starts and ends programs as ``python`` does."""

import signal
import sys
import zipfile

import pytest

pytestmark = pytest.mark.promise("U2")

SHOW = """
import sys
print(__name__, sys.argv, sys.path[0], __package__, __spec__ and __spec__.name, __doc__)
print(globals().get("__file__"), sorted(globals()), type(__builtins__).__name__)
print(sys.modules["__main__"].__dict__ is globals(), type(__loader__).__name__)
"""
END = """
import atexit, os, signal, sys, time
atexit.register(print, "the end")

def stop(how):
    if how == "error":
        raise ValueError("wrong")
    if how == "cause":
        try:
            1 / 0
        except ZeroDivisionError as error:
            raise ValueError("wrong") from error
    if how == "exit":
        sys.exit(7)
    if how == "words":
        sys.exit("goodbye")
    if how == "signal":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    if how == "hook":
        sys.excepthook = lambda kind, error, frames: print(kind, frames.tb_lineno)
        raise ValueError("wrong")
    if how == "failing hook":
        sys.excepthook = lambda *error: 1 / 0
        raise ValueError("wrong")

stop(sys.argv[1])
"""


def assert_same(programs, *words, stdin=""):
    ours, theirs = programs.start(*words, stdin=stdin), programs.python(*words, stdin=stdin)
    assert ours.stdout == theirs.stdout
    assert ours.stderr == theirs.stderr
    assert ours.returncode == theirs.returncode
    return ours


def test_a_script_is_the_main_module(programs):
    programs.write(SHOW)
    assert_same(programs, "program.py", "-x", "--report", "-m")
    programs.write(SHOW, "folder/other.py")
    assert_same(programs, "folder/other.py")


def test_the_folder_of_a_linked_script_is_that_of_the_file(programs):
    path = programs.write(SHOW, "folder/other.py")
    (programs.folder / "link.py").symlink_to(path)
    assert_same(programs, "link.py")


def test_the_installed_command_does_the_same(programs):
    command = programs.write("from facula.cli import main\nmain()\n", "bin/facula")
    programs.write(SHOW)
    ours = programs.start("program.py", "x", before=(command, "run"))
    theirs = programs.python("program.py", "x")
    assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)


def test_modules_run_as_python_runs_them(programs):
    programs.write(SHOW, "package/part.py")
    programs.write(SHOW, "package/__main__.py")
    programs.write("", "package/__init__.py")
    assert_same(programs, "-m", "package.part", "-c", "x")
    assert_same(programs, "-mpackage")
    assert_same(programs, "-m", "package.nothing")


def test_code_of_the_command_line_and_of_standard_input_runs(programs):
    assert_same(programs, "-c", SHOW, "a", "-m")
    assert_same(programs, "-", "a", stdin=SHOW)
    assert_same(programs, "-c", "1 / 0")


def test_folders_and_archives_run(programs):
    programs.write(SHOW, "app/__main__.py")
    assert_same(programs, "app", "x")
    with zipfile.ZipFile(programs.folder / "app.zip", "w") as archive:
        archive.writestr("__main__.py", SHOW)
    assert_same(programs, "app.zip")


@pytest.mark.parametrize(
    "how", ["error", "cause", "exit", "words", "signal", "hook", "failing hook"]
)
def test_programs_end_as_under_python(programs, how):
    programs.write(END)
    done = assert_same(programs, "program.py", how)
    assert "facula" not in done.stderr  # no frame of the launcher
    if how == "signal":
        assert done.returncode == -signal.SIGINT
    assert_same(programs, "-m", "program", how)


def test_syntax_errors_are_shown_as_by_python(programs):
    programs.write("x = (")
    assert_same(programs, "program.py")
    programs.write("import program", "other.py")
    assert_same(programs, "other.py")


def test_sources_in_other_encodings_run(programs):
    (programs.folder / "program.py").write_bytes(
        b"# -*- coding: latin-1 -*-\nprint(ascii('caf\xe9'))\n"
    )
    assert_same(programs, "program.py")


def test_futures_of_the_launcher_are_not_the_programs(programs):
    assert programs.run("def f(x: 1 + 1): pass\nprint(f.__annotations__)") == "{'x': 2}\n"


def test_a_file_that_is_not_there_is_named(programs):
    done = programs.start("nothing.py")
    assert done.returncode == 2
    assert done.stderr.startswith("facula run: can't open file '")
    assert done.stderr.endswith("nothing.py': [Errno 2] No such file or directory\n")


@pytest.mark.parametrize(
    "words, problem",
    [
        (["--fast", "program.py"], "there is no option --fast."),
        (["-x", "program.py"], "there is no option -x."),
        (["--era"], "--era needs a version, such as 0.3."),
        (["-m"], "-m needs a value."),
    ],
)
def test_other_options_are_refused(programs, words, problem):
    done = programs.start(*words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"facula run: {problem}\n\nusage: facula run ")


def test_help_says_what_can_be_run(programs):
    for option in ("-h", "--help"):
        done = programs.start(option)
        assert done.returncode == 0 and done.stdout.startswith("usage: facula run ")


def test_pickled_classes_of_the_program_are_found_again(programs):
    out = programs.run(
        """
        import pickle
        import torch

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 1)

        net = Net()
        again = pickle.loads(pickle.dumps(net))
        torch.save(net, "net.pt")
        third = torch.load("net.pt", weights_only=False)
        print(type(again) is Net, type(third) is Net)
        print(torch.equal(net.layer.weight, third.layer.weight))
        """
    )
    assert out == "True True\nTrue\n"


def test_classes_of_the_program_are_sent_as_code(programs):
    pytest.importorskip("cloudpickle")
    out = programs.run(
        """
        import cloudpickle
        import torch

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 1)

            def forward(self, x):
                return torch.relu(self.layer(x))

        net = Net()
        again = cloudpickle.loads(cloudpickle.dumps(net))
        print(torch.equal(again(torch.ones(2)), net(torch.ones(2))))
        """
    )
    assert out == "True\n"


def test_warnings_name_the_line_of_the_program(programs):
    programs.write("import warnings\nimport torch\nwarnings.warn('careful')\n")
    done = programs.start("program.py")
    assert done.stderr.startswith(f"{programs.folder}/program.py:3: UserWarning: careful")


def test_python_modules_that_run_programs_work_inside(programs):
    programs.write("import torch\nprint(torch.ones(2).sum().item())\nassert __name__ == '__main__'")
    for module in ("cProfile", "trace", "timeit"):
        extra = {"trace": ["--count", "-C", "counts"], "timeit": ["-n1", "-r1", "-s"]}.get(
            module, []
        )
        program = "import torch" if module == "timeit" else "program.py"
        done = programs.start("-m", module, *extra, program)
        assert done.returncode == 0, done.stderr
        assert module == "timeit" or "2.0" in done.stdout


def test_python_without_a_folder_in_its_path_stays_so(programs):
    if sys.version_info < (3, 11):
        pytest.skip("python has no safe path")
    programs.write("import sys; print(sys.path)")
    programs.env["PYTHONSAFEPATH"] = "1"
    assert_same(programs, "program.py")
