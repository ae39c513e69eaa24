import pytest

import facula
from facula.vision import models

pytestmark = pytest.mark.promise("D3")


def test_densenet_with_less_memory_gives_the_same_gradients():
    facula.manual_seed(0)
    plain = models.DenseNet(4, (2, 1, 1, 1), 8, num_classes=2)
    frugal = models.DenseNet(4, (2, 1, 1, 1), 8, num_classes=2, memory_efficient=True)
    frugal.load_state_dict(plain.state_dict())
    x = facula.randn(2, 3, 32, 32)
    for net in (plain, frugal):
        net(x).sum().backward()
    for a, b in zip(plain.parameters(), frugal.parameters(), strict=True):
        assert facula.allclose(a.grad, b.grad)
