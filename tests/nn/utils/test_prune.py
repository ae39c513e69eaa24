import pytest

import facula
from facula import nn
from facula.nn.utils import prune

pytestmark = pytest.mark.promise("N2")


def test_the_least_elements_are_zero_and_stay_so_while_training():
    m = nn.Linear(4, 3)
    prune.l1_unstructured(m, "weight", amount=5)
    m(facula.ones(1, 4)).sum().backward()
    with facula.no_grad():
        m.weight_orig += 1
    m(facula.ones(1, 4))
    assert int((m.weight == 0).sum()) == 5
    assert int((m.weight_orig.grad == 0).sum()) == 5


def test_a_second_method_chooses_among_what_is_left():
    m = nn.Linear(4, 3)
    prune.l1_unstructured(m, "weight", amount=4)
    prune.random_unstructured(m, "weight", amount=0.5)
    assert int(m.weight_mask.sum()) == 4
    (hook,) = m._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer)
    assert len(hook) == 2


def test_whole_rows_are_pruned_by_their_norm():
    m = nn.Linear(2, 3)
    with facula.no_grad():
        m.weight.copy_(facula.tensor([[1.0, 1.0], [0.1, 0.1], [2.0, 2.0]]))
    prune.ln_structured(m, "weight", amount=1, n=2, dim=0)
    assert m.weight_mask.tolist() == [[1, 1], [0, 0], [1, 1]]


def test_several_parameters_are_pruned_as_one():
    a, b = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
    nn.init.constant_(a.weight, 0.1)
    nn.init.constant_(b.weight, 1.0)
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=4)
    assert not a.weight.any()
    assert b.weight.all()


def test_removal_makes_the_pruned_values_the_parameter():
    m = prune.l1_unstructured(nn.Linear(4, 3), "weight", amount=5)
    prune.remove(m, "weight")
    assert not prune.is_pruned(m)
    assert int((m.weight == 0).sum()) == 5
    assert sorted(m.state_dict()) == ["bias", "weight"]


@pytest.mark.parametrize(
    "amount, error, text",
    [
        (
            "all",
            TypeError,
            r"prune: expected amount as a fraction \(float\) or a count \(int\), got str",
        ),
        (-1, ValueError, "expected amount as a fraction from 0 to 1 or a count of at least 0, got"),
        (
            1.5,
            ValueError,
            "expected amount as a fraction from 0 to 1 or a count of at least 0, got",
        ),
        (100, ValueError, "expected to prune at most the 6 entries there are, got 100"),
    ],
)
def test_an_impossible_amount_is_refused_and_changes_nothing(amount, error, text):
    m = nn.Linear(2, 3)
    with pytest.raises(error, match=text):
        prune.l1_unstructured(m, "weight", amount)
    assert list(m._parameters) == ["weight", "bias"]


def test_slices_of_a_vector_are_refused():
    with pytest.raises(ValueError, match=r"at least 2 dimensions to prune slices of, got \(3,\)"):
        prune.random_structured(nn.Linear(2, 3), "bias", 1, 0)
