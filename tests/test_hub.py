import hashlib
import io
import os
import sys
import types
import zipfile
from urllib.error import URLError

import pytest
from http_server import serving

import facula
from facula import hub

pytestmark = pytest.mark.promise("D4")


def _checkpoint():
    file = io.BytesIO()
    facula.save({"weight": facula.arange(3.0)}, file)
    return file.getvalue()


DATA = _checkpoint()
NAME = f"net-{hashlib.sha256(DATA).hexdigest()[:8]}.pth"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("FACULA_HOME", "TORCH_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "*")
    yield tmp_path
    hub.set_dir(None)


def test_folder_follows_the_environment(home, monkeypatch):
    assert hub.get_dir() == f"{home}/.cache/facula/hub"
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert hub.get_dir() == "/cache/facula/hub"
    monkeypatch.setenv("TORCH_HOME", "/torch")
    assert hub.get_dir() == "/torch/hub"
    monkeypatch.setenv("FACULA_HOME", "~/f")
    assert hub.get_dir() == f"{home}/f/hub"
    hub.set_dir("~/elsewhere")
    assert hub.get_dir() == f"{home}/elsewhere"


def test_weights_are_fetched_once(home):
    with serving({NAME: DATA}) as server:
        for _ in range(2):
            state = hub.load_state_dict_from_url(
                server.url(NAME), progress=False, check_hash=True, weights_only=True
            )
            assert state["weight"].tolist() == [0, 1, 2]
        assert len(server.requests) == 1
    assert os.listdir(home / ".cache/facula/hub/checkpoints") == [NAME]


def test_name_and_folder_can_be_given(home):
    with serving({"a": DATA}) as server:
        hub.load_state_dict_from_url(server.url("a"), f"{home}/m", file_name="b", progress=False)
        hub.load_state_dict_from_url(server.url("a?x=1"), f"{home}/m", progress=False)
        with pytest.raises(ValueError, match="ends in no file name: give file_name"):
            hub.load_state_dict_from_url(server.url(""))
    assert sorted(os.listdir(home / "m")) == ["a", "b"]


def test_what_pytorch_has_downloaded_is_used(home):
    folder = home / ".cache/torch/hub/checkpoints"
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(DATA)
    state = hub.load_state_dict_from_url(f"http://127.0.0.1:1/{NAME}", check_hash=True)
    assert state["weight"].tolist() == [0, 1, 2]


def test_hash_of_the_name_is_compared_if_asked(home):
    with serving({"net-01234567.pth": DATA}) as server:
        url = server.url("net-01234567.pth")
        with pytest.raises(RuntimeError, match="expected one that begins with 01234567"):
            hub.load_state_dict_from_url(url, progress=False, check_hash=True)
        hub.load_state_dict_from_url(url, progress=False)


def test_offline_the_error_says_which_file_to_put_where(home):
    with pytest.raises(URLError) as error:
        hub.load_state_dict_from_url(f"http://127.0.0.1:1/{NAME}", progress=False)
    path = f"{home}/.cache/facula/hub/checkpoints/{NAME}"
    assert f"Without a network, put the file at {path!r}." in str(error.value)
    assert f"http://127.0.0.1:1/{NAME}: " in str(error.value)


def test_damaged_file_is_named(home):
    (home / "net.pth").write_bytes(DATA[:-30])
    text = r"The file is '.*net.pth': if it is damaged, delete it to fetch it again"
    with pytest.raises(facula.serialization.CheckpointError, match=text):
        hub.load_state_dict_from_url("http://127.0.0.1:1/net.pth", model_dir=str(home))


def test_checkpoint_in_an_ordinary_archive_is_loaded(home):
    old = io.BytesIO()
    facula.save({"epoch": 3}, old)
    with zipfile.ZipFile(home / "old.pth", "w") as archive:
        archive.writestr("weights.pth", old.getvalue())
    state = hub.load_state_dict_from_url("http://127.0.0.1:1/old.pth", model_dir=str(home))
    assert state == {"epoch": 3}


def test_local_repository_is_called(home):
    (home / "helper_of_repo.py").write_text("scale = 10")
    (home / "hubconf.py").write_text(
        "dependencies = ['math']\nimport helper_of_repo\n"
        "def times(x, plus=0): return x * helper_of_repo.scale + plus\n"
    )
    assert hub.load(home, "times", 3, source="local", trust_repo=True, plus=1) == 31


@pytest.mark.parametrize(
    "code, kwargs, error, text",
    [
        ("", {"source": "gitlab"}, ValueError, r'expected source="github" or "local"'),
        ("", {"source": "github"}, NotImplementedError, "Clone https://github.com/"),
        ("", {}, RuntimeError, "has no function 'net'"),
        ("dependencies = ['no_such']", {}, RuntimeError, "needs pip install no_such"),
        (None, {}, FileNotFoundError, "there is no file '.*hubconf.py'"),
    ],
)
def test_bad_repositories_are_refused(home, code, kwargs, error, text):
    if code is not None:
        (home / "hubconf.py").write_text(code)
    with pytest.raises(error, match=text):
        hub.load(home, "net", **{"source": "local", **kwargs})


def test_functions_of_a_folder_are_listed_and_explained(tmp_path):
    code = "def net(n):\n    'A net.'\n    return n\n_hidden = net\nnumber = 3\n"
    (tmp_path / "hubconf.py").write_text(code)
    assert hub.list(tmp_path) == ["net"]
    assert hub.help(str(tmp_path), "net") == "A net."
    with pytest.raises(RuntimeError, match="no function 'other'"):
        hub.help(tmp_path, "other")


def test_a_repository_that_is_there_already_is_used(home):
    folder = home / ".cache" / "facula" / "hub" / "someone_models_main"
    folder.mkdir(parents=True)
    (folder / "hubconf.py").write_text("def net(n): return n + 1")
    assert hub.load("someone/models", "net", 2) == 3
    assert hub.list("someone/models:main") == ["net"]
    with pytest.raises(NotImplementedError, match=r"Clone https://github.com/someone/models \(bra"):
        hub.load("someone/models:other", "net", 2)


def test_the_progress_bar_is_that_of_tqdm(monkeypatch):
    module = types.ModuleType("tqdm")
    module.tqdm = object()
    monkeypatch.setitem(sys.modules, "tqdm", module)
    assert facula.hub.tqdm is module.tqdm
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        facula.hub.nothing  # noqa: B018
