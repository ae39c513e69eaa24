import copy
import inspect
import pickle
import re
import subprocess
import sys

import pytest

from facula import nn
from facula.vision import models
from facula.vision.models import AlexNet_Weights, ResNet18_Weights, ResNet50_Weights, _api

pytestmark = pytest.mark.promise("D3")


@pytest.fixture
def loaded(monkeypatch):
    """The weights that builders ask for, which get none."""
    asked = []
    monkeypatch.setattr(
        _api.WeightsEnum, "get_state_dict", lambda self, **options: asked.append((self, options))
    )
    monkeypatch.setattr(nn.Module, "load_state_dict", lambda self, state: None)
    monkeypatch.setattr(models.AlexNet, "__init__", lambda self, **kwargs: None)
    monkeypatch.setattr(models.ResNet, "__init__", lambda self, *args, **kwargs: None)
    return asked


def test_import_loads_nothing_heavy():
    code = "import sys, facula.vision.models; print({'PIL', 'scipy', 'tqdm'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_models_are_listed_by_pattern_and_by_package():
    assert models.list_models(include="resnet*") == [
        "resnet101",
        "resnet152",
        "resnet18",
        "resnet34",
        "resnet50",
    ]
    names = models.list_models(include=["alex*", "vgg1*"], exclude=("*_bn", "vgg11"))
    assert names == ["alexnet", "vgg13", "vgg16", "vgg19"]
    assert models.list_models(exclude="*") == []
    assert models.list_models(include="ResNet18") == []
    assert "resnet18" in models.list_models(models)
    assert models.list_models(inspect) == []


def test_model_is_built_by_name_in_any_case():
    net = models.get_model("SqueezeNet1_1", num_classes=3)
    assert isinstance(net, models.SqueezeNet) and net.num_classes == 3
    assert models.get_model_builder("resnet18") is models.resnet18


def test_unknown_model_is_refused():
    with pytest.raises(ValueError, match=r"there is no model 'resnet19'; list_models\(\) gives"):
        models.get_model("resnet19")


def test_weights_know_their_facts():
    weights = ResNet50_Weights.IMAGENET1K_V1
    assert weights.url == "https://download.pytorch.org/models/resnet50-0676ba61.pth"
    meta = weights.meta
    assert meta["num_params"] == 25557032 and meta["min_size"] == (1, 1)
    assert meta["_metrics"] == {"ImageNet-1K": {"acc@1": 76.13, "acc@5": 92.862}}
    assert len(meta["categories"]) == 1000 and meta["categories"][-1] == "toilet tissue"
    assert ResNet50_Weights.DEFAULT is ResNet50_Weights.IMAGENET1K_V2
    assert str(weights) == repr(weights) == "ResNet50_Weights.IMAGENET1K_V1"
    assert isinstance(weights.value, models.Weights)


def test_weights_of_a_model_are_found_by_name_and_by_builder():
    assert models.get_model_weights("resnet50") is ResNet50_Weights
    assert models.get_model_weights(models.resnet50) is ResNet50_Weights
    assert models.get_weight("ResNet50_Weights.DEFAULT") is ResNet50_Weights.IMAGENET1K_V2
    with pytest.raises(ValueError, match=r"such as ResNet18_Weights\.DEFAULT, got 'resnet50'"):
        models.get_weight("resnet50")
    with pytest.raises(ValueError, match=r"no model has weights 'ResNet19_Weights'"):
        models.get_weight("ResNet19_Weights.DEFAULT")
    with pytest.raises(KeyError, match="ResNet50_Weights has IMAGENET1K_V1, IMAGENET1K_V2, DEF"):
        models.get_weight("ResNet50_Weights.V9")
    with pytest.raises(ValueError, match=r"len has no argument 'weights'"):
        models.get_model_weights(len)


def test_weights_are_themselves_after_pickle_and_copy():
    weights = ResNet50_Weights.IMAGENET1K_V2
    assert pickle.loads(pickle.dumps(weights)) is weights
    assert copy.deepcopy(weights) is weights


def test_every_row_of_the_table_belongs_to_a_model():
    for model in _api._read_table():
        assert models.get_weight(f"{model}_Weights.DEFAULT")


def test_transforms_are_made_from_the_table():
    prepare = models.VGG16_Weights.IMAGENET1K_FEATURES.transforms()
    assert (prepare.crop_size, prepare.std[0]) == ([224], 1 / 255)
    prepare = models.Inception_V3_Weights.DEFAULT.transforms(resize_size=400)
    assert (prepare.crop_size, prepare.resize_size) == ([299], [400])


@pytest.mark.parametrize(
    "weights", ["DEFAULT", "IMAGENET1K_V1", "AlexNet_Weights.DEFAULT", AlexNet_Weights.DEFAULT]
)
def test_weights_are_given_as_members_or_names(weights, loaded):
    models.alexnet(weights=weights, progress=False)
    assert loaded == [(AlexNet_Weights.DEFAULT, {"progress": False, "check_hash": True})]


def test_other_weights_are_refused(loaded):
    with pytest.raises(KeyError, match=r"AlexNet_Weights has IMAGENET1K_V1, DEFAULT, got 'V7'"):
        models.alexnet(weights="V7")
    text = r"expected a member of AlexNet_Weights, its name or None, got ResNet18_Weights\.IMAGE"
    with pytest.raises(TypeError, match=text):
        models.alexnet(weights=ResNet18_Weights.DEFAULT)
    assert not loaded


def test_weights_fix_the_number_of_classes():
    with pytest.raises(ValueError, match=r"num_classes: the weights need 1000, got 10"):
        models.alexnet(weights="DEFAULT", num_classes=10)


@pytest.mark.parametrize(
    "name, argument, needed",
    [
        ("vit_b_16", "image_size", "224"),
        ("maxvit_t", "input_size", r"\(224, 224\)"),
        ("mvit_v1_b", "spatial_size", r"\(224, 224\)"),
        ("mvit_v2_s", "temporal_size", "16"),
    ],
)
def test_weights_fix_the_size_of_inputs(name, argument, needed, loaded):
    with pytest.raises(ValueError, match=rf"{argument}: the weights need {needed}, got 7"):
        models.get_model(name, weights="DEFAULT", **{argument: 7})
    assert not loaded


@pytest.mark.parametrize(
    "args, kwargs, warning, progress",
    [
        ((), {"pretrained": True}, "pretrained=True is deprecated, write weights=", True),
        ((), {"weights": True}, "weights=True is deprecated, write weights=", True),
        ((True, False), {}, "write alexnet(weights=..., progress=...)", False),
    ],
)
def test_older_ways_to_ask_for_weights_work_with_a_warning(
    args, kwargs, warning, progress, loaded, recwarn
):
    models.alexnet(*args, **kwargs)
    assert loaded == [(AlexNet_Weights.IMAGENET1K_V1, {"progress": progress, "check_hash": True})]
    assert {w.category for w in recwarn} == {UserWarning}
    assert warning in str(recwarn[0].message)
    assert recwarn[0].filename == __file__


def test_pretrained_means_the_first_weights_not_the_best(loaded):
    with pytest.warns(UserWarning, match=r"resnet50: .* write weights=ResNet50_Weights\.IMAGENET"):
        models.resnet50(pretrained=True)
    assert loaded[0][0] is ResNet50_Weights.IMAGENET1K_V1


@pytest.mark.parametrize("given", [{"pretrained": False}, {"weights": 0}, {"pretrained": None}])
def test_not_pretrained_loads_nothing(given, loaded):
    with pytest.warns(UserWarning, match=r"is deprecated, write weights=None"):
        models.alexnet(**given)
    assert not loaded


def test_arguments_by_position_are_checked():
    with pytest.raises(TypeError, match=r"at most 2 .* \(weights, progress\), got 3"):
        models.alexnet(None, True, 3)
    with pytest.raises(TypeError, match="alexnet: weights is given by position and by name"):
        models.alexnet(None, weights=None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_classes'"):
        models.alexnet(n_classes=3)


def test_builder_shows_its_arguments():
    signature = inspect.signature(models.resnet18)
    assert list(signature.parameters) == ["weights", "progress", "kwargs"]
    assert signature.return_annotation is models.ResNet
    assert models.resnet18.__module__ == "facula.vision.models.resnet"
    assert re.search("ResNet18_Weights", models.resnet18.__doc__)


def test_own_models_and_weights_can_be_registered(monkeypatch):
    monkeypatch.setattr(_api, "_BUILDERS", dict(_api._all_builders()))

    class Own_Weights(models.WeightsEnum):
        V1 = models.Weights("https://example.org/own.pth", nn.Identity, {"num_params": 3})
        DEFAULT = V1

    @_api.register_model()
    def own(*, weights: Own_Weights | None = None):
        return nn.Linear(2, 1)

    assert models.get_model("own").in_features == 2
    assert models.get_weight("Own_Weights.DEFAULT") is Own_Weights.V1
    assert Own_Weights.V1.meta == {"num_params": 3}
    with pytest.raises(ValueError, match="there is already a model 'resnet18'"):
        _api.register_model("resnet18")(own)
