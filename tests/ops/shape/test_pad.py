"""Borders of one value."""

import numpy as np
import pytest

import facula
from check_op import check_op


@pytest.mark.parametrize("pad", [(1, 2), (0, 1, 2, 0), (1, 1, 1, 1, 0, 2)])
@pytest.mark.parametrize("value", [0, -2.5])
def test_constant_pad_nd_agrees_with_numpy(pad, value):
    widths = [(0, 0)] * (3 - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    check_op(
        lambda x: facula.constant_pad_nd(x, pad, value),
        lambda a: np.pad(a, widths, constant_values=value),
        [(2, 3, 4)],
        dtypes=["bfloat16", "float32", "float64", "int64"] if value == 0 else ["float32"],
    )


def test_a_negative_border_cuts_off():
    x = facula.arange(6).reshape(2, 3)
    assert facula.constant_pad_nd(x, (1, -1), 7).tolist() == [[7, 0, 1], [7, 3, 4]]
    assert facula.constant_pad_nd(x, (-2, 0, -1, 0)).tolist() == [[5]]
    assert facula.constant_pad_nd(facula.empty(0, 3), (0, 0, 1, 0), 4.0).tolist() == [[4.0] * 3]
    with pytest.raises(RuntimeError, match="pad"):
        facula.constant_pad_nd(x, (1, 2, 3))
    with pytest.raises(RuntimeError, match="pad"):
        facula.constant_pad_nd(x, (-2, -2))
