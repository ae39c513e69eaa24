"""What notebooks show of tensors and modules: `_repr_html_`, or None for the text."""

import base64
import io
import re
import subprocess
import sys
import time

import pytest

import facula
from facula import nn

pytestmark = pytest.mark.promise("U5")


def cells(html):
    return re.findall(r"<td[^>]*>(.*?)</td>", html)


def facts(html):
    return re.sub(r"<.*?>", "", html.partition("<div style")[0].partition("<pre")[0])


def pictures(html):
    image = pytest.importorskip("PIL.Image")
    data = re.findall(r"base64,([^']*)'", html)
    return [image.open(io.BytesIO(base64.b64decode(d))) for d in data]


def test_a_vector_and_a_matrix_are_tables_with_shape_dtype_and_range():
    html = facula.tensor([[1.0, -2.5], [0.0, 4.0]])._repr_html_()
    assert facts(html) == "Tensor (2, 2), float32, from -2.5 to 4"
    assert cells(html) == ["1.0000", "-2.5000", "0.0000", "4.0000"]
    html = facula.arange(3)._repr_html_()
    assert facts(html) == "Tensor (3,), int64, from 0 to 2"
    assert cells(html) == ["0", "1", "2"]


def test_of_a_large_matrix_the_edges_are_shown():
    html = facula.arange(600).reshape(20, 30)._repr_html_()
    assert html.count("<tr>") == 11
    assert cells(html)[:11] == ["0", "1", "2", "3", "4", "…", "25", "26", "27", "28", "29"]
    assert cells(html)[-1] == "599"
    assert "⋮" in html


def test_nan_and_infinities_are_counted_and_stand_out():
    html = facula.tensor([1.0, float("nan"), -float("inf")])._repr_html_()
    assert facts(html) == "Tensor (3,), float32, from 1 to 1, 1 NaN, 1 infinite"
    assert html.count("#f00a") == 2
    assert facts(facula.full((2,), float("nan"))._repr_html_()) == "Tensor (2,), float32, 2 NaN"


@pytest.mark.parametrize(
    "x, said",
    [
        (facula.tensor(3.5), "Tensor (), float32"),
        (facula.empty(0), "Tensor (0,), float32"),
        (facula.empty(3, 0, 8, 8), "Tensor (3, 0, 8, 8), float32"),
        (facula.tensor([True, False]), "Tensor (2,), bool, 1 of 2 true"),
        (facula.tensor([1 + 2j]), "Tensor (1,), complex64"),
        (facula.ones(2, dtype=facula.bfloat16), "Tensor (2,), bfloat16, from 1 to 1"),
        (facula.ones(2, dtype=facula.float8_e4m3fn), "Tensor (2,), float8_e4m3fn, from 1 to 1"),
        (facula.tensor([2**63 + 5], dtype=facula.uint64), None),
        (facula.ones(2, 3, 4), "Tensor (2, 3, 4), float32, from 1 to 1"),
        (facula.ones(2).expand(3, 2).t(), "Tensor (2, 3), float32, from 1 to 1"),
        (facula.ones(1, requires_grad=True), "Tensor (1,), float32, requires_grad=True, from 1 to"),
        (
            facula.ones(1, requires_grad=True) * 2,
            "Tensor (1,), float32, grad_fn=&lt;MulBackward0&gt;, from 2 to 2",
        ),
        (nn.Parameter(facula.ones(1)), "Parameter (1,), float32, requires_grad=True, from 1 to 1"),
        (facula.tensor([1j]).conj(), "Tensor (1,), complex64"),
    ],
    ids=str,
)
def test_every_kind_of_tensor_has_its_facts(x, said):
    html = x._repr_html_()
    assert said is None or facts(html).startswith(said)
    assert html.startswith("<div><b>") and html.endswith("</div>")


def test_tensors_that_look_like_images_are_pictures():
    x = facula.zeros(3, 8, 10)
    x[0, 2, 3] = 1.0
    (picture,) = pictures(x._repr_html_())
    assert (picture.size, picture.mode) == ((10, 8), "RGB")
    assert picture.getpixel((3, 2)) == (255, 0, 0)
    html = facula.randn(11, 1, 8, 8)._repr_html_()
    assert [p.mode for p in pictures(html)] == ["L"] * 8
    assert "3 more" in html and "black is" in html
    (picture,) = pictures(facula.full((9, 12, 3), 7, dtype=facula.uint8)._repr_html_())
    assert (picture.size, picture.getpixel((0, 0))) == ((12, 9), (7, 7, 7))
    (picture,) = pictures(facula.full((1, 8, 8), float("nan"))._repr_html_())
    assert picture.getpixel((0, 0)) == 0
    (picture,) = pictures(facula.rand(3, 1000, 700)._repr_html_())
    assert max(picture.size) <= 192


@pytest.mark.parametrize("x", [facula.ones(2, device="meta"), facula.eye(2).to_sparse()], ids=str)
def test_tensors_without_numbers_in_memory_are_left_to_their_text(x):
    assert x._repr_html_() is None


def test_a_parameter_without_a_shape_is_left_to_its_text():
    assert nn.LazyLinear(3).weight._repr_html_() is None


def test_subclasses_with_a_text_or_a_function_of_their_own_keep_it():
    class Plain(facula.Tensor):
        pass

    class Spoken(facula.Tensor):
        def __repr__(self):
            return "mine"

    class Seen(facula.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError("nobody asked for an operation")

    assert facts(facula.ones(2).as_subclass(Plain)._repr_html_()).startswith("Plain (2,)")
    assert facula.ones(2).as_subclass(Spoken)._repr_html_() is None
    assert facula.ones(2).as_subclass(Seen)._repr_html_() is None


def test_a_package_that_changes_the_text_of_tensors_is_not_overruled(monkeypatch):
    monkeypatch.setattr(facula.Tensor, "__repr__", lambda self: "lovely")
    assert facula.ones(2)._repr_html_() is None


def test_a_mode_sees_nothing_of_it():
    class Seeing(facula.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise AssertionError(func)

    x = facula.ones(2)
    with Seeing():
        assert x._repr_html_()


def test_inside_of_vmap_the_text_stays():
    seen = []
    facula.func.vmap(lambda x: (seen.append(x._repr_html_()), x)[1])(facula.ones(2, 3))
    assert seen == [None]


def test_a_huge_tensor_takes_a_moment():
    x = facula.zeros(1).expand(100_000, 100_000)
    start = time.process_time()
    assert facts(x._repr_html_()) == "Tensor (100000, 100000), float32"
    line = facula.zeros(1).expand(10**11)  # of which no copy could be made
    assert facts(line._repr_html_()) == "Tensor (100000000000,), float32"
    assert time.process_time() - start < 0.5


def test_it_changes_neither_random_numbers_nor_the_tensor():
    facula.manual_seed(0)
    x = facula.rand(3, 8, 8)
    state, version = facula.get_rng_state(), x._version
    x._repr_html_()
    assert facula.equal(facula.get_rng_state(), state)
    assert x._version == version


def test_a_module_is_a_tree_that_opens():
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    model[0].requires_grad_(False)
    html = model._repr_html_()
    assert html.startswith("<div><details open><summary><b>Sequential</b>")
    assert html.count("<details") == 2
    assert "26 parameters, 16 frozen" in html
    assert "in_features=4, out_features=2, bias=True · 10 parameters" in html


def test_words_of_a_module_cannot_break_the_page():
    class Odd(nn.Module):
        def extra_repr(self):
            return "</div><script>"

    model = nn.Module()
    model.add_module("<b>", Odd())
    model.add_module("none", None)
    html = model._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html
    assert "(&lt;b&gt;)" in html and "(none) None" in html


def test_a_module_with_a_text_of_its_own_keeps_it():
    class Spoken(nn.Module):
        def __repr__(self):
            return "<mine>"

    assert Spoken()._repr_html_() is None
    assert "&lt;mine&gt;" in nn.Sequential(Spoken())._repr_html_()
    assert nn.ModuleList([nn.ReLU()])._repr_html_()


def test_lazy_and_very_large_modules_are_shown():
    assert "some without a shape yet" in nn.LazyLinear(3)._repr_html_()
    html = nn.Sequential(*(nn.ReLU() for _ in range(5000)))._repr_html_()
    assert html.count("<b>ReLU</b>") == 1999 and "…" in html


def test_nothing_is_imported_before_a_notebook_asks():
    code = (
        "import sys, facula; repr(facula.ones(2)); repr(facula.nn.Linear(2, 2)); "
        "print('facula.viz._notebook' in sys.modules); facula.ones(2)._repr_html_(); "
        "print('facula.viz._notebook' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
