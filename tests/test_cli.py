import pytest

import facula
from facula import cli


def test_info_names_version_threads_and_cuda(capsys):
    cli.main(["info"])
    facts = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
    assert facts["facula"].strip() == facula.__version__
    assert facts["threads"].strip() == str(facula.get_num_threads())
    assert "OpenBLAS" in facts["blas"]
    assert facula.cuda.is_available() or "not available: " in facts["cuda"]
    assert "GiB, of which" in facts["memory"]
    assert facts["weights in"].strip() == facula.hub.get_dir()


def test_info_names_the_extras_that_are_missing(monkeypatch):
    from importlib import metadata

    lines = ["numpy>=1.26", "pillow>=10; extra == 'vision'", "no-such-package; extra == 'cuda'"]
    monkeypatch.setattr(metadata, "requires", lambda name: lines)
    assert cli._extras() == ("vision, tensorboard, onnx; for the others: pip install facula[cuda]")


def test_an_unknown_command_is_refused(capsys):
    with pytest.raises(SystemExit):
        cli.main(["fly"])
    assert "invalid choice: 'fly'" in capsys.readouterr().err
