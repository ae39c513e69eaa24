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


def test_an_unknown_command_is_refused(capsys):
    with pytest.raises(SystemExit):
        cli.main(["fly"])
    assert "invalid choice: 'fly'" in capsys.readouterr().err
