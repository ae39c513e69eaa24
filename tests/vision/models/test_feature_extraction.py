"""Results from inside of networks."""

import copy
import pickle

import pytest

import facula
from facula import fx, nn
from facula.vision import models
from facula.vision.models.feature_extraction import (
    create_feature_extractor,
    get_graph_node_names,
)

X = facula.rand(1, 3, 64, 64)


@pytest.fixture(scope="module")
def resnet():
    return models.resnet18().eval()


@pytest.mark.promise("D3")
@pytest.mark.promise("U7")
def test_features_are_what_the_layers_give(resnet):
    seen = {}
    hooks = [
        layer.register_forward_hook(lambda m, a, y, name=name: seen.update({name: y.clone()}))
        for name, layer in (("layer1", resnet.layer1), ("layer3", resnet.layer3))
    ]
    resnet(X)
    for hook in hooks:
        hook.remove()
    extractor = create_feature_extractor(resnet, {"layer1": "low", "layer3": "middle"})
    features = extractor(X)
    assert list(features) == ["low", "middle"]
    assert facula.equal(features["low"], seen["layer1"])
    assert facula.equal(features["middle"], seen["layer3"])
    assert not hasattr(extractor, "layer4") and extractor.layer1 is not resnet.layer1
    assert getattr(extractor.layer1, "0").conv1 is getattr(resnet.layer1, "0").conv1


def test_names_are_paths_and_numbers(resnet):
    train, evaluated = get_graph_node_names(resnet)
    assert train == evaluated and resnet.training is False
    assert train[5:12] == [
        "layer1.0.conv1",
        "layer1.0.bn1",
        "layer1.0.relu",
        "layer1.0.conv2",
        "layer1.0.bn2",
        "layer1.0.add",
        "layer1.0.relu_1",
    ]


class Differs(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        x = self.linear(x)
        return x.relu() if self.training else x.tanh()


def test_both_modes_have_their_graph():
    with pytest.warns(UserWarning, match="only in train mode: relu; only in eval mode: tanh"):
        get_graph_node_names(Differs())
    net = Differs()
    extractor = create_feature_extractor(
        net, train_return_nodes={"relu": "out"}, eval_return_nodes={"tanh": "out"}
    )
    x = facula.rand(3, 2)
    assert facula.equal(extractor(x)["out"], net(x))
    extractor.eval(), net.eval()
    assert facula.equal(extractor(x)["out"], net(x))
    for other in (copy.deepcopy(extractor), pickle.loads(pickle.dumps(extractor))):
        assert facula.equal(other(x)["out"], net(x))
        other.train()
        assert facula.equal(other(x)["out"], net.linear(x).relu())


@pytest.mark.parametrize(
    "options, words",
    [
        ({}, "Either `return_nodes` or"),
        ({"train_return_nodes": ["x"]}, "Either `return_nodes` or"),
        ({"return_nodes": ["x"], "train_return_nodes": ["x"]}, "then both should"),
        (
            {"return_nodes": ["x"], "train_return_nodes": ["x"], "eval_return_nodes": ["x"]},
            "`return_nodes` should not be",
        ),
        ({"return_nodes": ["layer9"]}, "node: 'layer9' is not present in model"),
    ],
)
def test_wrong_nodes_are_refused(resnet, options, words):
    with pytest.raises(ValueError, match=words):
        create_feature_extractor(resnet, **options)


def test_leaves_and_functions_are_given():
    def leaf(x):
        return int(x)

    class Leaf(nn.Module):
        def forward(self, x):
            return facula.relu(x + int(x.shape[0]))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.leaf = Leaf()

        def forward(self, x):
            return self.leaf(x) * 2

    extractor = create_feature_extractor(
        Net(), ["leaf"], tracer_kwargs={"leaf_modules": [Leaf], "autowrap_functions": [leaf]}
    )
    assert extractor(facula.ones(2))["leaf"].tolist() == [3.0, 3.0]


# One of each family; larger ones are made of the same code.
SIZES = {"inception_v3": 107, "maxvit_t": 224, "vit_b_32": 224}
NAMES = """
    alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3
    maxvit_t mnasnet0_5 mobilenet_v2 mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18
    resnext50_32x4d shufflenet_v2_x0_5 squeezenet1_1 swin_t swin_v2_t vgg11_bn vit_b_32
"""
SEGMENTATION = ["fcn_resnet50", "deeplabv3_resnet50", "lraspp_mobilenet_v3_large"]


@pytest.mark.promise("U7")
@pytest.mark.parametrize("name", NAMES.split())
def test_networks_compute_the_same_after_tracing(name):
    options = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    model = models.get_model(name, **options).eval()
    x = facula.rand(2, 3, SIZES.get(name, 64), SIZES.get(name, 64))
    traced = fx.symbolic_trace(model)
    traced.graph.lint()
    with facula.no_grad():
        assert facula.equal(traced(x), model(x))


@pytest.mark.parametrize(
    "name", ["fcn_resnet50", "deeplabv3_resnet50", "lraspp_mobilenet_v3_large"]
)
def test_segmentation_networks_compute_the_same_after_tracing(name):
    model = models.get_model(name, weights_backbone=None).eval()
    traced = fx.symbolic_trace(model)
    with facula.no_grad():
        assert facula.equal(traced(X)["out"], model(X)["out"])


@pytest.mark.parametrize("name", ["r3d_18", "r2plus1d_18", "swin3d_t"])
def test_video_networks_compute_the_same_after_tracing(name):
    model = models.get_model(name).eval()
    video = facula.rand(1, 3, 4, 64, 64)
    traced = fx.symbolic_trace(model)
    with facula.no_grad():
        assert facula.equal(traced(video), model(video))
