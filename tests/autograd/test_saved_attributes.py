"""What a node keeps for its derivative, as attributes of ``grad_fn``."""

import pytest

import facula

pytestmark = pytest.mark.promise("A3")


def pair():
    return (facula.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))


def test_operands_and_results_have_names():
    x, y = pair()
    node = (x * y).grad_fn
    assert node._saved_self is x
    assert node._saved_other is y
    z = x.exp()
    assert z.grad_fn._saved_result.tolist() == z.tolist()
    assert z.grad_fn._saved_result.grad_fn is z.grad_fn
    assert x.log().grad_fn._saved_self is x


def test_what_no_gradient_needs_is_none():
    x, y = pair()
    node = (x * y.detach()).grad_fn
    assert node._saved_self is None
    assert node._saved_other.tolist() == [1, 2]


def test_dir_lists_the_names():
    x, y = pair()
    names = {name for name in dir((x * y).grad_fn) if "saved" in name}
    assert names == {"_saved_self", "_saved_other", "_raw_saved_self", "_raw_saved_other"}
    assert not [name for name in dir((x + y).grad_fn) if "saved" in name]
    assert "next_functions" in dir((x * y).grad_fn)


def test_other_names_are_no_attributes():
    x, _ = pair()
    for name in ("_saved_other", "_raw_saved_self", "_saved_", "_saved_weight", "anything"):
        with pytest.raises(AttributeError, match=name):
            getattr(x.exp().grad_fn, name)


def test_saved_tensors_are_gone_after_backward():
    x, _ = pair()
    y = x.exp()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="freed"):
        y.grad_fn._saved_result  # noqa: B018
    with pytest.raises(RuntimeError, match="freed"):
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)


def test_a_saved_tensor_that_was_written_to_is_not_given():
    x, y = pair()
    z = x * 1
    node = (z * y).grad_fn
    with facula.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="overwritten in-place"):
        node._saved_self  # noqa: B018


def test_hooks_of_one_saved_tensor():
    x, y = pair()
    z = x * y
    raw = z.grad_fn._raw_saved_other
    raw.register_hooks(lambda t: t.detach() * 10, lambda t: t * 2)
    assert z.grad_fn._saved_other.tolist() == [20, 40]
    with pytest.raises(RuntimeError, match="already has hooks"):
        raw.register_hooks(lambda t: t, lambda t: t)
    z.sum().backward()
    assert x.grad.tolist() == [20, 40]
    assert y.grad.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="value None"):
        (x * y.detach()).grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="two functions"):
        (x * y).grad_fn._raw_saved_self.register_hooks(1, 2)


def test_a_raw_saved_tensor_keeps_its_node():
    x, _ = pair()
    raw = x.exp().grad_fn._raw_saved_result
    assert raw.unpack().tolist() == x.exp().tolist()


def test_nodes_tell_the_form_of_their_gradients():
    x, _ = pair()
    node = x.double().unsqueeze(0).max(1)[0].grad_fn
    (values,) = node._input_metadata
    assert (values.shape, values.dtype) == (facula.Size([1]), facula.float64)
    assert values.device == facula.device("cpu")
    assert node.name() == "MaxBackward0"
    assert node._sequence_nr() > 0
    node.metadata["note"] = 1
    assert node.metadata == {"note": 1}
