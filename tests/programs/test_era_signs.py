import pytest

from facula.compat._era_signs import era_of

pytestmark = pytest.mark.promise("U2")

HEAD = "import torch\nfrom torch.autograd import Variable\n"


@pytest.mark.parametrize(
    "line",
    [
        "x = Variable(x, volatile=True)",
        "x = Variable(x)",
        "total += loss.data[0]",
        "loss.backward(retain_variables=True)",
        "y = y.cuda(async=True)",
        "print(y.creator)",
    ],
)
def test_programs_of_the_early_years_are_known_by_their_source(line):
    assert era_of(HEAD + line) == "0.3"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "x = Variable(x); print(loss.item())",
        "with torch.no_grad(): y = Variable(x)",
        "row = weight.data[0]; x = x.to(device)",
    ],
)
def test_programs_of_today_are_not_mistaken(line):
    assert era_of(HEAD + line) is None


def test_other_programs_may_say_what_they_want():
    assert era_of("class Variable: pass\nVariable(volatile=1)") is None


def test_modules_of_the_program_count_too(tmp_path):
    (tmp_path / "model.py").write_text(HEAD + "def f(x): return Variable(x, volatile=True)")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").write_text("import model")
    assert era_of("import torch, sys\nfrom tools import x", str(tmp_path)) == "0.3"
    assert era_of("import torch\nimport json", str(tmp_path)) is None


def test_the_era_can_be_given_or_refused(programs):
    programs.write(
        "import torch, facula.compat.era as era\nx = torch.autograd.Variable(torch.ones(1))\n"
        "print(era._enabled)"
    )
    for options, expected in (
        ([], "0.3"),
        (["--era", "0.2"], "0.2"),
        (["--era=none"], "None"),
    ):
        assert programs.start(*options, "program.py").stdout == expected + "\n"
