import pytest

import facula
from facula.vision import ops

pytestmark = pytest.mark.promise("D3")


def test_a_pyramid_needs_channels_and_extra_blocks_of_its_kind():
    with pytest.raises(ValueError, match=r"a level of 0 channels"):
        ops.FeaturePyramidNetwork([0], 4)
    with pytest.raises(TypeError, match=r"expected extra_blocks to be an ExtraFPNBlock"):
        ops.FeaturePyramidNetwork([3], 4, facula.nn.Identity())
