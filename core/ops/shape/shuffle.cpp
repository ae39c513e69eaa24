// Elements of channels as pixels and back, and channels in another order.
#include "autograd/node.h"
#include "bind/bind.h"
#include "ops/ops.h"
#include "tensor/format.h"

namespace facula {

namespace {

void check_factor(const char* op, const char* what, const Tensor& x, int64_t factor) {
  check(x.dim() >= 3, op, ": expected an input of at least 3 dimensions, got ", x, ".");
  check(factor > 0 && factor < 1 << 20, op, ": ", what, " must be from 1 to 2^20, got ", factor,
        ".");
}

Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor);

// (..., C * r * r, H, W) to (..., C, H * r, W * r), and back.
Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor) {
  check_factor("pixel_shuffle", "upscale_factor", x, upscale_factor);
  int64_t r = upscale_factor, c = x.size(-3), h = x.size(-2), w = x.size(-1);
  check(c % (r * r) == 0, "pixel_shuffle: expected a number of channels that ", r, " * ", r,
        " divides, got ", c, " in ", x, ".");
  Dims sizes = x.sizes(), split = x.sizes();
  size_t n = sizes.size();
  sizes[n - 3] = split[n - 3] = c / (r * r);
  sizes[n - 2] = h * r;
  sizes[n - 1] = w * r;
  split.insert(n - 2, r * r);
  Tensor y = empty(sizes, x.dtype(), x.device(), format_of(x));
  {
    // A copy for each place in a square: whole rows, rather than r elements at a time.
    NoGradGuard guard;
    Tensor parts = reshape(x, split);
    for (int64_t i = 0; i < r && y.numel() > 0; ++i)
      for (int64_t j = 0; j < r; ++j)
        copy_into(slice(slice(y, -2, i, h * r, r), -1, j, w * r, r), select(parts, -3, i * r + j));
  }
  return record("PixelShuffleBackward0", y, {x},
                [r](const Tensor& g) { return pixel_unshuffle(g, r); });
}

Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor) {
  check_factor("pixel_unshuffle", "downscale_factor", x, downscale_factor);
  int64_t r = downscale_factor, c = x.size(-3), h = x.size(-2), w = x.size(-1);
  check(h % r == 0 && w % r == 0, "pixel_unshuffle: expected a height and width that ", r,
        " divides, got ", x, ".");
  Dims sizes = x.sizes(), split = x.sizes();
  size_t n = sizes.size();
  sizes[n - 3] = c * r * r;
  sizes[n - 2] = split[n - 2] = h / r;
  sizes[n - 1] = split[n - 1] = w / r;
  split.insert(n - 2, r * r);
  Tensor y = empty(split, x.dtype(), x.device());
  {
    NoGradGuard guard;
    for (int64_t i = 0; i < r && y.numel() > 0; ++i)
      for (int64_t j = 0; j < r; ++j)
        copy_into(select(y, -3, i * r + j), slice(slice(x, -2, i, h, r), -1, j, w, r));
    y = contiguous(alias(reshape(y, sizes)), format_of(x));
  }
  return record("PixelUnshuffleBackward0", y, {x},
                [r](const Tensor& g) { return pixel_shuffle(g, r); });
}

// Channels (dimension 1) as (groups, channels / groups), transposed.
Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  check(x.dim() > 2, "channel_shuffle: expected an input of at least 3 dimensions, got ", x, ".");
  check(groups > 0, "channel_shuffle: groups must be positive, got ", groups, ".");
  int64_t n_channels = x.size(1);
  check(n_channels % groups == 0, "channel_shuffle: expected a number of channels that ", groups,
        " groups divide, got ", n_channels, " in ", x, ".");
  Tensor y;
  {
    NoGradGuard guard;
    Dims split = x.sizes();
    split[1] = groups;
    split.insert(2, n_channels / groups);
    Tensor turned = transpose(reshape(x, split), 1, 2);
    y = reshape(clone(turned, MemoryFormat::Contiguous), x.sizes());
    y = contiguous(alias(y), format_of(x));
  }
  return record("ChannelShuffleBackward0", y, {x}, [n = n_channels / groups](const Tensor& g) {
    return channel_shuffle(g, std::max<int64_t>(n, 1));
  });
}

}  // namespace

FACULA_BINDINGS {
  m.def("pixel_shuffle", &pixel_shuffle, "input"_a, "upscale_factor"_a,
        R"(Elements of channels as pixels: ``(*, C * r * r, H, W)`` to ``(*, C, H * r, W * r)``.
    input: images with a multiple of ``r * r`` channels.
    upscale_factor: how much larger an image becomes, r.
    >>> facula.pixel_shuffle(facula.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]]))"_doc);
  m.def("pixel_unshuffle", &pixel_unshuffle, "input"_a, "downscale_factor"_a,
        R"(Pixels as channels: ``(*, C, H * r, W * r)`` to ``(*, C * r * r, H, W)``.
    input: images whose height and width are multiples of r.
    downscale_factor: how much smaller an image becomes, r.
    >>> facula.pixel_unshuffle(facula.arange(4.0).reshape(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.]))"_doc);
  m.def("channel_shuffle", &channel_shuffle, "input"_a, "groups"_a,
        R"(Channels in the order of their place in a group: ``(N, C, *)`` to ``(N, C, *)``.
    input: images.
    groups: the number of groups, which divides that of the channels.
    >>> facula.channel_shuffle(facula.arange(4).reshape(1, 4, 1, 1), 2).flatten()
    tensor([0, 2, 1, 3]))"_doc);
  m.def("native_channel_shuffle", &channel_shuffle, "input"_a, "groups"_a,
        R"(Another name of :func:`channel_shuffle`.
    input: images.
    groups: the number of groups, which divides that of the channels.
    >>> facula.native_channel_shuffle(facula.arange(4).reshape(1, 4, 1, 1), 2).flatten()
    tensor([0, 2, 1, 3]))"_doc);
}

}  // namespace facula
