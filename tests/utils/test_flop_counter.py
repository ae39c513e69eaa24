import pytest

import facula
from facula import nn
from facula.nn import functional as F
from facula.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula


def count(function, **kwargs):
    with FlopCounterMode(display=False, **kwargs) as counter:
        function()
    return counter


a, b = facula.ones(2, 3), facula.ones(3, 4)
image, kernel = facula.ones(2, 3, 8, 8), facula.ones(6, 3, 3, 3)
heads = facula.ones(2, 4, 5, 8)  # batch, heads, length, width
CASES = {
    "mm": (lambda: a.mm(b), 2 * 2 * 3 * 4),
    "operator": (lambda: a @ b, 2 * 2 * 3 * 4),
    "out": (lambda: facula.mm(a, b, out=facula.empty(2, 4)), 48),
    "by name": (lambda: facula.addmm(input=facula.ones(4), mat1=a, mat2=b), 48),
    "bmm": (lambda: facula.bmm(a[None], b[None]), 48),
    "addbmm": (lambda: facula.addbmm(facula.ones(2, 4), a[None], b[None]), 48),
    "broadcast": (lambda: facula.ones(5, 2, 3) @ b, 5 * 48),
    "linear": (lambda: F.linear(a, b.T), 48),
    "einsum": (lambda: facula.einsum("ij,jk->ik", a, b), 48),
    "conv2d": (lambda: F.conv2d(image, kernel), 2 * 2 * 6 * 6 * 6 * 3 * 3 * 3),
    "no batch": (lambda: F.conv2d(image[0], kernel), 2 * 6 * 6 * 6 * 3 * 3 * 3),
    "transposed": (lambda: F.conv_transpose2d(image, kernel[:3]), 2 * 2 * 8 * 8 * 3 * 3 * 9),
    "attention": (
        lambda: F.scaled_dot_product_attention(heads, heads, heads),
        2 * 2 * 2 * 4 * 5 * 5 * 8,
    ),
    "nothing": (lambda: a + a, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_products_are_counted(name):
    function, expected = CASES[name]
    assert count(function).get_total_flops() == expected


def test_a_gradient_costs_what_the_product_costs():
    x, w = facula.ones(2, 3, requires_grad=True), facula.ones(3, 4, requires_grad=True)
    assert count(lambda: (x @ w).sum().backward()).get_total_flops() == 3 * 48
    assert count(lambda: (a @ w).sum().backward()).get_total_flops() == 2 * 48
    q = heads.clone().requires_grad_()
    forward = CASES["attention"][1]

    def attention():
        F.scaled_dot_product_attention(q, heads, heads).sum().backward()

    assert count(attention).get_total_flops() == forward * 7 // 2


def test_backward_outside_of_the_block_is_not_counted():
    x = facula.ones(2, 3, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        y = (x @ b).sum()
    y.backward()
    assert counter.get_total_flops() == 48


def test_modules_are_told_apart():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 4)
            self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))

        def forward(self, x):
            return self.rest(self.first(x))

    net = Net()
    counts = count(lambda: net(a).sum().backward()).get_flop_counts()
    totals = {name: sum(numbers.values()) for name, numbers in counts.items()}
    assert totals == {
        "Global": 96 + 96,
        "Net": 96 + 96,
        "Net.first": 48 + 48,
        "Net.rest": 32 * 3,
        "Net.rest.1": 32 * 3,
    }


def test_the_table_is_printed(capsys):
    with FlopCounterMode(depth=1):
        nn.Sequential(nn.Linear(100, 100))(facula.ones(10, 100))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Module", "FLOP", "%", "Total"]
    assert lines[2].split() == ["Sequential", "200.000K", "100.00%"]
    assert lines[3].split() == ["-", "aten.linear", "200.000K", "100.00%"]
    assert len(lines) == 4
    assert FlopCounterMode().get_table().splitlines()[2].split() == ["Global", "0", "0%"]


def test_formulas_can_be_added():
    def add_flop(x_shape, y_shape, out_shape=None):
        return out_shape.numel()

    counter = count(lambda: a + a, custom_mapping={facula.add: add_flop})
    assert counter.get_flop_counts()["Global"] == {"aten.add": 6}
    with pytest.raises(RuntimeError, match="mm has a formula already"):
        register_flop_formula("mm")(add_flop)
    with pytest.raises(ValueError, match="expected each target to be an operation"):
        register_flop_formula(3)(add_flop)
    with pytest.warns(UserWarning, match="not needed anymore"):
        FlopCounterMode(nn.Linear(1, 1))


def test_an_error_of_a_formula_is_that_of_the_operation():
    def wrong(*args, **kwargs):
        raise KeyError("formula")

    with pytest.raises(KeyError, match="formula"):
        count(lambda: a + a, custom_mapping={"add": wrong})
    assert (a + a).tolist() == [[2.0] * 3] * 2


def test_formulas_are_found_by_operations_of_aten():
    aten = facula.ops.aten
    assert aten.mm in flop_registry and aten.sin not in flop_registry
    assert flop_registry[aten.mm](a, b, out_val=a @ b) == 48
    assert flop_registry.get(aten.sin) is None
    counter = count(lambda: a.sin(), custom_mapping={aten.sin: lambda *shapes, out_shape: 7})
    assert counter.get_total_flops() == 7
