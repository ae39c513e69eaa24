"""Embeddings and bags of them."""

import pytest

import facula
import facula.nn.functional as F
from check_op import check_threads
from facula import nn

TABLE = facula.tensor([[1.0, -2.0], [3.0, 4.0], [-5.0, 6.0], [7.0, 8.0]])


@pytest.mark.promise("N2")
@pytest.mark.parametrize("dtype", [facula.int32, facula.int64])
def test_embedding_looks_up_rows(dtype):
    y = F.embedding(facula.tensor([[1, 0], [3, 3]], dtype=dtype), TABLE)
    assert y.tolist() == [[[3.0, 4.0], [1.0, -2.0]], [[7.0, 8.0], [7.0, 8.0]]]


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, [1.0, 0.0, 1.0, 2.0]),
        ({"padding_idx": 3}, [1.0, 0.0, 1.0, 0.0]),
        ({"padding_idx": -2}, [1.0, 0.0, 0.0, 2.0]),
        ({"scale_grad_by_freq": True}, [1.0, 0.0, 1.0, 1.0]),
    ],
)
def test_rows_get_the_sum_of_their_gradients(options, expected):
    table = TABLE.clone().requires_grad_()
    F.embedding(facula.tensor([3, 0, 3, 2]), table, **options).sum().backward()
    assert table.grad[:, 0].tolist() == expected


@pytest.mark.promise("N2", "A8")
@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}, {"scale_grad_by_freq": True}])
def test_embedding_has_second_derivatives(options):
    table = facula.randn(4, 3, dtype=facula.float64, requires_grad=True)
    index = facula.tensor([[0, 1], [1, 3]])
    g = facula.randn(2, 2, 3, dtype=facula.float64, requires_grad=True)

    def gradient(g):
        (grad,) = facula.autograd.grad(
            F.embedding(index, table, **options), table, g, create_graph=True
        )
        return grad

    assert facula.autograd.gradcheck(gradient, [g])


@pytest.mark.promise("N2")
def test_max_norm_scales_the_rows_of_the_table_itself():
    table = facula.tensor([[3.0, 4.0], [30.0, 40.0], [0.3, 0.4]])
    F.embedding(facula.tensor([0, 2, 0]), table, max_norm=1.0)
    assert facula.allclose(table, facula.tensor([[0.6, 0.8], [30.0, 40.0], [0.3, 0.4]]))


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "mode, expected",
    [
        ("sum", [[4.0, 2.0], [0.0, 0.0], [2.0, 14.0]]),
        ("mean", [[2.0, 1.0], [0.0, 0.0], [1.0, 7.0]]),
        ("max", [[3.0, 4.0], [0.0, 0.0], [7.0, 8.0]]),
    ],
)
def test_bags_are_reduced_by_their_mode(mode, expected):
    index, offsets = facula.tensor([0, 1, 2, 3]), facula.tensor([0, 2, 2])
    assert F.embedding_bag(index, TABLE, offsets, mode=mode).tolist() == expected
    ends = facula.tensor([0, 2, 2, 4])
    y = F.embedding_bag(index, TABLE, ends, mode=mode, include_last_offset=True)
    assert y.tolist() == expected


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("size", [1, 15, 16, 64, 65, 137])
def test_bags_of_rows_of_any_length(dtype, size):
    facula.manual_seed(0)
    table = facula.randint(-9, 9, (20, size)).to(getattr(facula, dtype))
    words, offsets = facula.randint(20, (50,)), facula.tensor([0, 7, 7, 8])
    factors = facula.randint(1, 3, (50,)).to(table.dtype)
    for padding in (-1, 3):
        bags = [w[w != padding] for w in (words[:7], words[:0], words[7:8], words[8:])]
        options = {"padding_idx": None if padding < 0 else padding}
        for mode in ("sum", "mean", "max"):
            found = F.embedding_bag(words, table, offsets, mode=mode, **options)
            for bag, row in zip(bags, found, strict=True):
                rows = table[bag].double()
                if bag.numel() == 0:
                    assert (row == 0).all()
                elif mode == "max":
                    assert facula.equal(row.double(), rows.amax(0))
                else:
                    facula.testing.assert_close(row, getattr(rows, mode)(0).to(table.dtype))
        found = F.embedding_bag(
            words, table, offsets, mode="sum", per_sample_weights=factors, **options
        )
        scaled = table[words] * factors[:, None]
        for begin, end, row in zip((0, 7, 7, 8), (7, 7, 8, 50), found, strict=True):
            kept = scaled[begin:end][words[begin:end] != padding]
            facula.testing.assert_close(row, kept.double().sum(0).to(table.dtype))


@pytest.mark.promise("N2")
def test_bags_leave_padding_out_and_weigh_samples():
    index = facula.tensor([[0, 1], [1, 3]])
    assert F.embedding_bag(index, TABLE, padding_idx=1).tolist() == [[1.0, -2.0], [7.0, 8.0]]
    weights = facula.tensor([[2.0, 1.0], [0.0, 0.5]])
    y = F.embedding_bag(index, TABLE, mode="sum", per_sample_weights=weights)
    assert y.tolist() == [[5.0, 0.0], [3.5, 4.0]]


@pytest.mark.promise("N2", "A8")
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding_idx", [None, 2])
def test_bags_have_first_and_second_derivatives(mode, padding_idx):
    table = facula.randn(5, 3, dtype=facula.float64, requires_grad=True)
    weights = facula.rand(6, dtype=facula.float64, requires_grad=True)
    index, offsets = facula.tensor([0, 2, 2, 4, 1, 0]), facula.tensor([0, 1, 4])

    def bags(table, weights):
        per_sample = weights if mode == "sum" else None
        return F.embedding_bag(
            index, table, offsets, mode=mode, per_sample_weights=per_sample, padding_idx=padding_idx
        )

    inputs = (table, weights) if mode == "sum" else (table, weights.detach())
    assert facula.autograd.gradcheck(bags, inputs)
    assert facula.autograd.gradgradcheck(bags, inputs)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16])
def test_sums_of_16_bit_rows_are_rounded_once(dtype):
    table = facula.full((2, 1), 0.1, dtype=dtype).requires_grad_()
    index = facula.zeros(1, 1000, dtype=facula.int64)
    y = F.embedding_bag(index, table, mode="sum")
    exact = 1000 * table[0, 0].item()
    assert y.item() == facula.tensor(exact, dtype=dtype).item()
    F.embedding(index, table).sum().backward()
    assert table.grad.flatten().tolist() == [1000.0, 0.0]


@pytest.mark.promise("T10")
def test_bits_do_not_depend_on_threads():
    table, index = facula.randn(3000, 70), facula.randint(0, 3000, (4, 2000))

    def gradient(op):
        leaf = table.detach().requires_grad_()
        y = op(index, leaf)
        (grad,) = facula.autograd.grad(y, leaf, y.detach().cos())
        return facula.cat([y.detach().flatten(), grad.flatten()])

    check_threads(
        lambda: gradient(F.embedding),
        lambda: gradient(F.embedding_bag),
        lambda: gradient(lambda i, w: F.embedding_bag(i, w, mode="max")),
    )


@pytest.mark.promise("N2", "T9")
def test_layers_start_as_pytorchs_with_padding_at_zero():
    facula.manual_seed(0)
    layer = nn.Embedding(4, 2, padding_idx=1)
    expected = [[1.5410, -0.2934], [0.0, 0.0], [-1.0845, -1.3986], [0.4033, 0.8380]]
    assert facula.allclose(layer.weight, facula.tensor(expected), atol=1e-4)
    assert repr(layer) == "Embedding(4, 2, padding_idx=1)"
    bag = nn.EmbeddingBag(5, 3, max_norm=1.0, mode="sum", padding_idx=1)
    assert repr(bag) == "EmbeddingBag(5, 3, max_norm=1.0, mode='sum', padding_idx=1)"


@pytest.mark.promise("N2")
def test_pretrained_tables_are_frozen_unless_asked():
    assert not nn.Embedding.from_pretrained(TABLE).weight.requires_grad
    assert nn.EmbeddingBag.from_pretrained(TABLE, freeze=False).weight.requires_grad


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda: F.embedding(facula.tensor([[0, 1], [4, 0]]), TABLE),
            IndexError,
            r"embedding: index 4 at position \(1, 0\) is out of range for a table of 4 rows",
        ),
        (
            lambda: F.embedding(facula.tensor([0, -1]), TABLE),
            IndexError,
            r"embedding: index -1 at position \(1,\) is out of range for a table of 4 rows",
        ),
        (
            lambda: F.embedding_bag(facula.tensor([[0, 9]]), TABLE),
            RuntimeError,
            r"embedding_bag: index 9 at position \(1,\) is out of range",
        ),
        (lambda: F.embedding(TABLE, TABLE), RuntimeError, "expected indices of dtype int64 or"),
        (lambda: F.embedding(facula.tensor([0]), TABLE, 7), AssertionError, "padding_idx from -4"),
        (
            lambda: F.embedding_bag(facula.tensor([0, 1]), TABLE, facula.tensor([1])),
            RuntimeError,
            r"embedding_bag: expected offsets\[0\] to be 0, got 1",
        ),
        (
            lambda: F.embedding_bag(facula.tensor([0, 1]), TABLE, facula.tensor([0, 2, 1])),
            RuntimeError,
            r"embedding_bag: expected offsets that increase up to 2",
        ),
        (lambda: F.embedding_bag(facula.tensor([0]), TABLE), ValueError, "vector of indices needs"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), AssertionError, "expected padding_idx from"),
        (lambda: nn.Embedding.from_pretrained(facula.ones(2)), AssertionError, "of two dimensions"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "mode, expected, factors",
    [
        ("sum", [4.0, 2.0], [1.0, 1.0, 0.0, 0.0]),
        ("mean", [2.0, 1.0], [0.5, 0.5, 0.0, 0.0]),
        ("max", [3.0, 4.0], [0.0, 1.0, 0.0, 0.0]),
    ],
)
def test_the_last_bag_ends_at_the_last_offset(mode, expected, factors):
    table = TABLE.clone().requires_grad_()
    ends = facula.tensor([0, 2])
    y = F.embedding_bag(facula.arange(4), table, ends, mode=mode, include_last_offset=True)
    assert y.tolist() == [expected]
    y.sum().backward()
    assert table.grad[:, 1].tolist() == factors


def test_rows_of_bags_need_no_last_offset():
    bags = facula.tensor([[0, 1], [2, 3]])
    y = F.embedding_bag(bags, TABLE, mode="sum", include_last_offset=True)
    assert y.tolist() == F.embedding_bag(bags, TABLE, mode="sum").tolist()


@pytest.mark.promise("N2")
@pytest.mark.parametrize("ends", [[0, 5], [0, -1], [0, 2, 1], [1]])
def test_a_last_offset_outside_the_indices_is_refused(ends):
    with pytest.raises(RuntimeError, match=r"embedding_bag: .*offset"):
        F.embedding_bag(facula.arange(4), TABLE, facula.tensor(ends), include_last_offset=True)
