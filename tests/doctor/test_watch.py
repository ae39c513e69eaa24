"""A watch changes nothing, ends when it is told to, and survives its own checks."""

import sys
import threading
import warnings

import pytest

import facula
from facula import doctor, nn, optim
from facula.doctor._checks import CHECKS, losses
from facula.doctor._checks._check import Check
from facula.utils.data import DataLoader, Dataset


def softmax_into_cross_entropy():
    logits = facula.ones(1, 2, requires_grad=True)
    return nn.functional.cross_entropy(logits.softmax(1), facula.tensor([0]))


def silent(finding):
    pass


def ids(watch):
    return [finding.id for finding in watch.findings]


@pytest.fixture(autouse=True)
def no_watch_is_left_on():
    yield
    assert doctor.Watch.current is None


def test_enable_watches_until_disable():
    watch = doctor.enable(tell=silent)
    try:
        assert doctor.enable() is watch
        softmax_into_cross_entropy()
    finally:
        doctor.disable()
    nn.functional.nll_loss(facula.ones(1, 2), facula.tensor([0]))
    doctor.disable()
    assert ids(watch) == ["F101"]


def test_one_watch_is_on_at_a_time():
    with doctor.watch(), pytest.raises(RuntimeError, match=r"doctor: a watch is on already\. End"):
        doctor.watch().start()


def test_a_block_that_raises_ends_its_watch():
    with pytest.raises(ValueError, match="mine"), doctor.watch():
        raise ValueError("mine")
    assert doctor.Watch.current is None


def test_findings_go_to_standard_error_by_default(capsys):
    with doctor.watch():
        softmax_into_cross_entropy()
    out, err = capsys.readouterr()
    assert out == ""
    assert "test_watch.py" in err and "F101 cross_entropy is given the result of softmax" in err


class Broken(Check):
    id = "F999"
    title = why = fix = "it raises"
    operations = frozenset({"cross_entropy"})

    def operation(self, call):
        raise ArithmeticError("a mistake of our own")

    def ends(self):
        self.say("this check is still on.")


def test_a_check_that_raises_is_switched_off_with_a_warning(monkeypatch):
    monkeypatch.setattr(sys.modules["facula.doctor._watch"], "CHECKS", [Broken, *CHECKS])
    with doctor.watch(tell=silent) as watch:
        with pytest.warns(UserWarning, match="doctor: the check F999 failed and is off: Arithm"):
            loss = softmax_into_cross_entropy()
        assert ids(watch) == ["F101"]  # the other checks go on
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            softmax_into_cross_entropy()
    assert loss.requires_grad
    assert ids(watch) == ["F101"]


class Squares(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        softmax_into_cross_entropy()
        return float(i), doctor.Watch.current is None


def test_workers_of_a_loader_are_not_watched(capfd):
    with doctor.watch() as watch:
        batches = list(DataLoader(Squares(), batch_size=2, num_workers=2))
    assert [batch[1].tolist() for batch in batches] == [[True, True], [True, True]]
    assert watch.findings == []
    assert capfd.readouterr().err == ""


def test_other_threads_are_not_watched():
    with doctor.watch(tell=silent) as watch:
        thread = threading.Thread(target=softmax_into_cross_entropy)
        thread.start()
        thread.join()
    assert watch.findings == []


def weights_after_training():
    facula.manual_seed(3)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = facula.randn(16, 3), facula.randint(0, 2, (16,))
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return [p.detach().clone() for p in model.parameters()] + [facula.rand(4)]


def test_results_under_a_watch_have_the_same_bits():
    plain = weights_after_training()
    with doctor.watch() as watch:
        watched = weights_after_training()
    assert watch.findings == []
    for a, b in zip(plain, watched, strict=True):
        assert facula.equal(a, b)


def test_functions_that_are_watched_take_their_arguments_by_name(tmp_path):
    model = nn.Linear(2, 1)
    with doctor.watch(tell=silent) as watch:
        optimizer = optim.SGD(params=model.parameters(), lr=0.1)
        scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer=optimizer)
        facula.save(obj=model.state_dict(), f=tmp_path / "model.pt")
        model.load_state_dict(state_dict=facula.load(f=tmp_path / "model.pt"), strict=True)
        scaler = facula.amp.GradScaler("cpu", enabled=False)
        loss = scaler.scale(outputs=model(input=facula.ones(1, 2)).sum())
        loss.backward(gradient=facula.ones(()))
        nn.utils.clip_grad_value_(parameters=model.parameters(), clip_value=1e6)
        optimizer.step(closure=None)
        optimizer.zero_grad(set_to_none=True)
        scheduler.step(metrics=1.0)
    assert watch.findings == []


def test_a_watch_keeps_no_model_alive():
    import gc
    import weakref

    with doctor.watch():
        model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
        optimizer = optim.Adam(model.parameters())
        loss = model(facula.ones(1, 3)).sum()
        loss.backward()
        optimizer.step()
        alive = [weakref.ref(thing) for thing in (model, optimizer, model[0].weight, loss)]
        del model, optimizer, loss
        gc.collect()
        assert [ref() for ref in alive] == [None] * 4


def test_every_check_says_what_it_is_for():
    numbers = [check.id for check in CHECKS]
    assert len(set(numbers)) == len(numbers)
    for check in CHECKS:
        assert check.title and check.why.endswith(".") and check.fix
        assert check.__doc__
    assert losses.SoftmaxBeforeCrossEntropy in CHECKS


def test_a_watch_says_what_it_found():
    with doctor.watch(tell=lambda finding: None) as watch:
        assert repr(watch) == "<doctor.Watch, is on: 0 findings>"
        facula.nn.functional.cross_entropy(facula.ones(1, 2).softmax(1), facula.tensor([0]))
    assert repr(watch) == "<doctor.Watch, is over: 1 finding (F101)>"
