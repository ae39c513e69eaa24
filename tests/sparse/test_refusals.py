"""What sparse tensors cannot do is refused with a way out; none is ever taken for a dense one."""

import subprocess
import sys

import numpy as np
import pytest

import facula
from facula import _core, nn, overrides

pytestmark = pytest.mark.promise("T11")

X = facula.eye(2).to_sparse()
ONE = facula.sparse_coo_tensor([[0]], [3.0], (1,))
DENSE = facula.ones(2, 2)
F = nn.functional


def assign_part():
    DENSE[0] = X


def assign_data():
    DENSE.clone().data = X


REFUSED = [
    lambda: X.exp(),
    lambda: X + 1,
    lambda: X + DENSE,
    lambda: 1 - X,
    lambda: 2 / X,
    lambda: DENSE / X,
    lambda: X == X,
    lambda: X > 0,
    lambda: X**0,
    lambda: X.max(),
    lambda: X.mean(),
    lambda: X.reshape(4),
    lambda: X.view(-1),
    lambda: X.expand(3, 2, 2),
    lambda: X.contiguous(),
    lambda: X.tolist(),
    lambda: X.item(),
    lambda: bool(X),
    lambda: X.storage(),
    lambda: X.untyped_storage(),
    lambda: X.data_ptr(),
    lambda: X.as_strided((2,), (1,)),
    lambda: X.fill_(1),
    lambda: X.copy_(DENSE),
    lambda: DENSE.clone().copy_(X),
    lambda: facula.where(DENSE > 0, DENSE, X),
    lambda: facula.add(X, X, out=X),
    lambda: facula.add(DENSE, DENSE, alpha=ONE),
    lambda: facula.cat([X, DENSE]),
    lambda: facula.stack([DENSE, X]),
    lambda: facula.equal(X, X),
    lambda: facula.rand_like(X),
    lambda: facula.ones_like(X),
    lambda: facula.tensor([[ONE]]),
    lambda: facula.full((2,), ONE),
    lambda: facula._core._make_subclass(facula.Tensor, X),
    lambda: facula.Tensor.as_subclass(X, facula.Tensor),
    lambda: facula._core._mse_loss(X, X, "mean"),
    lambda: facula.linalg.vector_norm(X),
    lambda: facula.cdist(X, X),
    lambda: F.gelu(X),
    lambda: F.cross_entropy(X, facula.tensor([0, 1])),
    lambda: F.dropout(X),
    lambda: F.layer_norm(X, (2,)),
    lambda: nn.init.normal_(X),
    lambda: X @ facula.ones(3, 2),
    lambda: X @ facula.ones(2, 2, dtype=facula.float64),
    lambda: X @ facula.eye(2).to_sparse_csr(),
    lambda: X.requires_grad_().mul_(2),
    lambda: DENSE[X],
    assign_part,
    assign_data,
]


@pytest.mark.parametrize("call", REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_there_is_a_runtime_error(call):
    with pytest.raises(RuntimeError):
        call()
    X.requires_grad_(False)


def test_an_error_names_the_operation_and_the_way_out():
    with pytest.raises(NotImplementedError, match=r"exp is not implemented .*sparse_coo.*to_dense"):
        X.exp()
    with pytest.raises(NotImplementedError, match=r"_mse_loss is not implemented .*to_dense"):
        F.mse_loss(X, X)


def test_numpy_dlpack_and_the_buffer_protocol_are_refused():
    for call in (X.numpy, lambda: np.asarray(X), lambda: facula.Tensor(X)):
        with pytest.raises(TypeError, match="to_dense"):
            call()
    for call in (lambda: memoryview(X), X.__dlpack__, lambda: facula.from_dlpack(X)):
        with pytest.raises(BufferError):
            call()


def test_a_number_is_read_from_one_element():
    assert (float(ONE), int(ONE), ONE.item(), bool(ONE)) == (3.0, 3, 3.0, True)


def test_modes_see_operations_on_sparse_tensors():
    names = []

    class Log(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(overrides.resolve_name(func))
            return func(*args, **(kwargs or {}))

    with Log():
        result = X @ DENSE
    assert result.tolist() == [[1, 1], [1, 1]]
    assert names[0] == "torch.Tensor.matmul"


def test_a_sparse_tensor_keeps_its_operations_where_subclasses_are_passed_by():
    class Marked(facula.Tensor):
        pass

    with facula._core._DisableTorchFunctionSubclass():
        assert (X @ DENSE).tolist() == [[1, 1], [1, 1]]
        with pytest.raises(NotImplementedError):
            X.exp()
    assert (X @ DENSE.as_subclass(Marked)).tolist() == [[1, 1], [1, 1]]


def test_the_package_is_imported_with_the_first_sparse_tensor():
    code = (
        "import sys, facula; print('facula.sparse' in sys.modules, facula._core._seam_users());"
        "facula.eye(2).to_sparse(); print('facula.sparse' in sys.modules)"
    )
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert output.split() == ["False", "0", "True"]


@pytest.mark.parametrize(
    "call",
    [
        "_call_sparse_rule(facula.add, (), {})",
        "_make_sparse(facula.strided, (facula.zeros(1, 1),), facula.zeros(1), (2,), False)",
    ],
)
def test_rules_are_not_called_before_there_are_any(call):
    program = f"import facula\nfrom facula import _core\n_core.{call}"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 1
    assert "before facula.sparse is imported" in run.stderr


@pytest.mark.parametrize("index", [None, "places", facula.zeros(())])
def test_no_sparse_tensor_is_made_of_other_objects(index):
    with pytest.raises((RuntimeError, TypeError)):
        _core._make_sparse(facula.sparse_coo, (index,), facula.zeros(1), (2,), False)
    with pytest.raises(RuntimeError, match="values of at least one"):
        places = facula.zeros(1, 1, dtype=facula.int64)
        _core._make_sparse(facula.sparse_coo, (places,), facula.zeros(()), (2,), False)
