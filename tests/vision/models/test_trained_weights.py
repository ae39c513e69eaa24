"""Where the trained weights of models come from: the cache, or the network."""

import hashlib
import io

import pytest
from http_server import serving

import facula
from facula import nn
from facula.vision import models
from facula.vision.models._api import accept_weights, build_model

pytestmark = pytest.mark.promise("D4")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FACULA_HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "hub" / "checkpoints"


def _bytes_of(model):
    file = io.BytesIO()
    facula.save(model.state_dict(), file)
    return file.getvalue()


def _builder(url):
    """A builder of a small model, whose weights are at an address."""

    class Own_Weights(models.WeightsEnum):
        IMAGENET1K_V1 = models.Weights(url, nn.Identity, {"categories": ["cat", "dog"]})
        DEFAULT = IMAGENET1K_V1

    def make(num_classes=5):
        return nn.Linear(3, num_classes)

    @accept_weights(weights=Own_Weights)
    def own(*, weights: Own_Weights | None = None, progress: bool = True, **kwargs):
        return build_model(make, weights, progress, kwargs)

    return own


def test_resnet18_pretrained_is_taken_from_the_cache(cache):
    cache.mkdir(parents=True)
    facula.manual_seed(1)
    trained = models.resnet18()
    facula.save(trained.state_dict(), cache / "resnet18-f37072fd.pth")
    with pytest.warns(UserWarning, match=r"write weights=ResNet18_Weights\.IMAGENET1K_V1"):
        net = models.resnet18(pretrained=True)
    for name, value in net.state_dict().items():
        assert value.equal(trained.state_dict()[name]), name


def test_weights_are_downloaded_once_with_checked_hash_and_progress(cache, capsys):
    data = _bytes_of(trained := nn.Linear(3, 2))
    name = f"own-{hashlib.sha256(data).hexdigest()[:8]}.pth"
    with serving({name: data}) as server:
        own = _builder(server.url(name))
        first = own(weights="DEFAULT")
        assert f"Downloading {server.url(name)} to" in capsys.readouterr().err
        second = own(weights="DEFAULT", progress=False)
        assert len(server.requests) == 1
    for net in (first, second):
        assert net.weight.equal(trained.weight) and net.out_features == 2
    assert [file.name for file in cache.iterdir()] == [name]


def test_damaged_weights_are_not_kept(cache):
    with serving({"own-01234567.pth": _bytes_of(nn.Linear(3, 2))}) as server:
        own = _builder(server.url("own-01234567.pth"))
        with pytest.raises(RuntimeError, match=r"hash .* expected one that begins with 01234567"):
            own(weights="DEFAULT", progress=False)
    assert not list(cache.glob("*.pth"))


def test_without_network_the_error_says_which_file_to_put_where(cache):
    with serving({}) as server:
        url = server.url("own-01234567.pth")
    with pytest.raises(RuntimeError, match="cannot fetch own-01234567") as info:
        _builder(url)(weights="DEFAULT", progress=False)
    assert f"put the file at {str(cache / 'own-01234567.pth')!r}" in str(info.value)
    assert url in str(info.value)


def test_weights_of_another_model_are_refused(cache):
    cache.mkdir(parents=True)
    facula.save(nn.Linear(3, 4).state_dict(), cache / "own-01234567.pth")
    with pytest.raises(RuntimeError, match=r"size mismatch for weight"):
        _builder("http://localhost/own-01234567.pth")(weights="DEFAULT")


def test_densenet_reads_the_names_of_the_published_files(cache):
    net = models.DenseNet(4, (1, 1, 1, 1), 8, num_classes=2)
    old = {}
    for name, value in net.state_dict().items():
        for part in ("norm1", "norm2", "conv1", "conv2"):
            if "denselayer" in name:
                name = name.replace(f".{part}.", f".{part[:-1]}.{part[-1]}.")
        old[name] = value + 1
    assert "features.denseblock1.denselayer1.norm.1.weight" in old
    net.load_state_dict(old)
    assert list(net.state_dict().values())[5].equal(list(old.values())[5])


def test_mnasnet_reads_files_of_its_first_version():
    net = models.mnasnet0_5()
    state = net.state_dict()
    state._metadata[""]["version"] = 1
    with (
        pytest.warns(UserWarning, match="MNASNet: this file is of the first version"),
        pytest.raises(RuntimeError, match=r"layers\.0\.weight"),
    ):
        net.load_state_dict(state)
    assert net.layers[0].out_channels == 32 and net.layers[8][0].layers[0].in_channels == 16
    net.load_state_dict(net.state_dict())  # which is marked as such, and fits
    state._metadata[""]["version"] = 3
    with pytest.raises(ValueError, match=r"version should be 1 or 2, got 3"):
        net.load_state_dict(state)


@pytest.mark.parametrize("name", ["inception_v3", "googlenet"])
def test_auxiliary_outputs_of_a_file_are_kept_or_dropped(name, cache, monkeypatch):
    build = models.get_model_builder(name)
    monkeypatch.setattr(
        models.WeightsEnum, "get_state_dict", lambda self, **options: state.state_dict()
    )
    state = build(init_weights=False)
    net = build(weights="DEFAULT", aux_logits=False)
    assert net.transform_input and not net.aux_logits
    assert len(net.state_dict()) < len(state.state_dict())
    assert not build(weights="DEFAULT", transform_input=False).transform_input
    with pytest.raises(ValueError, match="init_weights: the weights need False, got True"):
        build(weights="DEFAULT", init_weights=True)


def test_googlenet_says_that_its_auxiliary_outputs_are_untrained(monkeypatch):
    state = models.googlenet(init_weights=False).state_dict()
    monkeypatch.setattr(models.WeightsEnum, "get_state_dict", lambda self, **options: state)
    with pytest.warns(UserWarning, match="leave the auxiliary outputs untrained"):
        net = models.googlenet(weights="DEFAULT", aux_logits=True)
    assert net.aux_logits and net.aux1 is not None
