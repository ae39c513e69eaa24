import pytest

import facula
from facula.vision.models import VisionTransformer
from facula.vision.models.vision_transformer import ConvStemConfig, interpolate_embeddings

pytestmark = pytest.mark.promise("D3")


def tiny(**changes):
    sizes = {"image_size": 32, "patch_size": 16, "num_layers": 1, "num_heads": 2}
    return VisionTransformer(
        **{**sizes, "hidden_dim": 8, "mlp_dim": 16, "num_classes": 3, **changes}
    )


def test_there_is_a_place_for_each_patch_and_one_for_the_class():
    model = tiny()
    assert model.seq_length == 5
    assert model.encoder.pos_embedding.shape == (1, 5, 8)
    assert model(facula.ones(2, 3, 32, 32)).shape == (2, 3)


def test_images_of_another_size_are_refused():
    with pytest.raises(AssertionError, match="images of 32 x 32 pixels, got 30 x 32"):
        tiny()(facula.ones(1, 3, 30, 32))
    with pytest.raises(
        AssertionError, match="image_size of 33 is no multiple of the patch_size 16"
    ):
        tiny(image_size=33)
    with pytest.raises(
        AssertionError, match=r"\(batch_size, seq_length, hidden_dim\), got \(3, 2\)"
    ):
        tiny().encoder(facula.ones(3, 2))


def test_convolutions_can_take_the_place_of_the_patches():
    model = tiny(patch_size=4, conv_stem_configs=[ConvStemConfig(4, 3, 2), ConvStemConfig(6, 3, 2)])
    assert "conv_proj.conv_bn_relu_1.0.weight" in model.state_dict()
    assert model(facula.ones(1, 3, 32, 32)).shape == (1, 3)


def test_a_layer_can_precede_the_classifier():
    assert [name for name, _ in tiny(representation_size=4).heads.named_children()] == [
        "pre_logits",
        "act",
        "head",
    ]


def test_weights_with_the_old_names_of_layers_load():
    model = tiny()
    old = {
        key.replace("mlp.0", "mlp.linear_1").replace("mlp.3", "mlp.linear_2"): value + 1
        for key, value in model.state_dict().items()
    }
    assert "encoder.layers.encoder_layer_0.mlp.linear_1.weight" in old
    model.load_state_dict(old)
    mlp = model.encoder.layers.encoder_layer_0.mlp
    assert facula.equal(mlp[3].bias, old["encoder.layers.encoder_layer_0.mlp.linear_2.bias"])


def test_positions_are_resampled_for_another_image_size():
    state = tiny().state_dict()
    larger = interpolate_embeddings(64, 16, state, reset_heads=True)
    assert larger["encoder.pos_embedding"].shape == (1, 17, 8)
    assert not any(key.startswith("heads") for key in larger)
    assert interpolate_embeddings(64, 16, larger) is larger


def test_positions_of_no_square_are_refused():
    with pytest.raises(ValueError, match="a square of patches, got those of 3 patches"):
        interpolate_embeddings(64, 16, {"encoder.pos_embedding": facula.ones(1, 4, 8)})
    with pytest.raises(ValueError, match=r"\(1, seq_length, hidden_dim\), got \(2, 4, 8\)"):
        interpolate_embeddings(64, 16, {"encoder.pos_embedding": facula.ones(2, 4, 8)})
