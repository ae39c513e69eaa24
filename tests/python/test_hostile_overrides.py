"""Handlers of ``__torch_function__`` that misbehave get an error, never a crash."""

import functools
import gc

import pytest

import facula
import facula.nn.functional as F


@pytest.mark.parametrize(
    "call", [facula.Tensor.__torch_function__, facula._core._disabled_torch_function_impl]
)
def test_arguments_by_name_that_are_no_dict_are_refused(call):
    with pytest.raises(TypeError, match="expected a dict or None as kwargs, got list"):
        call(facula.ones, (facula.Tensor,), (2,), [1, 2])


def test_a_result_that_holds_itself_ends_in_a_recursion_error():
    class Sub(facula.Tensor):
        pass

    nested = []
    nested.append(nested)
    with pytest.raises(RecursionError):
        Sub.__torch_function__(lambda: nested, (Sub,))


def test_a_handler_that_calls_its_operation_again_ends_in_a_recursion_error():
    class Foreign:
        pass

    foreign = Foreign()
    Foreign.__torch_function__ = functools.partial(facula.add, foreign)
    with pytest.raises(RecursionError):
        facula.add(foreign, 1)


def test_a_handler_may_empty_the_list_that_it_was_found_in():
    class First:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            args[0].clear()
            gc.collect()
            return NotImplemented

    class Second(First):
        pass

    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        facula.cat([First(), Second()])


def test_functions_as_class_attributes_do_not_bind():
    class Model:
        outer = facula.addr
        similarity = F.cosine_similarity

    x = facula.ones(2)
    assert Model().outer(facula.zeros(2, 2), x, x).tolist() == [[1, 1], [1, 1]]
    assert Model().similarity(x, x, dim=0).item() == pytest.approx(1)


def test_errors_of_functions_that_were_passed_are_kept():
    def distance(a, b):
        raise TypeError("mine")

    x = facula.ones(2, 2)
    with pytest.raises(TypeError, match=r"^mine$"):
        F.triplet_margin_with_distance_loss(x, x, x, distance_function=distance)
