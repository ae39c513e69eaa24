"""What tests of datasets share: files that need no hash, and a network."""

import os

import pytest

from facula import _download
from facula.vision.datasets import utils


@pytest.fixture
def any_hash(monkeypatch):
    monkeypatch.setattr(utils, "check_md5", lambda *args, **kwargs: True)


@pytest.fixture
def network(monkeypatch, any_hash):
    """What the network has, bytes by name; ``asked`` are the addresses that were asked for."""

    class Network(dict):
        pass

    files_there = Network()
    files_there.asked = []

    def fetch(urls, path, checksum, **kwargs):
        name = os.path.basename(path)
        files_there.asked.append(urls[0])
        if name not in files_there:
            raise _download.DownloadError(f"no {name}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(files_there[name])

    monkeypatch.setattr(_download, "fetch", fetch)
    return files_there
