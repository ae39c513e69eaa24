"""Storages as objects: one for all views, shared by copies, safe to resize."""

import copy
import pickle
import weakref

import pytest

import facula
from facula.storage import TypedStorage


@pytest.mark.promise("T1")
def test_all_views_have_one_storage_object():
    x = facula.arange(6).view(2, 3)
    storage = x.untyped_storage()
    assert x.t().untyped_storage() is storage
    assert x.select(0, 1).untyped_storage() is storage
    assert x.clone().untyped_storage() is not storage
    reference = weakref.ref(storage)
    del storage
    assert reference() is None
    assert x.untyped_storage().data_ptr() == x.data_ptr()


@pytest.mark.promise("T1")
def test_writes_through_a_storage_are_seen_by_its_tensors():
    x = facula.zeros(2, 2)
    storage = x.storage()
    storage[1] = 5
    assert x.tolist() == [[0, 5], [0, 0]]
    storage[2:4] = 7
    assert x.tolist() == [[0, 5], [7, 7]]
    storage.fill_(1)
    assert x.tolist() == [[1, 1], [1, 1]]
    x.untyped_storage().fill_(0)
    assert x.tolist() == [[0, 0], [0, 0]]


@pytest.mark.promise("T1")
def test_a_storage_outlives_its_tensor():
    storage = facula.arange(3).untyped_storage()
    assert facula.tensor([], dtype=facula.int64).set_(storage).tolist() == [0, 1, 2]


def test_typed_storage_is_a_sequence_of_elements():
    storage = facula.tensor([1.0, 2.0, 3.0]).narrow(0, 1, 2).storage()
    assert len(storage) == storage.size() == 3
    assert storage[0] == 1
    assert storage[-1] == 3
    assert list(storage) == storage.tolist() == [1, 2, 3]
    assert storage.dtype == facula.float32
    assert storage.element_size() == 4
    assert storage.nbytes() == 12
    assert storage.type() == "torch.FloatStorage"
    assert storage.untyped().nbytes() == 12
    with pytest.raises(IndexError, match="expected an index from"):
        storage[3]
    with pytest.raises(RuntimeError, match="slices"):
        storage[0:1]
    assert repr(storage).endswith(
        "[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 3]"
    )


def test_untyped_storage_is_a_sequence_of_bytes():
    storage = facula.UntypedStorage([1, 2, 3])
    assert storage.tolist() == list(storage) == [1, 2, 3]
    assert storage[-1] == 3
    part = storage[1:3]
    part[0] = 9
    assert storage.tolist() == [1, 9, 3]
    assert storage[2:1].tolist() == []
    with pytest.raises(RuntimeError, match="step"):
        storage[::2]
    with pytest.raises(IndexError):
        storage[3]
    assert len(facula.UntypedStorage(4)) == 4
    assert len(facula.UntypedStorage()) == 0
    with pytest.raises(RuntimeError, match="at least 0"):
        facula.UntypedStorage(-1)
    with pytest.raises(TypeError, match="str"):
        facula.UntypedStorage("a")
    with pytest.raises(TypeError, match="expected a storage"):
        facula.UntypedStorage.nbytes(5)


def test_typed_storages_are_made_from_sizes_values_and_memory():
    assert facula.FloatStorage(3).size() == 3
    assert facula.LongStorage([1, 2]).tolist() == [1, 2]
    assert isinstance(facula.FloatStorage(3), TypedStorage)
    assert isinstance(facula.FloatStorage(3), facula.FloatStorage)
    assert not isinstance(facula.FloatStorage(3), facula.LongStorage)
    memory = facula.ones(2).untyped_storage()
    assert TypedStorage(wrap_storage=memory, dtype=facula.int32).tolist() == [1065353216] * 2
    assert facula.is_storage(memory)
    assert not facula.is_storage(facula.ones(2))


def test_a_shrunken_storage_leaves_its_tensors_readable():
    x = facula.ones(1000)
    x.untyped_storage().resize_(0)
    assert x.untyped_storage().nbytes() == 0
    assert len(x.tolist()) == 1000
    x.untyped_storage().resize_(8000)
    assert x.untyped_storage().nbytes() == 8000
    assert len(x.tolist()) == 1000


@pytest.mark.promise("T1")
def test_set_looks_at_other_memory():
    x = facula.arange(6.0)
    y = facula.tensor([]).set_(x.storage(), 1, (2, 2), (1, 2))
    assert y.tolist() == [[1, 3], [2, 4]]
    y.fill_(9)
    assert x.tolist() == [0, 9, 9, 9, 9, 5]
    x.copy_(facula.arange(6.0))
    assert facula.tensor([]).set_(x).data_ptr() == x.data_ptr()
    assert facula.tensor([1.0]).set_().shape == (0,)
    y.set_(source=x.untyped_storage(), storage_offset=4, size=(2,))
    assert y.tolist() == [4, 5]


def test_set_lets_a_storage_grow_and_refuses_nonsense():
    x = facula.arange(3)
    y = facula.tensor([], dtype=facula.int64).set_(x.untyped_storage(), 0, (100,))
    assert y.shape == (100,)
    assert x.tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="offset"):
        y.set_(x.untyped_storage(), -1, (1,))
    with pytest.raises(RuntimeError, match="negative"):
        y.set_(x.untyped_storage(), 0, (2,), (-1,))
    with pytest.raises(RuntimeError, match="further than memory"):
        y.set_(x.untyped_storage(), 0, (2**40,), (2**40,))
    with pytest.raises(RuntimeError, match="float32"):
        y.set_(facula.ones(2))
    with pytest.raises(TypeError, match="expected a storage"):
        y.set_(5)
    with pytest.raises(RuntimeError, match="leaf"):
        facula.ones(2, requires_grad=True).set_(facula.ones(2))


def test_storages_copy_and_pickle():
    storage = facula.tensor([1.0, 2.0]).storage()
    for copied in (copy.copy(storage), copy.deepcopy(storage), pickle.loads(pickle.dumps(storage))):
        assert copied.tolist() == [1, 2]
        assert copied.data_ptr() != storage.data_ptr()
    assert facula.FloatStorage(2).copy_(storage).tolist() == [1, 2]
    assert len(pickle.loads(pickle.dumps(facula.UntypedStorage(0)))) == 0
