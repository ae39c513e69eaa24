"""Weights and models by their address: fetched once, then taken from a folder on disk."""

from __future__ import annotations

import builtins
import importlib.util
import inspect
import os
import re
import sys
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from facula import _download
from facula.serialization import CheckpointError
from facula.serialization import load as _load
from facula.serialization._locations import MapLocation

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_HASH_IN_NAME = re.compile(r"-([a-f0-9]+)\.")
MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"

_dir: str | None = None


def get_dir() -> str:
    """The folder of what was downloaded.

    That is ``$FACULA_HOME/hub``, else ``$TORCH_HOME/hub``, else ``facula/hub`` in
    ``$XDG_CACHE_HOME`` (``~/.cache``), unless :func:`set_dir` has set another.

    Example:
        >>> facula.hub.set_dir("weights")
        >>> facula.hub.get_dir()
        'weights'
        >>> facula.hub.set_dir(None)
    """
    if _dir is not None:
        return _dir
    return os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str] | None) -> None:
    """Set the folder for what is downloaded.

    Args:
        d: the folder; None for the one that the environment names.
    """
    global _dir
    _dir = None if d is None else os.path.expanduser(d)


# By PyTorch's name: packages keep files of their own in the folder.
def _get_torch_home() -> str:
    home = os.environ.get("FACULA_HOME") or os.environ.get("TORCH_HOME") or _cache("facula")
    return os.path.expanduser(home)


def _cache(name: str) -> str:
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", name)


def _torch_dir() -> str:
    return os.path.expanduser(os.path.join(os.environ.get("TORCH_HOME") or _cache("torch"), "hub"))


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Download a file: it is at its place whole, or not at all.

    A broken connection is taken up where it broke. An error says where to put the file by hand.

    Args:
        url: where the file is.
        dst: where to put the file; its folder is made.
        hash_prefix: how the file's SHA-256 hash must begin, in hexadecimal.
        progress: say on stderr what is fetched, with a bar on a terminal.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "here.txt").write_text("hello")
        >>> url = (folder / "here.txt").as_uri()
        >>> facula.hub.download_url_to_file(url, f"{folder}/copy.txt", progress=False)
        >>> (folder / "copy.txt").read_text()
        'hello'
    """
    checksum = ("sha256", hash_prefix) if hash_prefix else None
    _download.fetch(url, dst, checksum, progress=progress)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: MapLocation | None = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> dict[str, Any]:
    """Load the weights at an address, from the disk if they were fetched before.

    PyTorch's own folder is looked into as well: what it has downloaded is not fetched again.

    Args:
        url: where the file is.
        model_dir: the folder to keep the file in; by default ``checkpoints`` in :func:`get_dir`.
        map_location: the device to load to; :func:`facula.load` says what else it may be.
        progress: say on stderr what is fetched, with a bar on a terminal.
        check_hash: compare the file's SHA-256 hash with the digits after ``-`` in its name.
        file_name: the file's name on disk; by default as in the address.
        weights_only: False lets the file run code, as in :func:`facula.load`. Unlike PyTorch's,
            the default is True: this file comes from a network.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> facula.save({"weight": facula.ones(2)}, folder / "model.pth")
        >>> url = (folder / "model.pth").as_uri()
        >>> facula.hub.load_state_dict_from_url(url, f"{folder}/cache", progress=False)
        {'weight': tensor([1., 1.])}
    """
    name = file_name or os.path.basename(urlparse(url).path)
    if not name:
        raise ValueError(f"load_state_dict_from_url: {url!r} ends in no file name: give file_name.")
    path = os.path.join(model_dir or os.path.join(get_dir(), "checkpoints"), name)
    if not os.path.exists(path):
        of_torch = os.path.join(_torch_dir(), "checkpoints", name)
        if model_dir is None and os.path.exists(of_torch):
            path = of_torch
        else:
            match = _HASH_IN_NAME.search(name) if check_hash else None
            download_url_to_file(url, path, match.group(1) if match else None, progress)
    try:
        return _load_weights(path, map_location, weights_only)
    except CheckpointError as error:
        if type(error) is not CheckpointError:  # a device is missing: the file is not to blame
            raise
        text = f"{error} The file is {path!r}: if it is damaged, delete it to fetch it again."
        raise CheckpointError(text, error.offset, error.found) from error


def _load_weights(
    path: str, map_location: MapLocation | None, weights_only: bool
) -> dict[str, Any]:
    weights: dict[str, Any]
    # Some old files are a checkpoint in an ordinary zip archive. PyTorch's own format is an archive
    # of several files.
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if len(names) == 1:
                with archive.open(names[0]) as member:
                    weights = _load(member, map_location, weights_only=weights_only)
                    return weights
    weights = _load(path, map_location, weights_only=weights_only)
    return weights


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a function of the file ``hubconf.py`` in a folder: usually, make a model.

    Args:
        repo_or_dir: the folder that has ``hubconf.py``, or ``"owner/repository:branch"``.
        model: the name of the function to call.
        *args: positional arguments of the function.
        source: ``"local"`` for a folder; ``"github"`` for a repository that is in :func:`get_dir`
            already, as ``owner_repository_branch``. Repositories are not downloaded: code of the
            network that nobody has looked at is not run.
        trust_repo: accepted as in PyTorch; matters for ``source="github"`` only.
        force_reload: accepted as in PyTorch; matters for ``source="github"`` only.
        verbose: accepted as in PyTorch; matters for ``source="github"`` only.
        skip_validation: accepted as in PyTorch; matters for ``source="github"`` only.
        **kwargs: keyword arguments of the function.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> code = "from facula import nn\\ndef small(n): return nn.Linear(n, 2)"
        >>> _ = (folder / "hubconf.py").write_text(code)
        >>> facula.hub.load(folder, "small", 3, source="local")
        Linear(in_features=3, out_features=2, bias=True)
    """
    module = _import_hubconf(_folder("load", repo_or_dir, source))
    missing = [
        name
        for name in getattr(module, "dependencies", [])
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise RuntimeError(f"hub.load: {repo_or_dir} needs pip install {' '.join(missing)}")
    function = getattr(module, model, None)
    if not callable(function):
        raise RuntimeError(f"hub.load: hubconf.py in {repo_or_dir} has no function {model!r}.")
    return function(*args, **kwargs)


def list(
    github: str | os.PathLike[str],
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
    verbose: bool = True,
) -> builtins.list[str]:
    """The names of the functions of the file ``hubconf.py`` in a folder or repository.

    Args:
        github: the folder that has ``hubconf.py``, or ``"owner/repository:branch"`` of one that is
            in :func:`get_dir` already.
        force_reload, skip_validation, trust_repo, verbose: accepted as in PyTorch; nothing is
            downloaded.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "hubconf.py").write_text("def small(n):\\n    'A small model.'")
        >>> facula.hub.list(folder)
        ['small']
        >>> facula.hub.help(folder, "small")
        'A small model.'
    """
    module = _import_hubconf(_folder("list", github, _source_of(github)))
    return [n for n, f in vars(module).items() if callable(f) and not n.startswith("_")]


def help(
    github: str | os.PathLike[str],
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
) -> str | None:
    """The docstring of a function of the file ``hubconf.py`` in a folder or repository.

    Args:
        github: as of :func:`list`.
        model: the name of the function.
        force_reload, skip_validation, trust_repo: accepted as in PyTorch; nothing is downloaded.
    """
    module = _import_hubconf(_folder("help", github, _source_of(github)))
    function = getattr(module, model, None)
    if not callable(function):
        raise RuntimeError(f"hub.help: hubconf.py in {github} has no function {model!r}.")
    return inspect.getdoc(function)


def _source_of(place: str | os.PathLike[str]) -> str:
    return "local" if os.path.isdir(place) else "github"


def _folder(name: str, place: str | os.PathLike[str], source: str) -> Path:
    """The folder of a repository."""
    if source not in ("github", "local"):
        raise ValueError(f'hub.{name}: expected source="github" or "local", got {source!r}.')
    if source == "local":
        return Path(place).resolve()
    repository, _, branch = str(place).partition(":")
    # PyTorch has the same names in its own folder; without a branch, those of most repositories.
    for folder in (get_dir(), _torch_dir()):
        for each in [branch] if branch else ["main", "master"]:
            path = Path(folder) / f"{repository.replace('/', '_')}_{each.replace('/', '_')}"
            if path.is_dir():
                return path
    raise NotImplementedError(
        f"hub.{name}: repositories are not downloaded. Clone https://github.com/{repository}"
        f"{f' (branch or tag {branch})' if branch else ''} and call "
        f'hub.{name}(folder, ..., source="local").'
    )


def _import_hubconf(folder: Path) -> Any:
    path = folder / "hubconf.py"
    if not path.is_file():
        raise FileNotFoundError(f"hub.load: there is no file {str(path)!r}.")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))  # the modules of the repository
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tqdm import tqdm  # type: ignore[import-untyped, unused-ignore]

    return tqdm
