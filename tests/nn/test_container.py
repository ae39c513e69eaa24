from collections import OrderedDict

import pytest

import facula
from facula import nn

pytestmark = pytest.mark.promise("N2")


def test_sequential_calls_one_module_after_the_other():
    m = nn.Sequential(nn.Flatten(0), nn.Unflatten(0, (3, 2)))
    assert m(facula.arange(6).reshape(2, 3)).tolist() == [[0, 1], [2, 3], [4, 5]]


def test_sequential_keeps_names_in_a_slice_and_counts_anew_after_a_deletion():
    m = nn.Sequential(OrderedDict(a=nn.Identity(), b=nn.Flatten()))
    assert list(m[1:]._modules) == ["b"]
    del m[0]
    assert list(m._modules) == ["0"]


def test_sequential_grows():
    m = nn.Sequential(nn.Identity()).append(nn.Flatten()).insert(0, nn.Flatten(0))
    m += nn.Sequential(nn.Identity())
    assert [type(part).__name__ for part in m * 2] == 2 * [
        "Flatten",
        "Identity",
        "Flatten",
        "Identity",
    ]


@pytest.mark.parametrize(
    "use, error, text",
    [
        (lambda m: m[3], IndexError, "expected an index from -1 to 0, got 3"),
        (lambda m: m + 3, ValueError, r"expected another Sequential after \+, got int"),
        (lambda m: m * 0, ValueError, "repeated at least once, got 0 times"),
        (lambda m: m.append(3), TypeError, "expected a Module or None, got int"),
        (
            lambda m: m.append(nn.ReLU),
            TypeError,
            r"got the class facula\.nn\.modules\.activation\.ReLU: write ReLU\(\)\.$",
        ),
        (
            lambda m: m.append(nn.functional.relu),
            TypeError,
            r"expected a Module or None, got facula\.nn\.functional\.relu\.$",
        ),
        (lambda m: m.insert(9, nn.Identity()), IndexError, "expected an index from -1 to 1, got 9"),
    ],
)
def test_sequential_refuses(use, error, text):
    m = nn.Sequential(nn.Identity())
    with pytest.raises(error, match=text):
        use(m)
    assert len(m) == 1


def test_a_module_list_shows_equal_modules_in_one_line():
    m = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.Identity()])
    assert "(0-1): 2 x Linear(in_features=2, out_features=2, bias=True)" in repr(m)


def test_a_module_list_is_not_called():
    with pytest.raises(NotImplementedError):
        nn.ModuleList([nn.Identity()])(1)


def test_a_module_dict_refuses_names_that_are_attributes():
    with pytest.raises(KeyError, match="'keys' is an attribute already"):
        nn.ModuleDict({"keys": nn.Identity()})


def test_parameter_lists_make_parameters_of_tensors():
    p = nn.ParameterList([facula.ones(2), 3])
    p.append(facula.zeros(1))
    assert [type(value).__name__ for value in p] == ["Parameter", "int", "Parameter"]
    assert list(p.state_dict()) == ["0", "2"]


def test_parameter_dicts_sort_plain_dictionaries():
    assert list(nn.ParameterDict({"b": facula.ones(1), "a": facula.ones(1)})) == ["a", "b"]


def test_parameter_dicts_join():
    p = nn.ParameterDict({"a": facula.ones(1)}) | {"b": facula.ones(1)}
    assert [name for name, _ in p.named_parameters()] == ["a", "b"]


def test_parameter_containers_are_not_called():
    with pytest.raises(RuntimeError, match="ParameterList: it computes nothing"):
        nn.ParameterList()()
    with pytest.raises(RuntimeError, match="ParameterDict: it computes nothing"):
        nn.ParameterDict()(1)
