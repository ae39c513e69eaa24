#include "ops/resample.h"

#include "ops/shuffle.h"
#include "python/bind.h"

namespace facula {

void bind_resample(nb::module_& m) {
  m.def("_resample", &resample, "input"_a, "mode"_a, "antialias"_a, "size"_a, "align_corners"_a,
        "scales"_a);
  m.def("pixel_shuffle", &pixel_shuffle, "input"_a, "upscale_factor"_a,
        R"(Elements of channels as pixels: ``(*, C * r * r, H, W)`` to ``(*, C, H * r, W * r)``.

Example:
    >>> facula.pixel_shuffle(facula.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
)");
  m.def("pixel_unshuffle", &pixel_unshuffle, "input"_a, "downscale_factor"_a,
        R"(Pixels as channels: ``(*, C, H * r, W * r)`` to ``(*, C * r * r, H, W)``.

Example:
    >>> facula.pixel_unshuffle(facula.arange(4.0).reshape(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
)");
  m.def("channel_shuffle", &channel_shuffle, "input"_a, "groups"_a,
        R"(Channels in the order of their place in a group: ``(N, C, *)`` to ``(N, C, *)``.

Example:
    >>> facula.channel_shuffle(facula.arange(4).reshape(1, 4, 1, 1), 2).flatten()
    tensor([0, 2, 1, 3])
)");
  m.def("native_channel_shuffle", &channel_shuffle, "input"_a, "groups"_a,
        R"(The same as :func:`channel_shuffle`.

Example:
    >>> facula.native_channel_shuffle(facula.arange(4).reshape(1, 4, 1, 1), 2).flatten()
    tensor([0, 2, 1, 3])
)");
}

}  // namespace facula
