"""What the calls of the sweep are given: tensors by name, in every size, layout and dtype.

A call names its arguments: ``torch.add(x, y)``. ``fill`` makes those that it names, with PyTorch
or with Facula, from the same seeds.
"""

import functools
import math
import zlib

SIZES = {"8": 1 << 3, "1k": 1 << 10, "64k": 1 << 16, "1M": 1 << 20}
LAYOUTS = ("contiguous", "transposed", "strided")
DTYPES = (
    "float32",
    "float64",
    "bfloat16",
    "float16",
    "int64",
    "int32",
    "uint8",
    "bool",
    "complex64",
)


class Inputs:
    """The arguments of one combination, each a method with its name."""

    def __init__(self, torch, size, layout, dtype):
        self.torch, self.size, self.layout = torch, size, layout
        self.dtype_ = getattr(torch, dtype)
        # 2 x 4, 32 x 32, 256 x 256, 1024 x 1024
        self.rows = 1 << (int(math.log2(SIZES[size])) // 2)
        self.cols = SIZES[size] // self.rows

    def seed(self, name):
        self.torch.manual_seed(zlib.crc32(name.encode()))

    def numbers(self, name, *shape, low=-3.0, high=3.0, kind=None):
        """Numbers between the two: of the dtype that is swept, and laid out as is swept."""
        self.seed(name)
        dtype = kind or self.dtype_
        if dtype == self.torch.bool:
            return self.laid_out(self.torch.rand(shape) < 0.5)
        if dtype.is_complex:
            return self.laid_out(self.torch.randn(*shape, dtype=dtype))
        if not dtype.is_floating_point:
            # Divisors are not 0, and shifts are short.
            bounds = (1, 8) if name != "x" else (0, 100)
            return self.laid_out(self.torch.randint(*bounds, shape, dtype=dtype))
        unit = self.torch.rand(shape, dtype=self.torch.float64 if dtype.itemsize == 8 else None)
        return self.laid_out((unit * (high - low) + low).to(dtype))

    def laid_out(self, x):
        if x.dim() < 2 or self.layout == "contiguous":
            return self.every_other(x) if self.layout == "strided" and x.dim() else x
        if self.layout == "strided":
            return self.every_other(x)
        # Matrices by columns, and images with their channels last.
        order = (1, 0) if x.dim() == 2 else (0, *range(2, x.dim()), 1)
        back = [order.index(dim) for dim in range(x.dim())]
        return x.permute(order).contiguous().permute(back)

    def every_other(self, x):
        wide = self.torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]

    def indices(self, name, high, *shape):
        self.seed(name)
        return self.torch.randint(high, shape)

    # Elements: matrices of the size that is swept, and what goes with them.

    def n(self):
        return SIZES[self.size]

    def shape(self):
        return (self.rows, self.cols)

    def dtype(self):
        return self.dtype_

    def x(self):
        return self.numbers("x", self.rows, self.cols)

    def y(self):
        return self.numbers("y", self.rows, self.cols)

    def z(self):
        return self.numbers("z", self.rows, self.cols, low=0.5)

    def p(self):
        return self.numbers("p", self.rows, self.cols, low=0.05, high=0.95)

    def q(self):
        return self.numbers("q", self.rows, self.cols, low=0.05, high=0.95)

    def above_1(self):
        return self.numbers("above_1", self.rows, self.cols, low=1.0, high=4.0)

    def logs(self):
        return self.numbers("logs", self.rows, self.cols, low=-6.0, high=-0.1)

    def signs(self):
        return self.numbers("signs", self.rows, self.cols).sign()

    def w(self):
        """Is overwritten by each call."""
        return self.numbers("w", self.rows, self.cols)

    def row(self):
        return self.numbers("row", self.cols, low=0.1)

    def column(self):
        return self.numbers("column", self.rows, 1)

    def column_signs(self):
        return self.numbers("column_signs", self.rows, 1).sign().flatten()

    def vector(self):
        return self.numbers("vector", SIZES[self.size])

    def bounds(self):
        return self.row().sort()[0]

    def few(self):
        """At most 64 rows."""
        return self.numbers("few", min(self.rows, 64), self.cols)

    def pair(self):
        return self.numbers("pair", 2, 2)

    def cubes(self):
        return self.numbers("cubes", 2, self.cols, self.cols)

    def threes(self):
        return self.numbers("threes", SIZES[self.size] // 4, 3)

    def threes2(self):
        return self.numbers("threes2", SIZES[self.size] // 4, 3)

    def pairs(self):
        return self.numbers("pairs", self.rows, self.cols // 2, 2)

    def mask(self):
        self.seed("mask")
        return self.torch.rand(self.rows, self.cols) < 0.5

    def i(self):
        """A permutation of the rows."""
        self.seed("i")
        return self.torch.randperm(self.rows)

    def k(self):
        """For each element a column."""
        return self.indices("k", self.cols, self.rows, self.cols)

    def flat(self):
        """For each element any element."""
        return self.indices("flat", SIZES[self.size], self.rows, self.cols)

    def labels(self):
        return self.indices("labels", self.cols, self.rows)

    def some_labels(self):
        """Two for each row; -1 ends them."""
        labels = self.torch.full(self.shape(), -1)
        labels[:, :2] = self.indices("some_labels", self.cols, self.rows, 2)
        return labels

    def counts(self):
        return self.indices("counts", 100, SIZES[self.size])

    def unsorted(self):
        return self.indices("unsorted", 1000, self.rows, self.cols).to(self.dtype_)

    def items(self):
        return self.numbers("x", SIZES[self.size]).tolist()

    def array(self):
        return self.numbers("x", self.rows, self.cols).numpy()

    def bytes_(self):
        return bytearray(self.dtype_.itemsize * SIZES[self.size])

    # Products.

    def thin(self):
        """Its product with x has at most 64 columns."""
        return self.numbers("thin", self.cols, min(self.cols, 64))

    def product(self):
        return self.numbers("product", self.rows, min(self.cols, 64))

    def weight(self):
        return self.numbers("weight", min(self.cols, 64), self.cols)

    def bias(self):
        return self.numbers("bias", min(self.cols, 64))

    def table(self):
        return self.numbers("table", self.cols, min(self.cols, 64))

    def words(self):
        return self.indices("words", self.cols, max(self.rows // 4, 1), 4)

    def batch_shape(self):
        return {"8": (2, 2, 2), "1k": (4, 16, 16), "1M": (64, 128, 128)}[self.size]

    def batch(self):
        return self.numbers("batch", *self.batch_shape())

    def batch2(self):
        return self.numbers("batch2", *self.batch_shape())

    def sum_of_batch(self):
        return self.numbers("sum_of_batch", *self.batch_shape()[1:])

    def heads(self):
        shape = {"8": (1, 1, 4, 2), "1k": (1, 2, 32, 16), "1M": (4, 8, 512, 64)}[self.size]
        x = self.numbers("heads", shape[0], shape[2], shape[1], shape[3])
        return x.transpose(1, 2) if self.layout != "contiguous" else x.transpose(1, 2).contiguous()

    def sequence(self):
        """(length, batch, features)"""
        shape = {"8": (2, 2, 2), "1k": (8, 4, 32), "1M": (64, 64, 256)}[self.size]
        return self.numbers("sequence", *shape)

    def hidden(self):
        """The size of a hidden state."""
        return min(self.sequence().shape[2], 64)

    def state(self):
        return self.numbers("state", 1, self.sequence().shape[1], self.hidden())

    # Matrices that can be factored.

    def a(self):
        eye = self.torch.eye(self.a_shape()[-1], dtype=self.dtype_)
        return self.laid_out(self.numbers("a", *self.a_shape()) + 8 * math.sqrt(len(eye)) * eye)

    def spd(self):
        a = self.numbers("spd", *self.a_shape())
        return self.laid_out(a @ a.mT.conj() + self.torch.eye(a.shape[-1], dtype=self.dtype_))

    def b(self):
        return self.numbers("b", *self.a_shape()[:-1], 2)

    def a_shape(self):
        return (2, 2, 2) if self.size == "8" else (self.rows, self.cols)

    def four(self):
        """(m, m, m, m), or (2, 2, 2, 2) for 8 elements, which can be inverted as a matrix."""
        m = {"8": 2, "1k": 6, "64k": 16}[self.size]
        eye = self.torch.eye(m * m, dtype=self.dtype_)
        return (self.numbers("four", m * m, m * m) + 8 * m * eye).reshape(m, m, m, m)

    # Channels: (batch, channels, positions...).

    def series(self):
        return self.channels("series", (1, 2, 4), (4, 8, 32), (16, 64, 1024))

    def image(self):
        return self.channels("image", (1, 2, 2, 2), (1, 4, 16, 16), (4, 16, 128, 128))

    def volume(self):
        return self.channels("volume", (1, 1, 2, 2, 2), (1, 2, 8, 8, 8), (2, 8, 32, 32, 64))

    def channels(self, name, *shapes):
        shape = dict(zip(("8", "1k", "1M"), shapes, strict=True))[self.size]
        return self.numbers(name, *shape)

    def kernel1(self):
        return self.kernel(self.series(), 3)

    def kernel2(self):
        return self.kernel(self.image(), 3)

    def kernel3(self):
        return self.kernel(self.volume(), 3)

    def kernel_each(self):
        """A kernel for each channel."""
        return self.kernel(self.image(), 3)[:, :1]

    def kernel_point(self):
        return self.kernel(self.image(), 1)

    def kernel(self, x, width):
        n = x.shape[1]
        return self.numbers("kernel", n, n, *[width] * (x.dim() - 2)).contiguous()

    def channel(self):
        return self.numbers("channel", self.image().shape[1], low=0.5)

    def channel2(self):
        return self.numbers("channel2", self.image().shape[1], low=0.5)

    def grid(self):
        n, _, height, width = self.image().shape
        return self.numbers("grid", n, height, width, 2, low=-1.0, high=1.0)

    def grid3(self):
        n, _, *positions = self.volume().shape
        return self.numbers("grid3", n, *positions, 3, low=-1.0, high=1.0)

    def theta(self):
        return self.numbers("theta", self.image().shape[0], 2, 3)

    def classes(self):
        """Of each position of the image."""
        n, n_classes, *positions = self.image().shape
        return self.indices("classes", n_classes, n, *positions)


def fill(torch, names, size, layout, dtype):
    """Those of ``names`` that are inputs, by name."""
    made = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn}
    for name in names:
        if name == "w":
            made[name] = Inputs(torch, size, layout, dtype).w()
        elif name in INPUTS:
            made[name] = _input(torch, name, size, layout, dtype)
    return made


@functools.lru_cache(maxsize=96)
def _input(torch, name, size, layout, dtype):
    return getattr(Inputs(torch, size, layout, dtype), name)()


_TOOLS = ("seed", "numbers", "laid_out", "every_other", "indices", "channels", "kernel")
INPUTS = {name for name in vars(Inputs) if not name.startswith("__")} - {*_TOOLS}
