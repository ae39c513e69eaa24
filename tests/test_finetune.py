"""The example that fine-tunes a network on a folder of images."""

import pytest

import facula
from examples import finetune


@pytest.mark.promise("D3", "D4")
def test_a_frozen_network_learns_a_new_head_from_a_folder(tmp_path):
    facula.manual_seed(0)
    finetune.draw_shapes(tmp_path / "data", n_train=12, n_val=6, size=48)
    batches, val, classes = finetune.make_loaders(tmp_path / "data", 32, 12, n_workers=0)
    assert classes == ["disc", "square", "stripes"]

    facula.save(finetune.models.resnet18().state_dict(), tmp_path / "weights.pth")
    model = finetune.make_model(len(classes), tmp_path / "weights.pth")
    before = model.layer4[1].conv2.weight.clone()
    losses, accuracy = finetune.train(model, batches, val, n_epochs=8)

    assert sum(losses[-3:]) < sum(losses[:3])
    assert accuracy > 0.5
    assert facula.equal(model.layer4[1].conv2.weight, before)
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    assert trained == ["fc.weight", "fc.bias"]
