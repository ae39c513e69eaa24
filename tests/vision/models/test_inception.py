import pytest

import facula
from facula.vision import models

pytestmark = pytest.mark.promise("D3")


def test_inception_in_training_has_an_auxiliary_output():
    net = models.inception_v3(num_classes=4, init_weights=False)
    with facula.no_grad():
        out = net(facula.randn(2, 3, 299, 299))
    assert isinstance(out, models.InceptionOutputs)
    assert out.logits.shape == out.aux_logits.shape == (2, 4)
    net = models.inception_v3(num_classes=4, aux_logits=False, init_weights=False)
    assert net(facula.randn(2, 3, 75, 75)).shape == (2, 4)


def test_transformed_input_has_mean_and_deviation_of_a_half():
    white = (1 - facula.tensor([0.485, 0.456, 0.406])) / facula.tensor([0.229, 0.224, 0.225])
    image = models.inception.to_original_input(white.view(1, 3, 1, 1))
    assert facula.allclose(image, facula.ones(1, 3, 1, 1))
