import inspect
import subprocess
import sys
import warnings
from types import SimpleNamespace

import pytest

import facula
from facula import nn
from facula._warnings import line_text


def _deep():
    x = facula.ones(2, 3, requires_grad=True)
    net = nn.Sequential(nn.Sequential(nn.Softmax()))
    scheduler = facula.optim.lr_scheduler.StepLR(facula.optim.SGD([x], 1.0), 1)
    return [
        lambda: net(x),
        lambda: nn.CrossEntropyLoss(size_average=True),
        lambda: nn.functional.mse_loss(x, x, reduce=True),
        lambda: nn.LSTM(1, 1, dropout=0.5),
        lambda: scheduler.step(3),
        lambda: (x * 2).grad,
        lambda: facula.ones(1).var(),
        lambda: facula.add(x.detach(), 1, out=facula.ones(5)),
        lambda: nn.functional.upsample(facula.ones(1, 1, 2, 2), 4),
    ]


@pytest.mark.promise("U2", "U3")
@pytest.mark.parametrize("index", range(9))
def test_warnings_name_the_line_of_the_user_however_deep_they_are(index):
    call = _deep()[index]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    for warning in caught:
        assert warning.filename == __file__
        assert warning.lineno == inspect.getsourcelines(call)[1]


def test_a_warning_without_a_user_names_our_line():
    code = (
        "import threading, warnings, facula._warnings as w; warnings.simplefilter('error')\n"
        "t = threading.Thread(target=w.warn_user, args=('alone',)); t.start(); t.join()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "UserWarning: alone" in done.stderr


def test_a_line_of_a_notebook_is_named_by_its_cell(monkeypatch, tmp_path):
    def format_code_name(file):  # as IPython's compiler has it
        return ("Cell", "In[3]") if file == "/tmp/ipykernel_1/2.py" else None

    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=format_code_name))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.chdir(tmp_path)
    assert line_text("/tmp/ipykernel_1/2.py", 5) == "Cell In[3], line 5"
    assert line_text(str(tmp_path / "train.py"), 5) == f"{tmp_path / 'train.py'}:5"
    assert line_text(str(tmp_path / "train.py"), 5, from_here=True) == "train.py:5"
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert line_text("/tmp/ipykernel_1/2.py", 5) == "/tmp/ipykernel_1/2.py:5"
