import importlib
import inspect
import pkgutil

import pytest

import facula
from facula import nn


def files_of(package):
    for file in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(file.name)


def test_every_public_function_of_a_file_is_one_of_nn_functional():
    for file in files_of(nn.functional):
        defined = {
            name
            for name, value in vars(file).items()
            if inspect.isfunction(value)
            and value.__code__.co_filename == file.__file__
            and not name.startswith("_")
        }
        assert defined <= set(file.__all__) <= set(nn.functional.__all__), file.__name__


def test_every_layer_of_a_file_is_one_of_nn():
    # PyTorch has these classes, and the other names of these files, in the files only.
    not_layers = {"lazy", "module", "utils"}
    not_listed = {"NonDynamicallyQuantizableLinear"}
    for file in files_of(nn.modules):
        name = file.__name__.rpartition(".")[2]
        if not name.startswith("_") and name not in not_layers:
            defined = {
                value.__name__
                for value in vars(file).values()
                if inspect.isclass(value)
                and value.__module__ == file.__name__
                and not value.__name__.startswith("_")
            }
            assert defined - not_listed <= set(file.__all__), name
            assert set(file.__all__) <= set(nn.modules.__all__) <= set(nn.__all__), name


def test_functions_bear_the_name_of_the_package():
    assert {f.__module__ for f in (nn.functional.relu, nn.functional.mse_loss)} == {
        "facula.nn.functional"
    }


def test_layers_of_other_packages_find_the_private_parts_that_they_call():
    get_enum = nn.functional._Reduction.get_enum
    assert [get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    get_string = nn.functional._Reduction.legacy_get_string
    assert get_string(None, None, emit_warning=False) == "mean"
    with pytest.warns(UserWarning, match="size_average"):
        assert get_string(False, True) == "sum"
    assert nn.modules.module._addindent("a\n\nb", 3) == "a\n   \n   b"
    for fill, *numbers in (
        (nn.init._no_grad_uniform_, -1, 1),
        (nn.init._no_grad_normal_, 0, 1),
        (nn.init._no_grad_trunc_normal_, 0, 1, -1, 1),
        (nn.init._no_grad_fill_, 2),
        (nn.init._no_grad_zero_,),
    ):
        weight = nn.Parameter(facula.full((3,), facula.nan))
        assert fill(weight, *numbers) is weight
        assert weight.isfinite().all()
    x, weight, bias = facula.randn(2, 4), facula.randn(12, 4), facula.randn(12)
    together = nn.functional._in_projection_packed(x, x, x, weight, bias)
    apart = nn.functional._in_projection(x, x, x, *weight.chunk(3), *bias.chunk(3))
    for a, b in zip(together, apart, strict=True):
        facula.testing.assert_close(a, b)
