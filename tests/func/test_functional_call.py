import pytest

import facula
from facula import nn
from facula.func import functional_call, stack_module_state, vmap

pytestmark = pytest.mark.promise("N1")


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", facula.zeros(()))

    def forward(self, x):
        self.n = self.n + 1
        return x + self.n


def test_a_module_is_called_with_other_parameters_and_keeps_its_own():
    m = nn.Linear(2, 1)
    weight = m.weight
    result = functional_call(m, {"weight": facula.ones(1, 2)}, facula.ones(2))
    assert facula.equal(result, 2 + m.bias)
    assert m.weight is weight


def test_the_parameters_are_back_after_an_error():
    m = nn.Linear(2, 1)
    weight = m.weight
    with pytest.raises(RuntimeError):
        functional_call(m, {"weight": facula.ones(1, 3)}, facula.ones(2))
    assert m.weight is weight


def test_a_buffer_that_forward_assigns_is_found_in_the_dictionary():
    m = Counting()
    given = {"n": facula.tensor(5.0)}
    assert functional_call(m, given, facula.zeros(())).item() == 6.0
    assert given["n"].item() == 6.0
    assert m.n.item() == 0.0


def test_strict_calls_need_all_names():
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): 'bias'"):
        functional_call(nn.Linear(2, 1), {"weight": facula.ones(1, 2)}, facula.ones(2), strict=True)


def test_tied_parameters_are_replaced_together():
    m = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    m[1].weight = m[0].weight
    result = functional_call(m, {"0.weight": facula.eye(2) * 3}, facula.ones(2))
    assert result.tolist() == [9.0, 9.0]


def test_models_run_together():
    models = [nn.Linear(2, 1) for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    x = facula.ones(4, 2)

    def call(p, b):
        return functional_call(models[0], (p, b), (x,))

    together = vmap(call)(parameters, buffers)
    assert facula.allclose(together, facula.stack([m(x) for m in models]))
