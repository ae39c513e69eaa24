#include "ops/nn/resample.h"

#include "bind/bind.h"
#include "ops/nn/grid_sample.h"
#include "ops/shape/shuffle.h"

namespace facula {

FACULA_BINDINGS {
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
  m.def("_sample_pixels", &sample_pixels, "input"_a, "places"_a);
  auto def_sampler = [&](const char* name, const char* doc) {
    m.def(name, &grid_sampler, "input"_a, "grid"_a, "interpolation_mode"_a, "padding_mode"_a,
          "align_corners"_a, doc);
  };
  def_sampler("grid_sampler",
              R"(Images at places that a grid gives, see :func:`facula.nn.functional.grid_sample`.

Args:
    input: images ``(N, C, H, W)`` or ``(N, C, D, H, W)``.
    grid: places from -1 to 1, ``(N, h, w, 2)`` or ``(N, d, h, w, 3)``.
    interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
    padding_mode: 0 zeros, 1 border, 2 reflection.
    align_corners: whether -1 and 1 are the centers of the corner elements or their outer edges.

Example:
    >>> x = facula.tensor([[[[1.0, 3.0]]]])
    >>> facula.grid_sampler(x, facula.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[2.]]]])
)");
  def_sampler("grid_sampler_2d", R"(:func:`grid_sampler` for images ``(N, C, H, W)``.

Example:
    >>> x = facula.tensor([[[[1.0, 3.0]]]])
    >>> facula.grid_sampler_2d(x, facula.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[2.]]]])
)");
  def_sampler("grid_sampler_3d", R"(:func:`grid_sampler` for images ``(N, C, D, H, W)``.

Example:
    >>> x = facula.tensor([[[[[1.0, 3.0]]]]])
    >>> facula.grid_sampler_3d(x, facula.zeros(1, 1, 1, 1, 3), 0, 0, False)
    tensor([[[[[2.]]]]])
)");
  m.def("affine_grid_generator", &affine_grid_generator, "theta"_a, "size"_a, "align_corners"_a,
        R"(The places that a linear map gives, see :func:`facula.nn.functional.affine_grid`.

Example:
    >>> theta = facula.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> facula.affine_grid_generator(theta, (1, 1, 1, 2), True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
)");
}

}  // namespace facula
