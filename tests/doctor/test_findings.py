"""What a finding says, and how the program or the caller silences it."""

import runpy

import pytest

import facula
from facula import doctor
from facula.doctor import Finding, Place

# Two places are concerned: the softmax, and the loss that is given its result.
SOURCE = """
import facula
p = facula.ones(2, 3, requires_grad=True).softmax(1){softmax}
loss = facula.nn.functional.cross_entropy(p, facula.tensor([0, 1])){loss}
"""


@pytest.fixture
def findings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def findings(softmax="", loss="", ignore=(), source=SOURCE):
        (tmp_path / "train.py").write_text(source.format(softmax=softmax, loss=loss))
        with doctor.watch(ignore, tell=lambda finding: None) as watch:
            runpy.run_path("train.py")
        return [f"{f.id}:{f.place.line}" for f in watch.findings]

    return findings


def test_a_finding_is_told_at_its_place(findings):
    assert findings() == ["F101:4"]


@pytest.mark.parametrize(
    "mark", ["# facula: ignore", "# facula: ignore[F101]", "#facula:ignore[F999, F101] on purpose"]
)
@pytest.mark.parametrize("line", ["softmax", "loss"])
def test_a_mark_on_either_line_silences_the_finding(findings, mark, line):
    assert findings(**{line: f"  {mark}"}) == []


@pytest.mark.parametrize("mark", ["# facula: ignore[F102]", "# facula ignores nothing", "# ignore"])
def test_a_mark_for_something_else_silences_nothing(findings, mark):
    assert findings(loss=f"  {mark}") == ["F101:4"]


@pytest.mark.parametrize("ignored", ["F101", "F101:train.py:4", "F101:train.py:3"])
def test_findings_are_ignored_by_id_and_by_either_place(findings, ignored):
    assert findings(ignore=["F999", ignored]) == []


@pytest.mark.parametrize("ignored", ["F102", "F101:train.py:2", "F101:other.py:4"])
def test_other_ids_and_places_are_told(findings, ignored):
    assert findings(ignore=[ignored]) == ["F101:4"]


def test_each_place_is_told_once(findings):
    loop = SOURCE.replace("p =", "for _ in range(3): p =").replace(
        "loss =", "for _ in range(3): p;"
    )
    assert findings(source=loop) == ["F101:4"]
    assert findings(source=SOURCE + SOURCE) == ["F101:4", "F101:8"]


def test_each_finding_is_handed_over_when_it_is_made():
    told = []
    with doctor.watch(tell=told.append) as watch:
        facula.nn.functional.cross_entropy(facula.ones(1, 2).softmax(1), facula.tensor([0]))
        assert [finding.id for finding in told] == ["F101"]
    assert told == watch.findings


def test_a_finding_says_what_why_and_what_to_write_instead():
    finding = Finding(
        "F101", "It is so.", Place("a.py", 3), Place("b.py", 4), "Because.", "y = f(x)"
    )
    assert str(finding) == (
        "a.py:3: F101 It is so. (see also b.py:4)\n"
        "    why: Because.\n"
        "    fix: y = f(x)\n"
        "    silence: # facula: ignore[F101] at the end of the line, or --ignore F101\n"
        "    more: docs/doctor/F101.md"
    )
    assert finding.as_dict() == {
        "id": "F101",
        "message": "It is so.",
        "place": "a.py:3",
        "other": "b.py:4",
        "why": "Because.",
        "fix": "y = f(x)",
    }


def test_places_are_relative_to_the_folder_below_which_they_lie(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(Place(str(tmp_path / "sub" / "a.py"), 3)) == "sub/a.py:3"
    assert str(Place("/elsewhere/a.py", 3)) == "/elsewhere/a.py:3"
    assert str(Place("<stdin>", 3)) == "<stdin>:3"
