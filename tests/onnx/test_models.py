"""Whole models: what onnxruntime computes is what the model computes, for other sizes too."""

import pytest

import facula
import facula.nn.functional as F
import facula.onnx
from facula import nn
from facula.utils._pytree import tree_leaves
from facula.vision import models, ops


def check(model, inputs, axes, *others, atol=1e-4):
    """Export a model, and compare its results for the example and for other inputs."""
    model.eval()
    program = facula.onnx.export(model, inputs, dynamic_shapes=axes)
    for given in (inputs, *others):
        with facula.no_grad():
            expected = tree_leaves(model(*given))
        for got, want in zip(program(*given), expected, strict=True):
            facula.testing.assert_close(got, want, rtol=1e-3, atol=atol)


FAMILIES = {
    "densenet121": 32, "efficientnet_b0": 32, "googlenet": 32, "mnasnet0_5": 32,
    "mobilenet_v2": 32, "mobilenet_v3_small": 32, "regnet_y_400mf": 32, "resnet18": 32,
    "shufflenet_v2_x0_5": 32, "squeezenet1_1": 32, "swin_t": 32,
}  # fmt: skip


@pytest.mark.promise("U7")
@pytest.mark.parametrize("name", FAMILIES)
def test_vision_models_take_any_batch(name):
    facula.manual_seed(0)
    options = {"init_weights": False} if name == "googlenet" else {}
    model = models.get_model(name, **options)
    size = FAMILIES[name]
    x, y = facula.rand(1, 3, size, size), facula.rand(3, 3, size, size)
    check(model, (x,), ({0: "batch"},), (y,))


def test_small_transformers_of_vision_take_any_batch():
    facula.manual_seed(0)
    vit = models.VisionTransformer(32, 8, 2, 2, 16, 32)
    settings = [models.convnext.CNBlockConfig(8, 16, 1), models.convnext.CNBlockConfig(16, None, 1)]
    x, y = facula.rand(1, 3, 32, 32), facula.rand(3, 3, 32, 32)
    for model in (vit, models.ConvNeXt(settings)):
        check(model, (x,), ({0: "batch"},), (y,))


def test_a_segmentation_model_takes_any_image():
    facula.manual_seed(0)
    model = models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)
    axes = ({0: "batch", 2: "height", 3: "width"},)
    check(model, (facula.rand(1, 3, 32, 48),), axes, (facula.rand(2, 3, 64, 40),))


def test_a_decoder_takes_any_image():
    facula.manual_seed(0)
    up = nn.Upsample(scale_factor=2, mode="bilinear")
    model = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), up, nn.Conv2d(4, 1, 1), nn.MaxPool2d(2))
    axes = ({0: "batch", 2: "height", 3: "width"},)
    check(model, (facula.rand(1, 3, 8, 12),), axes, (facula.rand(2, 3, 22, 16),))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize(
    "options", [{}, {"bidirectional": True, "batch_first": True}, {"bias": False}]
)
def test_recurrent_layers_take_any_batch_and_length(kind, options):
    facula.manual_seed(0)
    layer = kind(3, 4, num_layers=2, **options)
    axes = ({0: "a", 1: "b"},)
    check(layer, (facula.rand(2, 5, 3),), axes, (facula.rand(3, 7, 3),))


def test_recurrent_layers_take_a_state():
    x, h, c = facula.rand(5, 2, 3), facula.rand(1, 2, 4), facula.rand(1, 2, 4)
    check(nn.LSTM(3, 4), (x, (h, c)), None)
    check(nn.RNN(3, 4, nonlinearity="relu"), (x, h), None)


@pytest.mark.parametrize(
    "cell", [nn.LSTMCell(3, 4), nn.GRUCell(3, 4), nn.GRUCell(3, 4, bias=False)]
)
def test_recurrent_cells_take_any_batch(cell):
    check(cell, (facula.rand(2, 3),), ({0: "batch"},), (facula.rand(5, 3),))


class Packed(nn.Module):
    def __init__(self, layer, lengths):
        super().__init__()
        self.layer, self.lengths = layer, lengths

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, self.lengths)
        y, state = self.layer(packed)
        padded, _ = nn.utils.rnn.pad_packed_sequence(y)
        return padded, state


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_packed_sequences_keep_the_lengths_they_were_exported_with(kind):
    facula.manual_seed(0)
    model = Packed(kind(3, 4, num_layers=2, bidirectional=True), [5, 3, 1])
    check(model, (facula.rand(5, 3, 3),), None, (facula.rand(5, 3, 3),))


@pytest.mark.parametrize(
    "options", [{}, {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False}]
)
def test_projections_are_written_step_by_step(options):
    facula.manual_seed(0)
    layer = nn.LSTM(3, 4, proj_size=2, **options)
    check(layer, (facula.rand(2, 5, 3),), None, (facula.rand(2, 5, 3),))


def test_projections_of_packed_sequences_and_of_any_length_are_refused():
    layer = nn.LSTM(3, 4, proj_size=2)
    refused = pytest.raises(facula.onnx.OnnxExporterError, match="projections of packed sequences")
    with refused:
        facula.onnx.export(Packed(layer, [2, 1]), (facula.rand(2, 2, 3),))
    with pytest.raises(facula.onnx.OnnxExporterError, match="a dynamic number of steps"):
        facula.onnx.export(layer, (facula.rand(2, 2, 3),), dynamic_shapes=({0: "time"},))


class GPT(nn.Module):
    """A language model of characters, as people write it."""

    def __init__(self, n_tokens=11, length=16, width=8, n_heads=2):
        super().__init__()
        self.n_heads = n_heads
        self.tokens, self.places = nn.Embedding(n_tokens, width), nn.Embedding(length, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, n_tokens, bias=False)
        self.register_buffer("mask", facula.tril(facula.ones(length, length)))

    def forward(self, ids):
        b, t = ids.size()
        x = self.tokens(ids) + self.places(facula.arange(t))
        q, k, v = (
            part.view(b, t, self.n_heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm(x)).split(x.size(-1), dim=2)
        )
        scores = q @ k.transpose(-2, -1) * k.size(-1) ** -0.5
        scores = scores.masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.head(x + self.out(y.transpose(1, 2).contiguous().view(b, t, -1)))


@pytest.mark.promise("U7")
def test_a_gpt_takes_any_batch_and_length():
    facula.manual_seed(0)
    ids, others = facula.randint(0, 11, (2, 6)), facula.randint(0, 11, (3, 13))
    check(GPT(), (ids,), ({0: "batch", 1: "length"},), (others,))


def test_the_transformer_of_nn_takes_any_batch_and_length():
    facula.manual_seed(0)
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    axes = ({0: "b", 1: "s"}, {0: "b", 1: "t"})
    sizes = [(2, 5, 4), (3, 7, 6)]
    examples = [(facula.rand(b, s, 8), facula.rand(b, t, 8)) for b, s, t in sizes]
    check(model, examples[0], axes, examples[1])


def test_an_encoder_takes_a_padding_mask():
    facula.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x, is_padding):
            return self.model(x, src_key_padding_mask=is_padding)

    def example(b, t):
        return facula.rand(b, t, 8), facula.arange(t).expand(b, t) > t // 2

    axes = ({0: "b", 1: "t"}, {0: "b", 1: "t"})
    check(Masked(), example(2, 5), axes, example(3, 8))


@pytest.mark.parametrize("aligned", [False, True])
def test_regions_and_boxes_are_those_of_onnx(aligned):
    facula.manual_seed(0)
    x, scores = facula.rand(2, 3, 16, 16), facula.rand(6)
    corner = facula.rand(6, 2) * 8
    boxes = facula.cat([corner, corner + 1 + facula.rand(6, 2) * 6], 1)

    class Regions(nn.Module):
        def forward(self, x, boxes, scores):
            kept = ops.nms(boxes, scores, 0.2)
            rois = facula.cat([facula.zeros_like(scores[kept])[:, None], boxes[kept]], 1)
            return kept, ops.roi_align(x, rois, (3, 2), 0.5, 2, aligned)

    check(Regions(), (x, boxes, scores), None, (x, boxes.flip(0), scores), (x, boxes * 0.1, scores))


class Detector(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        found = self.model([image])[0]
        return found["boxes"], found["scores"], found["labels"]


@pytest.mark.parametrize(
    "name",
    [
        "fasterrcnn_mobilenet_v3_large_320_fpn",
        "ssdlite320_mobilenet_v3_large",
        "retinanet_resnet50_fpn",
    ],
)
def test_detection_models_find_other_numbers_of_boxes_in_other_images(name):
    facula.manual_seed(0)
    options = {} if "ssd" in name else {"min_size": 64, "max_size": 64}
    limit = (
        {"box_score_thresh": 0.2}
        if "rcnn" in name
        else {"score_thresh": 1e-3, "topk_candidates": 9999}
    )
    model = Detector(
        models.get_model(
            name, weights=None, weights_backbone=None, num_classes=4, **options, **limit
        )
    ).eval()
    images = [facula.rand(3, 64, 64) * scale for scale in (1, 4, 0)]
    program = facula.onnx.export(model, (images[0],))
    for image in images:
        with facula.no_grad():
            boxes, scores, labels = model(image)
        found = program(image)
        assert found[0].shape == boxes.shape
        # Scores that are nearly equal may change places.
        facula.testing.assert_close(found[1], scores, rtol=1e-3, atol=1e-4)
        assert facula.equal(found[2].sort()[0], labels.sort()[0])
