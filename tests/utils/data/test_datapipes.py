"""Pipes of data, step by step."""

import io
import operator
import pickle
import random

import pytest

import facula
from facula.utils.data import (
    DataLoader,
    IterDataPipe,
    MapDataPipe,
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
)
from facula.utils.data.datapipes.iter import FileLister, FileOpener, IterableWrapper, Sampler
from facula.utils.data.datapipes.map import SequenceWrapper
from facula.utils.data.graph import traverse_dps
from facula.utils.data.graph_settings import apply_sharding, get_all_graph_pipes


def numbers(n=6):
    return IterableWrapper(range(n))


def test_steps_are_methods():
    pipe = numbers().filter(lambda n: n % 2 == 0).map(lambda n: n + 1).batch(2)
    assert list(pipe) == [[1, 3], [5]]
    assert list(pipe) == [[1, 3], [5]]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pipe.nothing


def test_parts_of_samples_are_mapped():
    pairs = IterableWrapper([(1, 2), (3, 4)])
    assert list(pairs.map(lambda a: a * 10, input_col=0)) == [(10, 2), (30, 4)]
    assert list(pairs.map(lambda a, b: a + b, input_col=[0, 1])) == [(3,), (7,)]
    assert list(pairs.map(lambda a: -a, input_col=1, output_col=-1)) == [(1, 2, -2), (3, 4, -4)]
    assert list(pairs.filter(lambda a: a > 1, input_col=0)) == [(3, 4)]
    dicts = IterableWrapper([{"a": 1}])
    assert list(dicts.map(lambda a: a + 1, input_col="a", output_col="b")) == [{"a": 1, "b": 2}]
    with pytest.raises(ValueError, match="needs input_col"):
        pairs.map(len, output_col=1)
    with pytest.raises(ValueError, match="a bool from filter_fn, got int"):
        list(numbers().filter(lambda n: n))


def test_batches_are_made_and_taken_apart():
    assert list(numbers(5).batch(2, drop_last=True)) == [[0, 1], [2, 3]]
    assert len(numbers(5).batch(2)) == 3 and len(numbers(5).batch(2, drop_last=True)) == 2
    nested = numbers(4).batch(2).batch(2)
    assert list(nested.unbatch()) == [[0, 1], [2, 3]]
    assert list(nested.unbatch(-1)) == [0, 1, 2, 3] == list(nested.unbatch(2))
    with pytest.raises(IndexError, match="exceeds the depth"):
        list(nested.unbatch(3))
    collated = list(numbers(4).map(float).batch(2).collate())
    assert collated[1].tolist() == [2, 3]


def test_groups_of_one_key():
    groups = list(numbers(7).groupby(lambda n: n % 3))
    assert sorted(groups) == [[0, 3, 6], [1, 4], [2, 5]]
    pairs = list(numbers(6).groupby(lambda n: n % 2, group_size=2, keep_key=True))
    assert (0, [0, 2]) in pairs and (1, [5]) in pairs
    with pytest.raises(RuntimeError, match="Failed to group"):
        list(numbers(6).groupby(lambda n: n, buffer_size=3, group_size=3))


@pytest.mark.parametrize(
    "sizes, message",
    [
        (
            {"group_size": 3, "guaranteed_group_size": 2},
            "group_size must be > 0 and <= buffer_size",
        ),
        ({"group_size": 0}, "group_size must be > 0 and <= buffer_size"),
        ({"group_size": 2, "guaranteed_group_size": 3}, "guaranteed_group_size must be > 0 and <="),
        ({"guaranteed_group_size": 1}, "group_size must be set"),
    ],
)
def test_groups_that_do_not_fit_the_buffer_are_refused(sizes, message):
    with pytest.raises(AssertionError, match=message):
        numbers(10).groupby(lambda n: n % 3, buffer_size=2, drop_remaining=True, **sizes)


def test_shuffling_is_pythons_with_a_seed():
    expected = list(range(6))
    draw = random.Random(3)
    expected = [expected.pop(draw.randint(0, len(expected) - 1)) for _ in range(6)]
    pipe = numbers().shuffle()
    assert list(pipe.set_seed(3)) == expected
    assert sorted(pipe) == list(range(6)) and len(pipe) == 6
    assert list(pipe.set_shuffle(False)) == list(range(6))
    assert sorted(numbers(50).shuffle(buffer_size=3)) == list(range(50))


def test_pipes_are_joined():
    a, b = IterableWrapper("ab"), IterableWrapper("cde")
    assert list(a.concat(b)) == list("abcde") and len(a.concat(b)) == 5
    assert list(a.zip(b)) == [("a", "c"), ("b", "d")] and len(a.zip(b)) == 2
    assert list(a.mux(b)) == list("acbd") and len(a.mux(b)) == 4


def test_pipes_are_split():
    first, second = numbers(4).fork(2)
    assert list(zip(first, second, strict=True)) == [(i, i) for i in range(4)]
    assert list(first) == list(range(4)) and len(first) == 4
    even, odd = numbers(6).demux(2, lambda n: n % 2)
    assert list(even) == [0, 2, 4] and list(odd) == [1, 3, 5]
    small = numbers(6).demux(1, lambda n: None if n > 2 else 0, drop_none=True)
    assert list(small[0]) == [0, 1, 2]
    with pytest.raises(ValueError, match="between 0 and 1"):
        list(numbers(6).demux(2, lambda n: n)[0])
    slow, fast = numbers(10).fork(2, buffer_size=2)
    iter(slow)
    with pytest.raises(BufferError, match="overflow"):
        list(fast)
    copies = IterableWrapper([[1]]).fork(2, copy="deep")
    assert next(iter(copies[0])) is not next(iter(copies[1]))


def test_a_fork_of_one_is_the_pipe():
    pipe = numbers()
    assert pipe.fork(1) is pipe
    assert len(pipe.demux(1, lambda n: 0)) == 1


def test_branches_are_pickled_together():
    pipes = numbers(3).fork(2)
    assert next(iter(pipes[0])) == 0
    assert [list(pipe) for pipe in pickle.loads(pickle.dumps(pipes))] == [[0, 1, 2]] * 2
    deep = numbers(2).fork(2, copy="deep")
    assert [list(pipe) for pipe in pickle.loads(pickle.dumps(deep))] == [[0, 1]] * 2
    pipes = IterableWrapper([(0, "a"), (1, "b")]).demux(2, operator.itemgetter(0))
    copies = pickle.loads(pickle.dumps(pipes))
    assert [list(pipe) for pipe in copies] == [[(0, "a")], [(1, "b")]]


def test_a_pipe_has_one_iterator_at_a_time():
    class Own(IterDataPipe):
        def __iter__(self):
            return iter([0, 1])

    class Itself(IterDataPipe):
        def reset(self):
            self.n = -1

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n == 2:
                raise StopIteration
            return self.n

    for pipe in (numbers(2), numbers(2).map(int), Own(), Itself()):
        first = iter(pipe)
        assert next(first) == 0
        second = iter(pipe)
        assert next(second) == 0
        with pytest.raises(RuntimeError, match="invalidated because another iterator has been"):
            next(first)
        assert list(second) == [1] and list(pipe) == [0, 1]
    pipe = numbers()
    with pytest.raises(RuntimeError, match="the same IterDataPipe: IterableWrapper"):
        list(pipe.zip(pipe))


def test_a_branch_that_begins_again_ends_the_pass_of_all():
    first, second = numbers(3).fork(2)
    of_first, of_second = iter(first), iter(second)
    assert (next(of_first), next(of_second)) == (0, 0)
    assert list(first) == [0, 1, 2] == list(second)
    for ended in (of_first, of_second):
        with pytest.raises(RuntimeError, match="This iterator has been invalidated"):
            next(ended)


def test_a_pipe_is_reset_before_each_pass():
    class Counted(IterDataPipe):
        n_resets = 0

        def reset(self):
            self.n_resets += 1

        def __iter__(self):
            yield self.n_resets

    pipe = Counted()
    assert list(pipe) == [1] and list(pipe) == [2]


def test_workers_have_their_shares():
    pipe = numbers(7).sharding_filter()
    pipe.apply_sharding(3, 1)
    assert list(pipe) == [1, 4] and len(pipe) == 2
    with pytest.raises(ValueError, match="smaller than"):
        pipe.apply_sharding(2, 2)
    assert list(Sampler(numbers(3))) == [0, 1, 2]


def test_files_are_listed_opened_and_read(tmp_path):
    (tmp_path / "b.txt").write_text("bb")
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "c.png").write_text("")
    paths = FileLister(str(tmp_path), "*.txt")
    assert [path[-5:] for path in paths] == ["a.txt", "b.txt"]
    read = FileOpener(paths, mode="rb").read_from_stream()
    assert [data for _, data in read] == [b"a", b"bb"]
    chunks = IterableWrapper([("x", io.BytesIO(b"abc"))], deepcopy=False).read_from_stream(2)
    assert [data for _, data in chunks] == [b"ab", b"c"]
    with pytest.raises(TypeError, match="valid length"):
        len(paths)


def test_a_file_is_listed_and_a_missing_folder_is_an_error(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a")
    assert list(FileLister(str(path))) == [str(path)]
    assert list(FileLister(str(path), "*.png")) == []
    with pytest.raises(FileNotFoundError, match="nothing"):
        list(FileLister(str(tmp_path / "nothing")))


def test_pipes_by_index():
    pipe = SequenceWrapper([1, 2, 3]).map(lambda n: n * 10)
    assert pipe[2] == 30 and len(pipe) == 3
    assert list(pipe.batch(2)) == [[10, 20], [30]]
    assert pipe.concat(pipe)[4] == 20 and pipe.zip(pipe)[1] == (20, 20)
    assert sorted(pipe.shuffle()) == [10, 20, 30]
    assert list(pipe.shuffle().set_shuffle(False)) == [10, 20, 30]
    with pytest.raises(IndexError):
        pipe.batch(2)[2]


def test_a_loader_takes_a_pipe():
    pipe = numbers(5).map(lambda n: facula.tensor(n))
    assert [batch.tolist() for batch in DataLoader(pipe, batch_size=2)] == [[0, 1], [2, 3], [4]]


def test_own_steps_are_registered_once():
    @functional_datapipe("twice_for_a_test")
    class Twice(IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            yield from (2 * sample for sample in self.source)

    assert list(numbers(3).twice_for_a_test()) == [0, 2, 4]
    with pytest.raises(Exception, match="already taken"):
        functional_datapipe("twice_for_a_test")(Twice)
    with pytest.raises(TypeError, match="a class of pipes"):
        functional_datapipe("three_for_a_test")(dict)
    MapDataPipe.register_function("size_for_a_test", len)
    assert SequenceWrapper([1]).size_for_a_test() == 1


def test_random_pipes_are_refused_where_determinism_is_guaranteed():
    class Empty(IterDataPipe):
        def __iter__(self):
            yield from ()

    @non_deterministic
    class Random(Empty):
        def __init__(self):
            pass

    @non_deterministic(lambda seed=None: seed is None)
    class Seeded(Empty):
        def __init__(self, seed=None):
            pass

    Random()
    with guaranteed_datapipes_determinism():
        Seeded(seed=1)
        for make in (Random, Seeded):
            with pytest.raises(TypeError, match="non-deterministic"):
                make()
    Random()


# The orders are PyTorch's, which draws a seed for the pipes before that of the loader.
@pytest.mark.parametrize(
    "options, epochs",
    [
        ({}, [[4, 0, 3, 5, 2, 1], [3, 4, 0, 2, 5, 1]]),
        ({"num_workers": 2}, [[4, 3, 2, 0, 5, 1], [5, 2, 3, 0, 4, 1]]),
        (
            {"num_workers": 2, "persistent_workers": True},
            [[4, 3, 2, 0, 5, 1], [5, 2, 3, 0, 4, 1]],
        ),
    ],
)
def test_a_loader_shuffles_pipes_alike_in_all_workers_and_shares_them(options, epochs):
    facula.manual_seed(0)
    pipe = numbers().shuffle().sharding_filter()
    loader = DataLoader(pipe, batch_size=3, shuffle=True, **options)
    for expected in epochs:
        assert facula.cat(list(loader)).tolist() == expected


def test_a_loader_that_is_not_to_shuffle_switches_shuffles_of_pipes_off():
    loader = DataLoader(numbers().shuffle().map(abs), batch_size=None, shuffle=False)
    assert list(loader) == [0, 1, 2, 3, 4, 5]


def test_a_loader_that_is_to_shuffle_adds_a_shuffle_to_pipes_without_one():
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        loader = DataLoader(numbers(30), batch_size=None, shuffle=True)
    assert sorted(order := list(loader)) == list(range(30)) != order


def test_a_loader_that_goes_on_shuffles_pipes_as_before():
    def make():
        return DataLoader(numbers().shuffle(), batch_size=2, shuffle=True)

    loader = make()
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    rest = [batch.tolist() for batch in batches]
    other = make()
    other.load_state_dict(state)
    assert [batch.tolist() for batch in other] == rest


def test_pipes_of_a_pipe_are_found_in_containers_and_each_once():
    source = numbers()
    left, right = source.fork(2)
    last = left.zip(right.map(str))
    pipes = get_all_graph_pipes(traverse_dps(last))
    assert pipes[0] is last
    assert len(pipes) == len({id(pipe) for pipe in pipes})
    assert {id(pipe) for pipe in (source, left, right)} <= {id(pipe) for pipe in pipes}


def test_pipes_are_not_shared_twice():
    pipe = numbers().sharding_filter().map(abs).sharding_filter()
    with pytest.raises(RuntimeError, match="Sharding twice"):
        apply_sharding(pipe, 2, 0)
