import collections

import numpy as np
import pytest
from data_tools import run_script
from PIL import Image

import facula
from facula.utils.data import DataLoader, default_collate, default_convert
from facula.utils.data._utils.collate import collate, default_collate_fn_map

pytestmark = pytest.mark.promise("D1")
Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "batch, dtype, values",
    [
        ([1, 2], facula.int64, [1, 2]),
        ([1.5, 2], facula.float64, [1.5, 2.0]),
        ([True, False], facula.bool, [True, False]),
        ([np.float32(1), np.float32(2)], facula.float32, [1.0, 2.0]),
        ([np.uint8(1), np.uint8(2)], facula.uint8, [1, 2]),
        ([np.array(1), np.array(2)], facula.int64, [1, 2]),
        ([np.ones(2, np.float16)] * 2, facula.float16, [[1.0, 1.0], [1.0, 1.0]]),
        ([facula.ones(1), facula.zeros(1)], facula.float32, [[1.0], [0.0]]),
    ],
)
def test_numbers_arrays_and_tensors_become_tensors(batch, dtype, values):
    result = default_collate(batch)
    assert result.dtype == dtype
    assert result.tolist() == values


def test_strings_stay_and_containers_are_collated_part_by_part():
    assert default_collate(["a", "b"]) == ["a", "b"]
    assert default_collate([b"a"]) == [b"a"]
    result = default_collate([(1, [2, {"a": "x"}]), (3, [4, {"a": "y"}])])
    assert result[0].tolist() == [1, 3]
    assert result[1][0].tolist() == [2, 4]
    assert result[1][1] == {"a": ["x", "y"]} or result[1][1] == {"a": ("x", "y")}
    point = default_collate([Point(1, 2), Point(3, 4)])
    assert type(point) is Point
    assert point.y.tolist() == [2, 4]
    assert default_collate([[], []]) == []


def test_types_of_the_user_are_kept():
    class Record(dict):
        pass

    class Row(list):
        pass

    record = default_collate([Record(a=1), Record(a=2)])
    assert type(record) is Record
    assert record["a"].tolist() == [1, 2]
    row = default_collate([Row([1]), Row([2])])
    assert type(row) is Row
    assert row[0].tolist() == [1, 2]
    assert type(default_collate([collections.OrderedDict(a=1)])) is collections.OrderedDict


def test_gradients_go_through_a_batch():
    x = facula.ones(2, requires_grad=True)
    default_collate([x, 2 * x]).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_default_convert_makes_tensors_of_arrays():
    data = {"x": np.arange(2), "t": (np.float32(1), "a"), "p": Point(np.ones(1), None)}
    result = default_convert(data)
    assert result["x"].tolist() == [0, 1]
    assert type(result["t"]) is list
    assert result["t"][0].dtype == facula.float32
    assert result["p"].x.tolist() == [1.0]
    assert result["p"].y is None
    names = np.array(["a"])
    assert default_convert(names) is names


def test_a_function_for_a_type_can_be_given():
    class Box:
        pass

    functions = {Box: lambda boxes, *, collate_fn_map: len(boxes), **default_collate_fn_map}
    result = collate([(Box(), 1), (Box(), 2)], collate_fn_map=functions)
    assert result[0] == 2
    assert result[1].tolist() == [1, 2]


@pytest.mark.parametrize(
    "batch, error, message",
    [
        ([Image.new("RGB", (2, 2))], TypeError, r"Give the dataset transform=ToTensor\(\)"),
        ([None], TypeError, "got <class 'NoneType'>. A collate_fn can make batches of other types"),
        ([np.array(["a"])], TypeError, "an array of dtype <U1"),
        ([], IndexError, "list index out of range"),
        (
            [facula.ones(2), facula.ones(3)],
            RuntimeError,
            r"one shape, got \(2,\) in sample 0 and \(3,\) in sample 1 of the batch: "
            "stack expects each tensor to be equal size",
        ),
        (
            [{"a": [facula.ones(2)]}, {"a": [facula.ones(2)]}, {"a": [facula.ones(1)]}],
            RuntimeError,
            r"one shape in sample\['a'\]\[0\], got \(2,\) in sample 0 and \(1,\) in sample 2",
        ),
        ([[1, 2], [1]], RuntimeError, "one length, got 2 in sample 0 and 1 in sample 1"),
        (
            [{"a": 1}, {"b": 1}],
            KeyError,
            "sample 0 has the key a, but sample 1 of the batch has only b",
        ),
    ],
)
def test_samples_that_do_not_fit_are_refused(batch, error, message):
    with pytest.raises(error, match=message):
        default_collate(batch)


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_loader_names_the_indices_of_unequal_samples(num_workers):
    data = [facula.ones(2, 2), facula.ones(2, 2), facula.ones(3, 2)]
    loader = DataLoader(data, sampler=[1, 2], batch_size=2, num_workers=num_workers)
    message = r"\(2, 2\) in sample 0 \(index 1\) and \(3, 2\) in sample 1 \(index 2\)"
    with pytest.raises(RuntimeError, match=message):
        list(loader)


def test_types_that_the_user_adds_do_not_hide_those_of_numpy(tmp_path):
    code, _, err = run_script(
        """
        from facula.utils.data import default_collate
        from facula.utils.data._utils.collate import default_collate_fn_map

        class Own:
            pass

        default_collate_fn_map[Own] = lambda samples, *, collate_fn_map: len(samples)
        import numpy
        assert default_collate([Own(), Own()]) == 2
        assert default_collate([numpy.ones(2), numpy.ones(2)]).shape == (2, 2)
        """,
        tmp_path,
    )
    assert code == 0, err


def test_the_functions_of_types_have_names_that_packages_import():
    from facula.utils.data._utils.collate import (
        collate_float_fn,
        collate_int_fn,
        collate_numpy_array_fn,
        collate_numpy_scalar_fn,
        collate_str_fn,
        collate_tensor_fn,
        np_str_obj_array_pattern,
    )

    assert collate_tensor_fn([facula.ones(2), facula.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    table = default_collate_fn_map
    arrays = collate_numpy_array_fn([np.ones(1), np.zeros(1)], collate_fn_map=table)
    assert arrays.tolist() == [[1], [0]]
    assert collate_numpy_scalar_fn([np.float32(2), np.float32(3)]).tolist() == [2, 3]
    assert collate_float_fn([0.5]).dtype == facula.float64
    assert collate_int_fn([1, 2]).tolist() == [1, 2] and collate_str_fn(["a"]) == ["a"]
    assert np_str_obj_array_pattern.search(np.array(["a"]).dtype.str)


def test_pin_memory_asks_each_part_that_knows_how():
    from facula.utils.data._utils.pin_memory import pin_memory

    class Batch:
        is_pinned = False

        def pin_memory(self):
            self.is_pinned = True
            return self

    pinned = pin_memory({"a": [Batch(), 3], "b": "text"})
    assert pinned["a"][0].is_pinned and pinned["a"][1] == 3 and pinned["b"] == "text"
