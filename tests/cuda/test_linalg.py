"""Factorisations on the GPU: what they multiply to, and what they solve, as on the CPU."""

import pytest

import facula
from facula import linalg
from facula.testing import assert_close

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]
DTYPES = [facula.float32, facula.float64, facula.complex64, facula.complex128]
SHAPES = [(4, 4), (3, 5, 5), (2, 3, 40, 40), (0, 3, 3), (2, 0, 0)]


def matrices(dtype, *shape):
    facula.manual_seed(3)
    return facula.randn(*shape, dtype=dtype)


def positive(dtype, *shape):
    a = matrices(dtype, *shape)
    return a @ a.mH / max(shape[-1], 1) + facula.eye(shape[-1], dtype=dtype)


def close(actual, expected):
    assert actual.device.type == "cuda"
    loose = expected.dtype in (facula.float32, facula.complex64)
    tolerance = {"rtol": 2e-3, "atol": 2e-3} if loose else {"rtol": 1e-8, "atol": 1e-8}
    assert_close(actual.cpu(), expected, **tolerance)


UNIQUE = {
    "cholesky": lambda a: linalg.cholesky(a),
    "upper cholesky": lambda a: linalg.cholesky(a, upper=True),
    "inv": lambda a: linalg.inv(a),
    "det": lambda a: linalg.det(a),
    "slogdet": lambda a: linalg.slogdet(a)[1],
    "lu_factor": lambda a: linalg.lu_factor(a)[0],
    "lu": lambda a: facula.cat(linalg.lu(a), -1),
    "solve": lambda a: linalg.solve(a, a[..., :2] + 1),
    "solve from the right": lambda a: linalg.solve(a, a[..., :2, :] + 1, left=False),
    "solve_triangular": lambda a: linalg.solve_triangular(a.tril(), a[..., :2], upper=False),
    "cholesky_inverse": lambda a: facula.cholesky_inverse(linalg.cholesky(a)),
    "cholesky_solve": lambda a: facula.cholesky_solve(a[..., :2], linalg.cholesky(a)),
    "eigvalsh": lambda a: linalg.eigvalsh(a),
    "svdvals": lambda a: linalg.svdvals(a[..., :2, :]),
    "pinv": lambda a: linalg.pinv(a[..., :2]),
    "matrix_exp": lambda a: linalg.matrix_exp(a / 20),
    "matrix_power": lambda a: linalg.matrix_power(a / 4, -2),
    "matrix_rank": lambda a: linalg.matrix_rank(a, hermitian=True),
    "nuclear norm": lambda a: linalg.matrix_norm(a, "nuc"),
    "cond": lambda a: linalg.cond(a),
    "ldl_factor": lambda a: linalg.ldl_factor(a)[0],
}


@pytest.mark.parametrize("name", UNIQUE)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_results_agree(name, dtype):
    for shape in SHAPES:
        if 0 in shape and name in ("matrix_exp", "cond", "nuclear norm", "lu"):
            continue  # of no matrix: their reductions have nothing to begin with
        a = positive(dtype, *shape)
        close(UNIQUE[name](a.cuda()), UNIQUE[name](a))


@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "solve", "pinv", "lu", "eigvalsh"])
def test_gradients_agree(name):
    a = positive(facula.float64, 2, 4, 4)
    grads = []
    for x in (a.clone(), a.cuda()):
        x.requires_grad_()
        UNIQUE[name](x).square().sum().backward()
        grads.append(x.grad)
    close(grads[1], grads[0])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (3, 5, 5), (2, 7, 3)])
def test_factors_multiply_to_the_matrix(shape, dtype):
    a = matrices(dtype, *shape).cuda()
    q, r = linalg.qr(a)
    close(q @ r, a.cpu())
    q, r = linalg.qr(a, mode="complete")
    close(q @ r, a.cpu())
    u, s, vh = linalg.svd(a, full_matrices=False)
    close((u * s.unsqueeze(-2)) @ vh, a.cpu())
    u, s, vh = linalg.svd(a)
    k = s.size(-1)
    close((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a.cpu())
    close(linalg.lstsq(a, a).solution, linalg.lstsq(a.cpu(), a.cpu()).solution)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_eigenvectors(dtype):
    a = positive(dtype, 3, 6, 6).cuda()
    w, v = linalg.eigh(a)
    close((v * w.unsqueeze(-2).to(dtype)) @ v.mH, a.cpu())
    w, v = linalg.eig(a)
    close((v * w.unsqueeze(-2)) @ linalg.inv(v), a.cpu().to(w.dtype))


def test_products_with_reflectors():
    a = matrices(facula.float64, 6, 4).cuda()
    reflectors, tau = facula.geqrf(a)
    turned = facula.ormqr(reflectors, tau, a, transpose=True)
    close(turned[:4].triu(), linalg.qr(a).R.cpu())
    close(linalg.householder_product(reflectors, tau), linalg.qr(a).Q.cpu())


def test_singular_matrices_raise():
    a = facula.zeros(3, 3, device="cuda")
    with pytest.raises(linalg.LinAlgError, match="singular"):
        linalg.inv(a)
    with pytest.raises(linalg.LinAlgError, match="singular"):
        linalg.solve(facula.zeros(2, 3, 3, device="cuda"), facula.ones(2, 3, 1, device="cuda"))
    with pytest.raises(linalg.LinAlgError, match="positive-definite"):
        linalg.cholesky(-facula.eye(3, device="cuda"))
    assert linalg.cholesky_ex(-facula.eye(3, device="cuda")).info.item() == 1


def test_other_devices_are_refused():
    a = facula.eye(3)
    with pytest.raises(RuntimeError, match="one device"):
        linalg.solve(a.cuda(), a)
