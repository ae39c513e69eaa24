"""Averages of parameters over time."""

import pytest

import facula
from facula import nn, optim
from facula.optim import swa_utils

pytestmark = pytest.mark.promise("N6")


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(facula.zeros(2))
        self.register_buffer("count", facula.zeros((), dtype=facula.int64))

    def forward(self, x):
        return self.weight * x


def average(values, **options):
    model = Scale()
    averaged = swa_utils.AveragedModel(model, **options)
    for i, value in enumerate(values):
        with facula.no_grad():
            model.weight.fill_(value)
        model.count.fill_(10 * i)
        averaged.update_parameters(model)
    return averaged


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, 3.0),
        ({"avg_fn": swa_utils.get_swa_avg_fn()}, 3.0),
        ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, 3.0),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.5)}, 3.75),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, 3.75),
        ({"avg_fn": lambda average, new, n: average + n}, 4.0),
    ],
)
def test_parameters_are_averaged_by_their_rule(options, expected):
    averaged = average([1.0, 2.0, 6.0], **options)
    assert averaged.module.weight.tolist() == pytest.approx([expected] * 2)
    assert averaged.n_averaged.item() == 3
    assert averaged(facula.ones(2)).tolist() == pytest.approx([expected] * 2)


def test_buffers_are_copied_or_averaged():
    assert average([1.0, 2.0, 3.0]).module.count.item() == 20
    assert average([1.0, 2.0, 3.0], use_buffers=True).module.count.item() == 10


def test_an_average_is_saved_with_its_count():
    averaged = average([1.0, 3.0])
    other = swa_utils.AveragedModel(Scale())
    other.load_state_dict(averaged.state_dict())
    assert other.n_averaged.item() == 2 and other.module.weight.tolist() == [2.0, 2.0]
    assert sorted(averaged.state_dict()) == ["module.count", "module.weight", "n_averaged"]


def test_statistics_of_batch_norms_are_computed_again_over_all_batches():
    model = nn.Sequential(nn.BatchNorm1d(1, momentum=0.3), nn.Linear(1, 1)).eval()
    batches = [facula.full((4, 1), value) for value in (1.0, 2.0, 6.0)]
    swa_utils.update_bn([(batch, None) for batch in batches], model)
    norm = model[0]
    assert norm.running_mean.tolist() == pytest.approx([3.0])
    assert (norm.momentum, model.training) == (0.3, False)
    swa_utils.update_bn(batches[:1], nn.Linear(1, 1))  # without any, the data is not read


def test_a_pass_that_fails_leaves_mode_and_momentum_as_they_were():
    model = nn.BatchNorm1d(1).eval()
    with pytest.raises((RuntimeError, ValueError)):
        swa_utils.update_bn([facula.ones(2, 3, 4, 5)], model)
    assert (model.momentum, model.training) == (0.1, False)


def test_bad_arguments_are_refused():
    with pytest.raises(AssertionError, match="give avg_fn or multi_avg_fn, not both"):
        swa_utils.AveragedModel(Scale(), avg_fn=max, multi_avg_fn=max)
    for make in (swa_utils.get_ema_avg_fn, swa_utils.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match="decay must be between 0 and 1, got"):
            make(1.5)
    optimizer = optim.SGD(Scale().parameters())
    with pytest.raises(ValueError, match="SWALR: anneal_strategy must be 'cos' or 'linear'"):
        swa_utils.SWALR(optimizer, 0.1, anneal_strategy="x")
    with pytest.raises(ValueError, match="SWALR: anneal_epochs must be an integer of at least 0"):
        swa_utils.SWALR(optimizer, 0.1, anneal_epochs=-1)
