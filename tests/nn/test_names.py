import importlib
import inspect
import pkgutil

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
