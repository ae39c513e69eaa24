"""Programs of PyTorch 0.1 to 0.4, as people wrote them, under ``facula run``.

``era/`` has the programs. ``era/today/`` has most of them once more, in the form of today: both
must print the same. The others say here what they print.
"""

import re
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.promise("A9", "U2")

FOLDER = Path(__file__).parent / "era"
PROGRAMS = sorted(path.name for path in FOLDER.glob("*.py") if "helper" not in path.name)
EXPECTED = {
    "async_loader.py": """\
8.0
torch.Size([2, 2]) torch.Size([4, 2]) torch.Size([4])
""",
    "autograd_basics.py": """\
[[3.0, 3.0], [3.0, 3.0]] True None
27.0 torch.Size([1]) True
[[4.5, 4.5], [4.5, 4.5]]
[[9.0, 9.0], [9.0, 9.0]]
[256.0, -512.0, 1024.0] ['51.2000', '512.0000', '0.0512']
True False False True True
True True True
True True
True False
True True False True
6.0
""",
    "hogwild.py": "0.6973 True [0, 0]\n",
    "keepdim_0_1.py": """\
torch.Size([4, 1]) torch.Size([4, 1]) torch.Size([1, 5])
['1.0000', '1.0000', '1.0000', '1.0000']
2.1139 torch.Size([4, 1]) int
""",
    "legacy_nn.py": """\
49 0.4340
99 0.1211
149 0.0289
adam 0.0004
[5.0, 5.0] [[2.0, 2.0], [1.0, 1.0]]
[4.0, 4.0] [8.0, 8.0]
4.0 [-2.0, -2.0]
""",
    "linear_algebra.py": """\
True (3, 3)
True True True
True 0
True True
True
True True
True
True torch.Size([5, 2])
True
torch.Size([4]) torch.Size([2, 2]) torch.Size([2])
True True
True
True True
True
True
True
""",
    "program_0_4.py": """\
0 0.7784 0.7784
10 0.3729 0.3729
20 0.2737 0.2737
torch.uint8 20 0 3
tensor(3) tensor([0., 1., 2.]) 1.0
""",
    "trainer_plugins.py": """\
epoch 1 batches 2
{line}
Epoch summary 1: loss: 0.6604	accuracy: 65.62%
{line}
epoch 2 batches 4
{line}
Epoch summary 2: loss: 0.3858	accuracy: 87.50%
{line}
epoch 3 batches 6
{line}
Epoch summary 3: loss: 0.3023	accuracy: 93.75%
{line}
""".replace("{line}", "#" * 80),
}


def run(programs, path, *options):
    done = programs.start(*options, path)
    assert done.returncode == 0, done.stderr
    return done


def era_of(path):
    """The version that the first line of a program names, as an option."""
    named = re.match(r"# era: (.*)\n", path.read_text())
    return ("--era", named[1]) if named else ()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_era_prints_what_its_form_of_today_prints(programs, name):
    path = FOLDER / name
    done = run(programs, path, *era_of(path))
    twin = FOLDER / "today" / name
    if name in EXPECTED:
        assert done.stdout == EXPECTED[name]
    else:
        assert done.stdout == run(programs, twin, "--era", "none").stdout
    # Every note is at a line of the program, and is given once by a process.
    notes = re.findall(r"^(.*):\d+: OlderFormWarning: (.*)$", done.stderr, re.MULTILINE)
    assert all(Path(file).parent == FOLDER for file, _ in notes), notes
    if name != "hogwild.py":
        assert len({text for _, text in notes}) == len(notes)


def test_there_are_enough_programs():
    assert len(PROGRAMS) >= 25
    assert {path.name for path in (FOLDER / "today").glob("*.py")} | EXPECTED.keys() == set(
        PROGRAMS
    )


def test_the_note_names_the_form_of_today_at_the_users_line(programs):
    path = programs.write(
        """
        import torch
        from torch.autograd import Variable

        loss = Variable(torch.ones(3), requires_grad=True).sum()
        for _ in range(2):
            value = loss.data[0]
        loss.backward(retain_variables=True)
        print(value)
        """
    )
    done = run(programs, path)
    assert done.stdout == "3.0\n"
    notes = [line for line in done.stderr.splitlines() if "OlderForm" in line]
    assert notes == [
        f"{path}:7: OlderFormWarning: Indexing a tensor of one element is an older form: write "
        "loss.item().",
        f"{path}:8: OlderFormWarning: backward(retain_variables=...) is an older form of "
        "backward(retain_graph=...).",
    ]


def test_a_program_of_today_keeps_the_rules_of_today(programs):
    lines = programs.lines(
        """
        import torch
        mask = torch.ones(2) > 0
        print(mask.dtype, (torch.tensor([3]) / 2).item(), torch.ones(2).sum().dim())
        for wrong in (lambda: 1 - mask, lambda: torch.tensor(1.0)[0]):
            try:
                wrong()
            except (IndexError, RuntimeError) as error:
                print(type(error).__name__)
        """
    )
    assert lines == ["torch.bool 1.5 0", "RuntimeError", "IndexError"]


def test_print_statements_are_refused_with_a_sentence(programs):
    done = programs.start(
        programs.write(
            """
            import torch
            from torch.autograd import Variable
            print "loss", Variable(torch.ones(1)).data[0]
            """
        )
    )
    assert done.returncode == 1
    assert "this is a program for Python 2" in done.stderr


def test_other_errors_of_syntax_stay_as_they_are(programs):
    done = programs.start("--era", "0.3", programs.write("async = 3\nx = = 4\n"))
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr
    assert "compat" not in done.stderr


def test_versions_that_are_none_of_the_era_are_refused(programs):
    done = programs.start("--era", "1.5", programs.write("import torch"))
    assert done.returncode != 0
    assert "expected a version from 0.1 to 0.4, got '1.5'" in done.stderr


def test_a_file_saved_in_the_era_has_nothing_of_its_rules(programs):
    programs.run(
        """
        import torch
        torch.save({"x": torch.ones(3) > 0, "y": torch.ones(2)}, "file.pt")
        """,
        options=("--era", "0.3"),
    )
    done = programs.python("-c", "import facula; print(facula.load('file.pt'))")
    assert done.stdout.startswith("{'x': tensor([1, 1, 1], dtype=torch.uint8), 'y'"), done.stderr


def test_extensions_of_the_era_are_refused_with_a_way_out(programs):
    done = programs.start(programs.write("import torch.utils.ffi\n"))
    assert done.returncode == 1
    assert "torch.utils.ffi is not part of Facula" in done.stderr
    assert "tensor operations" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="starts processes by fork")
def test_children_follow_the_rules_of_the_program(programs):
    printed = programs.run(
        """
        import multiprocessing
        import torch

        def work(queue):
            queue.put(str((torch.ones(2) > 0).dtype))

        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                context = multiprocessing.get_context(method)
                queue = context.SimpleQueue()
                process = context.Process(target=work, args=(queue,))
                process.start()
                print(queue.get())
                process.join()
        """,
        options=("--era", "0.3"),
    )
    assert printed == "torch.uint8\ntorch.uint8\n"
