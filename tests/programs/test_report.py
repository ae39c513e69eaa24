import re

import pytest

pytestmark = pytest.mark.promise("U2")


def counts(report, title):
    part = re.search(rf"times  {title}\n((?: +\d+  .*\n)*)", report)
    return (
        {}
        if part is None
        else {name: int(count) for count, name in (row.split() for row in part[1].splitlines())}
    )


def test_the_report_counts_what_was_used_and_what_was_missing(programs):
    programs.write(
        """
        import torch
        import torch.nn as nn
        from torch.nn import functional as F

        net = nn.Linear(3, 2)
        for _ in range(4):
            y = F.relu(net(torch.ones(1, 3))).sum()
        y.backward()
        hasattr(torch, "nothing")
        try:
            torch.ones(1).no_method()
        except AttributeError:
            pass
        """
    )
    done = programs.start("--report", "program.py")
    assert done.returncode == 0, done.stderr
    used, missing = counts(done.stderr, "used"), counts(done.stderr, "missing")
    assert used["torch.ones"] == 5 and used["torch.nn.Linear"] == 1
    assert used["torch.nn.functional.relu"] == used["torch.Tensor.sum"] == 4
    assert used["torch.Tensor.backward"] == 1
    assert missing == {"torch.nothing": 1, "torch.Tensor.no_method": 1}
    assert f"{len(used)} names of PyTorch were used, 2 were missing." in done.stderr
    assert not any(part.startswith("_") for name in used for part in name.split("."))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_the_program_are_counted_too(programs, method):
    programs.write(
        f"""
        import multiprocessing, torch

        def work(x):
            return torch.full((1,), 2.0)

        if __name__ == "__main__":
            process = multiprocessing.get_context("{method}").Process(target=work, args=(1,))
            process.start()
            process.join()
        """
    )
    done = programs.start("--report", "program.py")
    assert counts(done.stderr, "used")["torch.full"] == 1


def test_a_program_that_fails_is_reported_too(programs):
    programs.write("import torch\ntorch.ones(2)\ntorch.nothing()")
    done = programs.start("--report", "program.py")
    assert done.returncode == 1
    assert counts(done.stderr, "missing") == {"torch.nothing": 1}
