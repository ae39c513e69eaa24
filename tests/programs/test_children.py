"""Processes that a program starts: ``torch`` is Facula there too."""

import pytest

pytestmark = pytest.mark.promise("U2")

POOL = """
import multiprocessing, sys
import torch

class Point:
    def __init__(self, x):
        self.x = x

def work(point):
    import facula
    return point.x * 2, torch is facula, type(point).__name__

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(work, [Point(torch.ones(1))]))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_know_torch_and_the_program(programs, method):
    expected = "[(tensor([2.]), True, 'Point')]\n"
    assert programs.run(POOL, method) == expected
    assert programs.start("-m", "program", method).stdout == expected


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_the_loader_know_torch(programs, method):
    out = programs.run(
        """
        import sys
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Squares(Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, i):
                import torch as again
                return again.tensor(i * i)

        if __name__ == "__main__":
            loader = DataLoader(Squares(), 2, num_workers=2, multiprocessing_context=sys.argv[1])
            print([batch.tolist() for batch in loader])
        """,
        method,
    )
    assert out == "[[0, 1], [4, 9]]\n"


def test_python_started_by_the_program_knows_torch(programs):
    out = programs.lines(
        """
        import os, subprocess, sys
        code = "import torch, sys, facula; print(torch is facula, 'sitecustomize' in sys.path[0])"
        subprocess.run([sys.executable, "-c", code], check=True)
        os.chdir("/")  # where a path that was relative would not be found
        sys.stdout.flush()
        os.system(f'"{sys.executable}" -c "import torchvision; print(torchvision.__name__)"')
        """
    )
    assert out == ["True False", "torchvision"]


def test_children_that_never_ask_for_torch_do_not_load_facula(programs):
    out = programs.run(
        """
        import subprocess, sys
        code = "import sys; print([m for m in ('facula', 'numpy') if m in sys.modules])"
        subprocess.run([sys.executable, "-c", code], check=True)
        """
    )
    assert out == "[]\n"


def test_the_path_of_a_child_is_as_without_us(programs):
    code = "import sys; print(sys.path)"
    programs.write(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}])")
    assert programs.start("program.py").stdout == programs.python("program.py").stdout


def test_another_sitecustomize_still_runs(programs):
    programs.write("print('mine')", "site/sitecustomize.py")
    paths = [str(programs.folder / "site"), programs.env.get("PYTHONPATH", "")]
    programs.env["PYTHONPATH"] = ":".join(filter(None, paths))
    programs.write(
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import torch.nn'])"
    )
    done = programs.start("program.py")
    assert (done.stdout, done.stderr) == ("mine\nmine\n", "")


def test_a_python_of_another_kind_is_left_alone(programs):
    out = programs.run(
        """
        import os, subprocess, sys
        code = "import sys; print(any(type(f).__name__ == 'Finder' for f in sys.meta_path))"
        for tag in (sys.implementation.cache_tag, "cpython-200"):
            subprocess.run([sys.executable, "-c", code], env={**os.environ, "FACULA_RUN": tag})
        """
    )
    assert out == "True\nFalse\n"


def test_programs_can_be_started_inside_of_programs(programs):
    programs.write("import torch, sys; print(torch.__name__, sys.argv[1:])", "inner.py")
    out = programs.run(
        """
        import subprocess, sys
        subprocess.run([sys.executable, "-m", "facula", "run", "inner.py", "x"], check=True)
        """
    )
    assert out == "torch ['x']\n"


def test_the_environment_is_not_grown_by_each_generation(programs):
    code = "import os; print(os.environ['PYTHONPATH'].count('_site'))"
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    out = programs.run(
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {nested!r}])"
    )
    assert out == "1\n"
