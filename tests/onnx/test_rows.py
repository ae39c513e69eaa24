"""Every translated operation: what onnxruntime computes is what we compute."""

import copy
import warnings

import pytest

import facula
import facula.nn.functional as F
import facula.onnx
from facula import nn
from facula.jit import TracerWarning
from facula.onnx import _rows
from facula.utils._pytree import tree_leaves

facula.manual_seed(0)
X = facula.randn(2, 3, 4)
Y = facula.randn(2, 3, 4)
M = facula.rand(2, 4, 4)
POSITIVE = facula.rand(2, 3, 4) + 0.1
INSIDE = facula.rand(2, 3, 4) * 1.8 - 0.9
IMAGE = facula.randn(2, 4, 6, 6)
LINE = facula.randn(2, 4, 9)
VOLUME = facula.randn(2, 2, 4, 4, 4)
N = facula.tensor([[3, -7, 5], [2, 8, -4]])
K = facula.tensor([[2, 3, -3], [5, -2, 3]])
B = facula.tensor([[True, False, True], [False, False, True]])
C = facula.tensor([[True, True, False], [False, True, True]])
PLACES = facula.tensor([[0, 2, 1], [1, 1, 0]])


def written(function):
    """A program that writes to a copy of its input."""

    def program(x, *more):
        copy = x.clone()
        function(copy, *more)
        return copy

    return program


def set_item(index, value):
    def program(x):
        x = x.clone()
        x[index] = value
        return x

    return program


def write_to_view(x):
    x = x.clone()
    before = x[0]
    x[:, 1:].mul_(2)
    before.add_(1)
    x.transpose(0, 1)[0, 0].zero_()
    return x, before


def write_to_piece(x):
    x = x.clone()
    first, second = x.chunk(2, -1)
    first.copy_(second)
    return x.exp()


def result_is_put_into_out(x):
    out = facula.zeros(2, 3, 4)
    facula.exp(x, out=out)
    return out + 1


def operators_in_place(x):
    x &= 6
    x |= 1
    x ^= 2
    x += 1
    x **= 2


UNARY = [
    "abs", "asinh", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor",
    "frac", "isfinite", "isinf", "isnan", "logical_not", "neg", "positive", "reciprocal", "relu",
    "round", "sigmoid", "sign", "sin", "sinh", "square", "tan", "tanh", "trunc",
]  # fmt: skip
MODULES = [
    nn.CELU(1.5), nn.ELU(0.7), nn.GELU(), nn.GELU("tanh"), nn.Hardshrink(0.3), nn.Hardsigmoid(),
    nn.Hardswish(), nn.Hardtanh(-0.5, 0.7), nn.LeakyReLU(0.2), nn.LogSigmoid(), nn.Mish(),
    nn.PReLU(3), nn.PReLU(), nn.ReLU(), nn.ReLU(True), nn.ReLU6(), nn.RReLU(), nn.SELU(),
    nn.SiLU(), nn.Softmax(-1), nn.LogSoftmax(1), nn.Softmin(1), nn.Softplus(2.0, 1.0),
    nn.Softshrink(), nn.Softsign(), nn.Tanh(), nn.Tanhshrink(), nn.Threshold(0.1, 7.0), nn.GLU(-1),
    nn.Dropout(), nn.Identity(), nn.Flatten(), nn.Linear(4, 5), nn.Linear(4, 5, bias=False),
    nn.LayerNorm(4), nn.LayerNorm((3, 4), elementwise_affine=False), nn.RMSNorm(4),
    nn.BatchNorm1d(3), nn.InstanceNorm1d(3, affine=True), nn.GroupNorm(3, 3),
    nn.Unflatten(2, (2, 2)),
]  # fmt: skip
SPATIAL = [
    (nn.Conv1d(4, 3, 3, 2, 1), LINE), (nn.Conv2d(4, 6, 3, padding="same", groups=2), IMAGE),
    (nn.Conv2d(4, 6, (3, 2), (1, 2), (1, 0), dilation=2, bias=False), IMAGE),
    (nn.Conv2d(4, 2, 3, padding=1, padding_mode="reflect"), IMAGE),
    (nn.Conv3d(2, 3, 2), VOLUME), (nn.ConvTranspose1d(4, 2, 3, 2), LINE),
    (nn.ConvTranspose2d(4, 2, 3, 2, 1, 1, groups=2), IMAGE), (nn.ConvTranspose3d(2, 1, 2), VOLUME),
    (nn.MaxPool1d(3, 2), LINE), (nn.MaxPool2d(3, 2, 1, ceil_mode=True), IMAGE),
    (nn.MaxPool2d(2, 1, dilation=2), IMAGE), (nn.MaxPool3d(2), VOLUME), (nn.AvgPool1d(3, 2), LINE),
    (nn.AvgPool2d(3, 2, 1), IMAGE), (nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    (nn.AvgPool2d(2, divisor_override=3), IMAGE), (nn.AvgPool3d(2), VOLUME),
    (nn.AdaptiveAvgPool1d(4), LINE), (nn.AdaptiveAvgPool2d(1), IMAGE),
    (nn.AdaptiveAvgPool2d((4, 5)), IMAGE), (nn.AdaptiveAvgPool3d(2), VOLUME),
    (nn.AdaptiveMaxPool3d(2), VOLUME),
    (nn.AdaptiveMaxPool2d(3), IMAGE), (nn.AdaptiveMaxPool1d(1), LINE), (nn.BatchNorm2d(4), IMAGE),
    (nn.GroupNorm(2, 4), IMAGE), (nn.InstanceNorm2d(4), IMAGE), (nn.PixelShuffle(2), IMAGE),
    (nn.PixelUnshuffle(2), IMAGE), (nn.ChannelShuffle(2), IMAGE),
    (nn.ZeroPad2d((1, 2, 0, 1)), IMAGE), (nn.ReflectionPad2d(2), IMAGE),
    (nn.ReplicationPad2d(1), IMAGE),
    (nn.CircularPad2d(1), IMAGE), (nn.ConstantPad1d(2, 3.5), LINE),
    (nn.Upsample(scale_factor=2), IMAGE),
    (nn.Upsample(size=(9, 4), mode="bilinear"), IMAGE), (nn.LocalResponseNorm(2), IMAGE),
    (nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), IMAGE),
    (nn.Upsample(scale_factor=2, mode="bicubic"), IMAGE), (nn.Softmax2d(), IMAGE),
    (nn.Upsample(scale_factor=1.4, mode="bilinear"), IMAGE),
    (nn.Upsample(size=9, mode="nearest-exact"), IMAGE), (nn.Upsample(size=5, mode="linear"), LINE),
    (nn.Dropout2d(), IMAGE), (nn.BatchNorm3d(2), VOLUME), (nn.BatchNorm2d(4, affine=False), IMAGE),
]  # fmt: skip

# Programs of tensors, and their inputs. The first dimension of the inputs may be dynamic.
PROGRAMS = {
    **{name: (getattr(facula, name), (X,)) for name in UNARY},
    **{name: (getattr(facula, name), (INSIDE,)) for name in ["acos", "asin", "atanh"]},
    **{
        name: (getattr(facula, name), (POSITIVE,))
        for name in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt"]
    },
    "acosh": (facula.acosh, (POSITIVE + 1,)),
    **{f"{m} {i}": (m.eval(), (X,)) for i, m in enumerate(MODULES)},
    **{f"{m} {i}": (m.eval(), (x,)) for i, (m, x) in enumerate(SPATIAL)},
    "add": (lambda x, y: x + y, (X, Y)),
    "add with alpha": (lambda x, y: facula.add(x, y, alpha=2), (X, Y)),
    "add of bools": (lambda a, b: a + b, (B, C)),
    "ints and floats": (lambda n, x: n + x, (N, X[:, :, 0])),
    "ints and a float": (lambda n: n * 1.5, (N,)),
    "bools and ints": (lambda b, n: b * n, (B, N)),
    "sub": (lambda x, y: 2 - x - y, (X, Y)),
    "mul": (lambda x, y: 2 * x * y, (X, Y)),
    "div": (lambda x, y: 1 / x / y / 3, (X, Y)),
    "div of ints": (lambda n: n / 2, (N,)),
    "floor_divide": (lambda n, k: (n // k, k // 2), (N, K)),
    "floor_divide of floats": (lambda x: x // 0.3, (X,)),
    "div towards zero": (lambda n, k: facula.div(n, k, rounding_mode="trunc"), (N, K)),
    "remainder": (lambda n, k: (n % k, n % 3), (N, K)),
    "remainder of floats": (lambda x: x % 0.7, (X,)),
    "fmod": (lambda n, k: facula.fmod(n, k), (N, K)),
    "pow": (lambda x: (x**2, x**3, 2**x), (X,)),
    "pow of tensors": (lambda x, y: x**y, (POSITIVE, Y)),
    "maximum": (lambda x, y: (facula.maximum(x, y), facula.minimum(x, y)), (X, Y)),
    "maximum of ints": (facula.maximum, (N, K)),
    "atan2": (facula.atan2, (X, Y)),
    "lerp": (lambda x, y: x.lerp(y, 0.3), (X, Y)),
    "addcmul": (lambda x, y: facula.addcmul(x, x, y, value=0.5), (X, Y)),
    "addcdiv": (lambda x, y: facula.addcdiv(x, x, y, value=0.5), (X, POSITIVE)),
    "comparisons": (lambda n, k: (n == k, n != 3, n < k, n <= 2, n > k, n >= k), (N, K)),
    "comparison of ints and a float": (lambda n: n > 2.5, (N,)),
    "comparisons of bools": (lambda a, b: (a == b, a > b, a != b), (B, C)),
    "logic": (lambda a, b: (a & b, a | b, a ^ b, ~a, facula.logical_and(a, b)), (B, C)),
    "bits": (lambda n, k: (n & k, n | k, n ^ k, ~n), (N, K)),
    "operators of numbers and tensors": (
        lambda n, k: (7 // k, 7 % k, 6 & n, 6 | n, 6 ^ n, facula.logical_or(n, k)),
        (N, K),
    ),
    "operators in place": (written(operators_in_place), (N,)),
    "where": (lambda b, n: facula.where(b, n, -1), (B, N)),
    "where method": (lambda n, b: n.where(b, facula.zeros_like(n)), (N, B)),
    "masked_fill": (lambda n, b: n.masked_fill(b, 9), (N, B)),
    "clamp": (lambda x: (x.clamp(-0.5, 0.5), x.clamp(min=0), x.clamp_max(0.2)), (X,)),
    "clamp of ints": (lambda n: n.clamp(-3, 4), (N,)),
    "clamp by tensors": (lambda x, y: x.clamp(max=y), (X, Y)),
    "nan_to_num": (lambda x: facula.nan_to_num(x / 0, 1.0, 2.0), (X - X[:1],)),
    "dtypes": (lambda x: (x.long(), x.half(), x.double(), x.bool(), x.to(facula.int32)), (X * 3,)),
    "type_as": (lambda n, x: n.type_as(x), (N, X)),
    "sum": (lambda x: (x.sum(), x.sum(1), x.sum((0, 2), keepdim=True)), (X,)),
    "sum of ints and bools": (lambda n, b: (n.sum(1), b.sum(1)), (N, B)),
    "mean": (lambda x: (x.mean(), x.mean(-1), x.mean((1, 2), True)), (X,)),
    "prod": (lambda x: (x.prod(), x.prod(1)), (X,)),
    "amax": (lambda x: (x.amax(1), x.amin((0, 1)), x.amax()), (X,)),
    "max": (lambda x, y: (x.max(), *x.max(1), facula.max(x, y)), (X, Y)),
    "min": (lambda n: (n.min(), *n.min(-1, keepdim=True)), (N,)),
    "argmax": (lambda x: (x.argmax(1), x.argmin(-1, True)), (X,)),
    "argmax of all": (lambda x: x.argmax(), (X,)),
    "all and any": (lambda b: (b.all(), b.any(1), b.all(0)), (B,)),
    "all of ints": (lambda n: n.all(1), (N,)),
    "logsumexp": (lambda x: x.logsumexp(-1), (X,)),
    "var": (lambda x: (x.var(), x.var(1), x.var(-1, unbiased=False, keepdim=True)), (X,)),
    "std": (lambda x: (x.std(1), x.std((0, 1), correction=0)), (X,)),
    "var_mean": (lambda x: facula.var_mean(x, dim=1), (X,)),
    "norm": (lambda x: (x.norm(), x.norm(dim=1), x.norm(1, 2), x.norm(3, 1)), (X,)),
    "norms of other orders": (lambda x: (x.norm(float("inf"), 1), x.norm(0, 1)), (X,)),
    "normalize": (lambda x: F.normalize(x, dim=1), (X,)),
    "cosine_similarity": (F.cosine_similarity, (X, Y)),
    "cumsum": (lambda x, n: (x.cumsum(1), n.cumsum(-1)), (X, N)),
    "cumprod": (
        lambda x, n: (x.cumprod(1), n.cumprod(-1), x.cumprod(0), x[0, 0, 0].cumprod(0)),
        (X, N),
    ),
    "topk": (lambda x: x.topk(2, 1), (X,)),
    "sort": (lambda x: (*x.sort(1), x.argsort(-1, descending=True)), (X,)),
    "full": (lambda x: (facula.full(x.shape[:1], 2), x.new_ones(x.shape[0], 1)), (X,)),
    "zeros": (lambda x: facula.zeros(x.shape[0], 2, dtype=facula.int64), (X,)),
    "vector_norm": (lambda x: facula.linalg.vector_norm(x, 2, -1), (X,)),
    "functions of modules": (lambda x: (F.dropout(x, 0.5, False), F.relu6(x)), (X,)),
    "logical_xor": (facula.logical_xor, (B, C)),
    "new tensors": (
        lambda x: (
            x.new_zeros(x.shape[0], 2),
            facula.ones(x.shape[0]),
            x.new_full((x.shape[0],), 3),
        ),
        (X,),
    ),
    "like tensors": (
        lambda x: (facula.zeros_like(x), facula.ones_like(x), facula.full_like(x, 2)),
        (X,),
    ),
    "arange": (lambda x: (facula.arange(x.shape[0]), facula.arange(1, x.shape[0] + 3, 2)), (X,)),
    "arange of floats": (lambda x: facula.arange(x.shape[0], dtype=facula.float32), (X,)),
    "eye": (lambda x: facula.eye(x.shape[0]), (X,)),
    "tensor of sizes": (lambda x: facula.tensor([x.shape[0], 3]), (X,)),
    "linspace is constant": (lambda x: x * facula.linspace(0, 1, 4), (X,)),
    "sizes": (lambda x: x.reshape(x.size(0) * 3, -1) * x.numel() / len(x.shape), (X,)),
    "quotients of sizes": (lambda x: x.expand(-(-x.shape[0] // 2) * 0 + x.shape[0], 3, 4), (X,)),
    "reshape": (lambda x: (x.reshape(-1, 4), x.view(x.shape[0], 12), x.reshape((-1,))), (X,)),
    "view_as": (lambda x, y: x.flatten(1).view_as(y), (X, Y)),
    "flatten": (lambda x: (x.flatten(), x.flatten(1), x.flatten(0, 1)), (X,)),
    "unflatten": (lambda x: x.unflatten(-1, (2, 2)), (X,)),
    "squeeze": (lambda x: (x[:, :1].squeeze(1), x[:, :1].squeeze(-1)), (X,)),
    "unsqueeze": (lambda x: (x.unsqueeze(0), x.unsqueeze(-1)), (X,)),
    "expand": (lambda x: (x[:, :1].expand(-1, 5, -1), x[:, :1].expand_as(x)), (X,)),
    "repeat": (lambda x: (x.repeat(1, 2, 1), x.repeat(2, 1, 1, 1), facula.tile(x, (2,))), (X,)),
    "repeat_interleave": (lambda x: (x.repeat_interleave(2, 1), x.repeat_interleave(3)), (X,)),
    "permute": (lambda x: (x.permute(2, 0, 1), x.transpose(1, 2), x.mT, x.movedim(0, -1)), (X,)),
    "t": (lambda n: (n.t(), n.T), (N,)),
    "cat": (lambda x, y: (facula.cat([x, y], 1), facula.cat([x, y], -1)), (X, Y)),
    "cat of dtypes": (lambda n, x: facula.cat([n, x[:, :, 0]], 1), (N, X)),
    "stack": (lambda x, y: (facula.stack([x, y]), facula.stack([x, y], -1)), (X, Y)),
    "chunk": (lambda x: (*x.chunk(2, 1), *x.chunk(3, -1)), (X,)),
    "split": (lambda x: (*x.split(2, 1), *x.split([1, 3], -1)), (X,)),
    "unbind": (lambda x: x.unbind(1), (X,)),
    "flip": (lambda x: x.flip(1, 2), (X,)),
    "cross": (lambda x, y: facula.cross(x, y.flip(1), 1), (X, Y)),
    "roll": (lambda x: (x.roll(1, 1), x.roll((1, -2), (1, 2)), x.roll(5)), (X,)),
    "tril": (lambda m: (m.tril(), m.triu(1), (m > 0.5).tril(-1)), (M,)),
    "diagonal": (lambda m: (m.diagonal(0, 1, 2), m.diagonal(1, 1, 2)), (M,)),
    "meshgrid": (lambda x: facula.meshgrid(x[:, 0, 0], x[0, 0], indexing="ij"), (X,)),
    "item of a slice": (lambda x: (x[0], x[-1], x[:, 1], x[..., -1], x[:, 1:3, ::2]), (X,)),
    "slices": (
        lambda x: (x[:, -2:], x[..., :-1], x[:, None], x[1:, None, 2], x[None, ..., None]),
        (X,),
    ),
    "slices with sizes": (lambda x: x[: x.shape[0] - 1, : x.shape[1] - 1], (X,)),
    "one index tensor": (lambda x, i: (x[:, i], x[..., i[0]], x[:, 0, i]), (X, PLACES)),
    "several index tensors": (
        lambda x, i: (x[i[:, 0], i[:, 1]], x[:, i, i], x[i, :, i]),
        (X, PLACES % 2),
    ),
    "numbers and index tensors": (lambda x, i: (x[0, :, i], x[:, 1, i]), (X, PLACES)),
    "a mask": (lambda n, b: (n[b], n[:, b[0]], n.masked_select(b)), (N, B)),
    "select": (lambda x: (x.select(1, 2), x.narrow(1, 1, 2)), (X,)),
    "index_select": (lambda x: x.index_select(1, facula.tensor([2, 0])), (X,)),
    "gather": (lambda n, i: n.gather(1, i), (N, PLACES)),
    "take_along_dim": (lambda n, i: facula.take_along_dim(n, i, 1), (N, PLACES)),
    "take": (lambda n, i: n.take(i), (N, PLACES)),
    "scatter": (
        lambda n, i, k: (n.scatter(1, i[:, :1], k), n.scatter(1, i[:, :2], 7)),
        (N, PLACES, K),
    ),
    "scatter_add": (lambda n, i, k: n.scatter_add(1, i, k), (N, PLACES, K)),
    "scatter_reduce": (lambda n, i, k: n.scatter_reduce(1, i, k, "amax"), (N, PLACES, K)),
    "index_add": (lambda x: x.index_add(1, facula.tensor([2, 0, 2]), x), (X,)),
    "index_put": (
        lambda x: x.index_put((facula.tensor([0, 1]), facula.tensor([2, 0])), x[0, 0]),
        (X,),
    ),
    "index_copy": (
        lambda x: (
            x.index_copy(0, facula.tensor([1, 0]), x[:2]),
            x.index_copy(1, facula.tensor([2, 0]), x[:, :2]),
        ),
        (X,),
    ),
    "one_hot": (lambda i: F.one_hot(i, 4), (PLACES,)),
    "nonzero": (lambda b: (b.nonzero(), *b.nonzero(as_tuple=True)), (B,)),
    "bucketize": (lambda x: facula.bucketize(x, facula.tensor([-1.0, 0.0, 0.5])), (X,)),
    "unfold": (lambda x: x.unfold(2, 2, 1), (X,)),
    "embedding": (lambda i: F.embedding(i, facula.arange(6.0).view(3, 2)), (PLACES,)),
    "matmul": (lambda x, y: (x @ y.mT, x[0] @ y[0].T, x.bmm(y.mT), x[:, 0] @ y[0, 0]), (X, Y)),
    "addmm": (lambda x, y: facula.addmm(x[:, 0, :3], x[:, 1], y[0].T, beta=2, alpha=0.5), (X, Y)),
    "baddbmm": (lambda x, y: facula.baddbmm(x @ y.mT, x, y.mT, beta=0.5), (X, Y)),
    "outer": (lambda x: facula.outer(x[:, 0, 0], x[0, 0]), (X,)),
    "einsum": (lambda x, y: facula.einsum("bij,bkj->bik", x, y), (X, Y)),
    "softmax to another dtype": (lambda n: F.softmax(n, 1, dtype=facula.float32), (N,)),
    "attention": (F.scaled_dot_product_attention, (X, X + 1, Y)),
    "causal attention": (
        lambda x, y: F.scaled_dot_product_attention(x, y, y, is_causal=True),
        (X, Y),
    ),
    "attention with a mask": (
        lambda x, m: F.scaled_dot_product_attention(x, x, x, m[:, :3, :3] > 0.3),
        (X, M),
    ),
    "attention with a bias": (
        lambda x, m: F.scaled_dot_product_attention(x, x, x, m[:, :3, :3], scale=0.3),
        (X, M),
    ),
    "attention of groups": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
        (facula.randn(2, 4, 3, 5), facula.randn(2, 2, 3, 5)),
    ),
    "losses": (lambda x, y: (F.mse_loss(x, y), F.l1_loss(x, y, reduction="none")), (X, Y)),
    "cross_entropy": (lambda x, i: F.cross_entropy(x.mT[:, :3], i[:, :3]), (X, PLACES)),
    "multi_margin_loss": (lambda x, i: F.multi_margin_loss(x, i[:, 0]), (X[:, :, 0], PLACES)),
    "cdist": (lambda x, y: facula.cdist(x, y, 1.0), (X, Y)),
    "nll_loss": (lambda x, i: F.nll_loss(x.log_softmax(1), i[:, 0]), (X[:, :, 0], PLACES)),
    "grid_sample": (
        lambda x, grid: F.grid_sample(x, grid, align_corners=False),
        (IMAGE, facula.rand(2, 5, 5, 2) * 2 - 1),
    ),
    "in place": (written(lambda x: x.add_(1).mul_(2).clamp_(min=0).exp_()), (X,)),
    "fill": (written(lambda x: x[:, 0].fill_(3)), (X,)),
    "set a row": (set_item((slice(None), 1), 5.0), (X,)),
    "set every other": (set_item((Ellipsis, slice(None, None, 2)), 1.0), (X,)),
    "set with a mask": (lambda x: set_item(x > 0, 0.0)(x), (X,)),
    "set with index tensors": (
        set_item((facula.tensor([0, 1]), facula.tensor([2, 0])), -1.0),
        (X,),
    ),
    "set with a tensor": (lambda x: set_item((slice(None), 2), x[:, 0])(x), (X,)),
    "set in a constant": (
        lambda x: written(lambda c: c[:, 1].copy_(x[0, 0, :2]))(facula.zeros(2, 3)),
        (X,),
    ),
    "writes to views": (write_to_view, (X,)),
    "writes to pieces": (write_to_piece, (X,)),
    "out": (result_is_put_into_out, (X[:2],)),
}
# How many elements these find depends on values.
COUNTED = {"a mask", "nonzero"}
# For these, another first dimension is another program, or the first dimension is not a batch.
FIXED = {"out", "PReLU(num_parameters=3) 11"}


def check(function, inputs, others=(), rtol=1e-4, atol=1e-5, **options):
    """Export, and compare with onnxruntime for the example, and for other inputs."""
    program = facula.onnx.export(function, inputs, **options)
    for given in (inputs, *others):
        with facula.no_grad():
            expected = tree_leaves(function(*given))
        for got, want in zip(program(*given), expected, strict=True):
            facula.testing.assert_close(got, want.detach(), rtol=rtol, atol=atol, equal_nan=True)
    return program


# onnxruntime adds no numbers of half precision where several meet.
SINGLE = {"index_add"}
FLOATING = [n for n, (_, xs) in PROGRAMS.items() if any(x.is_floating_point() for x in xs)]
# What test_models.py and test_export.py have.
ELSEWHERE = ["dropout", "gru", "gru_cell", "lstm", "lstm_cell", "nms", "rand", "rand_like", "randn"]
ELSEWHERE += ["randn_like", "rnn_relu", "rnn_tanh", "roi_align", "size_from"]


@pytest.mark.parametrize("name", COUNTED)
def test_results_that_values_decide_the_size_of_are_dynamic(name):
    function, inputs = PROGRAMS[name]
    check(function, inputs, [tuple(x.flip(0) for x in inputs)])
    check(lambda n, b: n[b].reshape(1, -1) * 2, (N, B), [(N, ~B), (N, B & ~B)])
    check(lambda b: facula.ones(min(b.nonzero().shape[0], 3), 2), (B & ~B,), [(B,), (~B,)])


def test_a_number_that_is_cut_for_the_example_is_told_of():
    with pytest.warns(TracerWarning, match="was cut to a smaller one"):
        facula.onnx.export(lambda b: facula.ones(min(b.nonzero().shape[0], 1)), (B,))


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_the_same_in_onnxruntime(name):
    check(*PROGRAMS[name])


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in FIXED])
def test_program_gives_the_same_for_another_batch(name):
    function, inputs = PROGRAMS[name]
    axes = tuple({0: "batch"} for _ in inputs)
    larger = tuple(facula.cat([x, x.flip(0), x]) for x in inputs)
    check(function, inputs, [larger], dynamic_shapes=axes)


@pytest.mark.parametrize("name", [name for name in FLOATING if name not in SINGLE])
def test_program_gives_the_same_in_half_precision(name):
    function, inputs = PROGRAMS[name]
    if isinstance(function, nn.Module):
        function = copy.deepcopy(function).half()
    halves = tuple(x.half() if x.is_floating_point() else x for x in inputs)
    check(function, halves, rtol=2e-2, atol=2e-2)


def test_every_row_is_run_by_a_program(monkeypatch):
    used = set()

    def noting(row):
        def translate(*args, **kwargs):
            used.add(row)
            return row(*args, **kwargs)

        return translate

    rows = dict(_rows.ROWS)
    for name, row in rows.items():
        monkeypatch.setitem(_rows.ROWS, name, noting(row))
    for name, (function, inputs) in PROGRAMS.items():
        axes = None if name in FIXED else tuple({0: "batch"} for _ in inputs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TracerWarning)
            facula.onnx.export(function, inputs, dynamic_shapes=axes)
    assert sorted(name for name, row in rows.items() if row not in used) == ELSEWHERE
