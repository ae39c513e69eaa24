import pytest

import facula


@pytest.mark.parametrize(
    "numpys, ours",
    [
        (lambda x: x.sum(axis=1), lambda x: x.sum(dim=1)),
        (lambda x: x.mean(axis=0, keepdims=True), lambda x: x.mean(dim=0, keepdim=True)),
        (lambda x: facula.cat([x, x], axis=1), lambda x: facula.cat([x, x], dim=1)),
        (lambda x: facula.amax(x, axis=(0, 1)), lambda x: facula.amax(x, dim=(0, 1))),
        (lambda x: facula.stack((x, x), axis=-1), lambda x: facula.stack((x, x), dim=-1)),
    ],
)
def test_axis_and_keepdims_mean_dim_and_keepdim(numpys, ours):
    x = facula.rand(2, 3)
    assert facula.equal(numpys(x), ours(x))


def test_both_names_at_once_are_refused():
    with pytest.raises(TypeError):
        facula.ones(2, 3).sum(axis=1, dim=0)


def test_a_function_without_dim_has_no_axis():
    with pytest.raises(TypeError):
        facula.relu(facula.ones(2), axis=0)
