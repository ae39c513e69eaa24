"""Channels of groups dealt out in turn."""

import pytest

import facula
from check_op import check_op

NAMES = ["channel_shuffle", "native_channel_shuffle"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "shape, groups",
    [
        ((2, 6, 3, 1), 2),
        ((1, 4, 2, 2), 4),
        ((2, 3, 2, 2), 1),
        ((1, 6, 1, 2, 2), 3),
        ((0, 4, 2, 2), 2),
        ((2, 6, 3), 2),
    ],
)
def test_channels_of_groups_take_turns(name, shape, groups):
    def reference(a):
        n, c, *rest = a.shape
        return a.reshape(n, groups, c // groups, *rest).swapaxes(1, 2).reshape(a.shape)

    op = getattr(facula, name)
    check_op(lambda x: op(x, groups), reference, [shape], dtypes=["float16", "float32", "float64"])


@pytest.mark.parametrize("name", NAMES)
def test_groups_that_do_not_divide_the_channels_are_refused(name):
    with pytest.raises(RuntimeError, match=r"channel_shuffle: .* 2 groups divide, got 5"):
        getattr(facula, name)(facula.ones(1, 5, 2, 2), 2)
