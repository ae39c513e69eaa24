import pytest

import facula
from facula.vision import models

pytestmark = pytest.mark.promise("D3")


def test_googlenet_in_training_has_auxiliary_outputs():
    net = models.googlenet(num_classes=4, init_weights=False)
    out = net(facula.randn(2, 3, 32, 32))
    assert isinstance(out, models.GoogLeNetOutputs)
    assert [y.shape for y in out] == [(2, 4)] * 3
    assert isinstance(net.eval()(facula.randn(1, 3, 32, 32)), facula.Tensor)
