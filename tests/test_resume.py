import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import facula
from examples import digits
from facula import nn
from facula.resume import Checkpoints
from facula.serialization import CheckpointError


def parts():
    model = nn.Linear(2, 1)
    return {"model": model, "optimizer": facula.optim.SGD(model.parameters(), lr=0.1)}


def test_a_folder_without_files_restores_nothing(tmp_path):
    assert Checkpoints(tmp_path / "new" / "run", **parts()).restore() is None


def test_parts_and_values_come_back(tmp_path):
    saved = parts()
    Checkpoints(tmp_path, **saved).save(7, epoch=2, order=facula.arange(3))
    restored = parts()
    values = Checkpoints(tmp_path, **restored).restore()
    assert (values["step"], values["epoch"], values["order"].tolist()) == (7, 2, [0, 1, 2])
    assert facula.equal(saved["model"].weight, restored["model"].weight)


def test_every_random_generator_goes_on(tmp_path):
    def draw():
        return random.random(), np.random.rand(), facula.rand(3).tolist()

    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1)
    expected = draw()
    draw()
    checkpoints.restore()
    assert draw() == expected


def test_the_last_files_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep_last=2)
    for step in (1, 2, 10, 3):
        checkpoints.save(step)
    assert [path.name for path in checkpoints.paths()] == ["step-000000003.pt", "step-000000010.pt"]
    assert checkpoints.restore()["step"] == 10


@pytest.mark.parametrize("best, expected", [("min", 2), ("max", 3)])
def test_the_best_file_is_kept(tmp_path, best, expected):
    for step, metric in enumerate([0.5, 0.7, 0.1, 0.9, 0.3]):
        Checkpoints(tmp_path, keep_last=1, best=best).save(step, metric=metric)
    assert Checkpoints(tmp_path).restore(tmp_path / "best.pt")["step"] == expected


@pytest.mark.promise("P4")
def test_a_damaged_file_is_passed_over_for_the_one_before(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1)
    checkpoints.save(2)
    first, second = checkpoints.paths()
    second.write_bytes(second.read_bytes()[:-100])
    with pytest.warns(UserWarning, match=r"step-000000002\.pt cannot be read"):
        assert checkpoints.restore()["step"] == 1
    first.write_bytes(b"")
    with pytest.warns(UserWarning), pytest.raises(CheckpointError):
        checkpoints.restore()


def test_wrong_arguments_are_told(tmp_path):
    with pytest.raises(TypeError, match="expected epoch to have state_dict"):
        Checkpoints(tmp_path, epoch=3)
    with pytest.raises(ValueError, match="keep_last of at least 1, got 0"):
        Checkpoints(tmp_path, keep_last=0)
    with pytest.raises(ValueError, match="expected best to be 'min' or 'max', got 'low'"):
        Checkpoints(tmp_path, best="low")
    with pytest.raises(ValueError, match="needs the metric of the step"):
        Checkpoints(tmp_path, best="min").save(1)


def test_other_parts_than_the_files_are_refused(tmp_path):
    Checkpoints(tmp_path, **parts()).save(1)
    with pytest.raises(KeyError, match="the file has the parts"):
        Checkpoints(tmp_path).restore()


# Two epochs of a small network with dropout on noisy samples, a save after every step, and its
# fingerprint.
TRAINING = """
import hashlib, sys, time
import facula
from facula import nn
from facula.resume import Checkpoints
from facula.utils.data import DataLoader, Dataset

class Noisy(Dataset):
    data = facula.linspace(-1, 1, 320).reshape(80, 4)
    def __len__(self):
        return len(self.data)
    def __getitem__(self, index):
        return self.data[index] + 0.1 * facula.randn(4)

folder, n_workers, pause_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
facula.manual_seed(1)
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 2))
optimizer = facula.optim.AdamW(model.parameters(), lr=0.01)
scheduler = facula.optim.lr_scheduler.StepLR(optimizer, 7, gamma=0.5)
loader = DataLoader(Noisy(), batch_size=4, shuffle=True, num_workers=n_workers)
parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "loader": loader}
checkpoints = Checkpoints(folder, **parts)
step = (checkpoints.restore() or {"step": 0})["step"]
print("start", step, flush=True)
while step < 40:
    for batch in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch), (batch.sum(1) > 0).long()).backward()
        optimizer.step()
        scheduler.step()
        step += 1
        checkpoints.save(step)
        time.sleep(pause_s)
weights = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
print(hashlib.sha256(weights).hexdigest())
"""


def train(folder, n_workers, pause_s=0.0):
    env = {**os.environ, "PYTHONPATH": str(Path(facula.__file__).parent.parent)}
    command = [sys.executable, "-c", TRAINING, str(folder), str(n_workers), str(pause_s)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def fingerprint(process):
    *_, found = process.communicate(timeout=100)[0].split()
    assert len(found) == len(hashlib.sha256().hexdigest())
    return found


@pytest.mark.promise("P5", "D2")
@pytest.mark.parametrize("n_workers", [0, 2])
def test_a_training_killed_in_mid_epoch_ends_with_the_same_weights(tmp_path, n_workers):
    expected = fingerprint(train(tmp_path / "whole", n_workers))
    checkpoints = Checkpoints(tmp_path / "killed")
    for last_step in (7, 26):  # in the middle of each epoch
        killed = train(tmp_path / "killed", n_workers, pause_s=0.02)
        while killed.poll() is None and not (
            checkpoints.paths() and checkpoints.paths()[-1].name >= f"step-{last_step:09d}.pt"
        ):
            time.sleep(0.01)
        os.kill(killed.pid, signal.SIGKILL)
        killed.communicate(timeout=100)
        assert checkpoints.paths()[-1].name < "step-000000040.pt"
    assert fingerprint(train(tmp_path / "killed", n_workers)) == expected


@pytest.mark.promise("P5", "D2")
def test_a_training_does_not_depend_on_the_number_of_workers(tmp_path):
    expected = fingerprint(train(tmp_path / "whole", 2))
    assert fingerprint(train(tmp_path / "none", 0)) == expected


@pytest.mark.promise("P5")
def test_anything_with_a_state_is_a_part(tmp_path):
    class Scaler:
        def __init__(self):
            self.scale, self.n_good = 65536.0, 0

        def state_dict(self):
            return {"scale": self.scale, "n_good": self.n_good}

        def load_state_dict(self, state):
            self.scale, self.n_good = state["scale"], state["n_good"]

    scaler = Scaler()
    checkpoints = Checkpoints(tmp_path, scaler=scaler)
    scaler.scale, scaler.n_good = 1024.0, 7
    checkpoints.save(1)
    scaler.scale, scaler.n_good = 0.0, 0
    checkpoints.restore()
    assert (scaler.scale, scaler.n_good) == (1024.0, 7)


@pytest.mark.promise("P5")
def test_the_demo_goes_on_after_a_kill_as_if_there_was_none(tmp_path):
    paths = [str(Path(facula.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def start(name):
        command = [sys.executable, digits.__file__, "--epochs=4", "--results", tmp_path / name]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    assert start("whole").communicate()[0]
    killed = start("killed")
    while killed.poll() is None and not list(
        tmp_path.glob("killed/checkpoints/*/step-000000002.pt")
    ):
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert not (tmp_path / "killed" / "weights.pt").exists()
    assert b"going on after epoch 2 of 4" in start("killed").communicate()[0]
    weights = [(tmp_path / name / "weights.pt").read_bytes() for name in ("whole", "killed")]
    assert weights[0] == weights[1]
    # TensorBoard shows one curve, without a gap and without what was trained twice.
    curves = [read_curve(tmp_path / name / "logs") for name in ("whole", "killed")]
    assert [step for step, _ in curves[0]] == list(range(1, 4 * 45 + 1))
    assert curves[0] == curves[1]


def read_curve(logs):
    events = EventAccumulator(str(logs), size_guidance={"scalars": 0}).Reload()
    return [(point.step, point.value) for point in events.Scalars("loss")]
