"""A loader that is stopped at any batch goes on exactly there."""

import io
import itertools
import random

import numpy as np
import pytest
from data_tools import Drawing, Shares, plain

import facula
from facula.resume import Checkpoints
from facula.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    Sampler,
    get_worker_info,
)

pytestmark = pytest.mark.promise("D2")

WAYS = [{}, {"num_workers": 1}, {"num_workers": 3}, {"num_workers": 2, "worker_type": "thread"}]


def seeded(**kwargs):
    facula.manual_seed(3)
    random.seed(3)
    np.random.seed(3)
    batch_size = 1 if "batch_sampler" in kwargs else 4
    return DataLoader(Drawing(22, kwargs.get("worker_type") != "thread"), batch_size, **kwargs)


def through_a_file(state):
    file = io.BytesIO()
    facula.save(state, file)
    file.seek(0)
    return facula.load(file)


def disturb():
    facula.rand(3)
    random.random()
    np.random.rand()


def stop_and_go_on(make, n_taken, make_other=None):
    """All batches of an epoch and the next; and those of a loader that goes on after some."""
    loader = make()
    whole = plain([list(loader), list(loader)])
    loader = make()
    iterator = iter(loader)
    first = [plain(next(iterator)) for _ in range(n_taken)]
    state = through_a_file(loader.state_dict())
    random_states = facula.get_rng_state(), random.getstate(), np.random.get_state(legacy=False)
    del iterator, loader
    disturb()
    other = (make_other or make)()
    other.load_state_dict(state)
    facula.set_rng_state(random_states[0])  # as Checkpoints does
    random.setstate(random_states[1])
    np.random.set_state(random_states[2])
    rest = plain(list(other))
    return whole, [first + rest, plain(list(other))]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("n_taken", [0, 1, 3, 6])
def test_the_rest_of_the_epoch_and_the_next_are_the_same(way, n_taken):
    whole, parts = stop_and_go_on(lambda: seeded(shuffle=True, **way), n_taken)
    assert len(whole[0]) == 6
    assert parts == whole


def test_the_number_of_workers_may_change():
    for before, after in itertools.permutations([{}, {"num_workers": 1}, {"num_workers": 3}], 2):
        whole, parts = stop_and_go_on(
            lambda way=before: seeded(shuffle=True, **way),
            2,
            lambda way=after: seeded(shuffle=True, **way),
        )
        assert parts == whole


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_generator_of_the_user_is_part_of_the_state(num_workers):
    def make():
        generator = facula.Generator().manual_seed(8)
        return seeded(shuffle=True, generator=generator, num_workers=num_workers)

    whole, parts = stop_and_go_on(make, 2)
    assert parts == whole


@pytest.mark.parametrize("num_workers", [0, 2])
def test_draws_with_replacement_go_on(num_workers):
    def make():
        generator = facula.Generator().manual_seed(8)
        sampler = RandomSampler(range(22), True, 90, generator)
        return seeded(sampler=sampler, num_workers=num_workers)

    whole, parts = stop_and_go_on(make, 9)
    assert parts == whole


class Shuffled(Sampler):
    """Draws its order from Python's stream, as many samplers of users do."""

    def __iter__(self):
        order = list(range(22))
        random.shuffle(order)
        return iter(order)

    def __len__(self):
        return 22


@pytest.mark.parametrize("num_workers", [0, 2])
def test_samplers_that_draw_from_python_go_on(num_workers):
    whole, parts = stop_and_go_on(lambda: seeded(sampler=Shuffled(), num_workers=num_workers), 2)
    assert parts == whole


class ShuffledByNumpy(Shuffled):
    def __iter__(self):
        return iter(np.random.permutation(22).tolist())


@pytest.mark.parametrize("num_workers", [0, 2])
def test_samplers_that_draw_from_another_generator_of_numpy_go_on(num_workers, another_generator):
    sampler = ShuffledByNumpy()
    whole, parts = stop_and_go_on(lambda: seeded(sampler=sampler, num_workers=num_workers), 2)
    assert parts == whole


class Counter(Sampler):
    """A sampler that remembers, and that cannot be run from the start again."""

    def __init__(self):
        self.position = 0

    def __iter__(self):
        while self.position % 22 or self.position == 0:
            i = self.position % 22
            self.position += 1
            yield i
        self.position = 0

    def __len__(self):
        return 22

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.position = state["position"]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_samplers_with_a_state_are_restored_without_what_was_fetched_ahead(num_workers):
    loader = DataLoader(range(22), 4, sampler=Counter(), num_workers=num_workers)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    assert state["sampler"] == {"position": 4}
    other = DataLoader(range(22), 4, sampler=Counter(), num_workers=num_workers)
    other.load_state_dict(state)
    assert plain(list(other))[0] == [4, 5, 6, 7]


def test_batch_samplers_go_on():
    def make():
        return seeded(batch_sampler=BatchSampler(Shuffled(), 3, True), num_workers=1)

    whole, parts = stop_and_go_on(make, 2)
    assert parts == whole


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("n_taken", [0, 1, 5, 8])
def test_iterable_datasets_go_on(way, n_taken):
    def make():
        facula.manual_seed(3)
        return DataLoader(Shares(29), 3, **way)

    whole, parts = stop_and_go_on(make, n_taken)
    assert parts == whole


class Uneven(IterableDataset):
    """Workers have shares of very different sizes; the dataset says where it is."""

    def __init__(self):
        self.position = 0
        self.n_read = 0

    def __iter__(self):
        worker = get_worker_info().id if get_worker_info() else 0
        while self.position < (3, 11, 6)[worker]:
            self.position += 1
            self.n_read += 1
            yield 100 * worker + self.position, self.n_read
        self.position = 0


class Stateful(Uneven):
    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.position = state["position"]


@pytest.mark.parametrize("n_taken", [0, 1, 4, 6, 7, 10, 11])
def test_uneven_shares_go_on_in_the_same_order(n_taken):
    whole, parts = stop_and_go_on(lambda: DataLoader(Uneven(), 2, num_workers=3), n_taken)
    assert [len(epoch) for epoch in whole] == [11, 11]
    assert parts == whole


@pytest.mark.parametrize("num_workers", [0, 3])
def test_iterable_datasets_with_a_state_do_not_read_again(num_workers):
    loader = DataLoader(Stateful(), 2, num_workers=num_workers)
    iterator = iter(loader)
    taken = [plain(next(iterator)) for _ in range(1 if num_workers == 0 else 5)]
    state = through_a_file(loader.state_dict())
    other = DataLoader(Stateful(), 2, num_workers=num_workers)
    other.load_state_dict(state)
    rest = plain(list(other))
    numbers = sorted(i for batch in taken + rest for i in batch[0])
    shares = (3, 11, 6) if num_workers else (3,)
    assert numbers == [100 * w + i + 1 for w, n in enumerate(shares) for i in range(n)]
    assert max(n for batch in rest for n in batch[1]) < 11  # counted by the new process


def test_persistent_workers_go_on():
    def make():
        return seeded(shuffle=True, num_workers=2, persistent_workers=True)

    for n_taken in (2, 6):
        whole, parts = stop_and_go_on(make, n_taken)
        assert parts == whole
    loader = make()  # in its second epoch, whose seed was drawn for the first
    expected = [plain(list(loader)) for _ in range(3)]
    loader = make()
    list(loader)
    iterator = iter(loader)
    first = [plain(next(iterator)) for _ in range(3)]
    state, generator_state = loader.state_dict(), facula.get_rng_state()
    other = make()
    other.load_state_dict(state)
    facula.set_rng_state(generator_state)
    assert first + plain(list(other)) == expected[1]
    assert plain(list(other)) == expected[2]


def test_between_epochs_nothing_is_repeated():
    loader = seeded(shuffle=True)
    whole = [plain(list(loader)) for _ in range(2)]
    loader = seeded(shuffle=True)
    list(loader)
    state, generator_state = loader.state_dict(), facula.get_rng_state()
    other = seeded(shuffle=True)
    other.load_state_dict(state)
    facula.set_rng_state(generator_state)
    assert plain(list(other)) == whole[1]


def test_batches_out_of_order_are_neither_lost_nor_repeated():
    def make():
        return DataLoader(range(40), 2, num_workers=3, in_order=False)

    loader = make()
    iterator = iter(loader)
    taken = [plain(next(iterator)) for _ in range(7)]
    for num_workers in (0, 3):
        other = DataLoader(range(40), 2, num_workers=num_workers)
        other.load_state_dict(loader.state_dict())
        assert sorted(taken + plain(list(other))) == [[i, i + 1] for i in range(0, 40, 2)]


def test_a_state_can_be_taken_and_loaded_twice():
    loader = DataLoader(range(10), 2)
    next(iter(loader))
    state = loader.state_dict()
    other = DataLoader(range(10), 2)
    other.load_state_dict(state)
    assert other.state_dict()["n_taken"] == 1
    iterator = iter(other)
    assert other.state_dict()["n_taken"] == 1
    next(iterator)
    third = DataLoader(range(10), 2)
    third.load_state_dict(other.state_dict())
    assert plain(list(third)) == [[4, 5], [6, 7], [8, 9]]


def test_checkpoints_hold_the_place_of_a_loader(tmp_path):
    def make():
        loader = seeded(shuffle=True, num_workers=2)
        return loader, Checkpoints(tmp_path, loader=loader)

    loader, checkpoints = make()
    batches = []
    for step, batch in enumerate(loader):
        batches.append(plain(batch))
        if step == 2:
            checkpoints.save(step)
    batches += plain(list(loader))
    disturb()
    loader, checkpoints = make()
    assert checkpoints.restore()["step"] == 2
    assert plain(list(loader)) + plain(list(loader)) == batches[3:]


def test_states_of_other_loaders_are_refused():
    with pytest.raises(
        KeyError, match="state has no 'is_inside', 'generators', 'base_seed', which"
    ):
        DataLoader(range(3)).load_state_dict({"epoch": 1})
    with pytest.raises(TypeError, match="expected the state as a dict, got list"):
        DataLoader(range(3)).load_state_dict([])
    loader = DataLoader(Shares(9), 2, num_workers=2)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    with pytest.raises(ValueError, match="of 2 workers cannot go on with 1"):
        DataLoader(Shares(9), 2, num_workers=1).load_state_dict(state)
    with pytest.raises(ValueError, match="the state is that of a loader of an iterable dataset"):
        DataLoader(range(3)).load_state_dict(state)
    given = DataLoader(range(3), shuffle=True, generator=facula.Generator())
    with pytest.raises(ValueError, match=r"has the generators \[\], and this loader .*'loader'"):
        given.load_state_dict(DataLoader(range(3)).state_dict())


@pytest.mark.parametrize("key", ["n_taken", "streams", "is_iterable", "generators"])
def test_a_state_without_one_of_its_keys_is_refused_and_the_loader_stays(key):
    loader = DataLoader(range(6), 2)
    next(iter(loader))
    state = loader.state_dict()
    del state[key]
    other = DataLoader(range(6), 2)
    with pytest.raises(KeyError, match=f"DataLoader.load_state_dict: the state has no '{key}'"):
        other.load_state_dict(state)
    assert len(list(other)) == 3


def test_a_state_of_which_one_generator_is_refused_changes_none():
    def make():
        sampler = RandomSampler(range(4), generator=facula.Generator().manual_seed(1))
        return DataLoader(range(4), sampler=sampler, generator=facula.Generator().manual_seed(2))

    loader = make()
    state = loader.state_dict()
    before = plain(list(make()))
    for role in state["generators"]:
        list(loader)  # other states than those in the dict
        broken = {**state, "generators": {**state["generators"], role: "no state"}}
        given = make()
        with pytest.raises(TypeError):
            given.load_state_dict(broken)
        assert plain(list(given)) == before


def test_the_middle_of_an_epoch_in_other_batches_is_refused():
    loader = DataLoader(range(12), 2)
    next(iter(loader))
    other = DataLoader(range(12), 3)
    with pytest.raises(ValueError, match="in batches of 2 cannot go on in batches of 3"):
        other.load_state_dict(loader.state_dict())
    list(loader)
    other.load_state_dict(loader.state_dict())  # between two epochs it is no matter
    assert len(list(other)) == 4


def test_a_dataset_whose_state_takes_arguments_is_left_alone():
    class Told(IterableDataset):
        def __iter__(self):
            return iter(range(4))

        def state_dict(self, num_samples_yielded):
            raise AssertionError("only its own loader knows what to tell")

        def load_state_dict(self, state_dict):
            pass

    assert list(DataLoader(Told(), batch_size=None)) == [0, 1, 2, 3]
