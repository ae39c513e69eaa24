import pytest

import facula
from facula.amp import GradScaler, autocast
from facula.profiler import profile

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1", "N7")]


def test_each_operation_has_the_dtype_of_its_list():
    x = facula.ones(4, 4, device="cuda")
    with autocast("cuda"):
        y = x @ x
        assert y.dtype == facula.float16
        assert y.exp().dtype == y.sum().dtype == (y**2).dtype == facula.float32
        assert (y + y).dtype == facula.float16
        assert facula.mm(x.cpu(), x.cpu()).dtype == facula.float32
        with autocast("cpu"):
            assert facula.mm(x.cpu(), x.cpu()).dtype == facula.bfloat16


def test_a_training_scales_its_loss():
    w = facula.nn.Parameter(facula.ones(4, 4, device="cuda"))
    x = facula.full((8, 4), 0.5, device="cuda")
    optimizer = facula.optim.SGD([w], lr=0.01)
    scaler = GradScaler("cuda", growth_interval=2)
    losses = []
    for _ in range(4):
        with autocast("cuda"):
            loss = (x @ w).float().square().mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    assert w.grad.dtype == facula.float32
    assert scaler.get_scale() == 2.0**18


def test_memory_of_the_device_is_recorded():
    with profile(profile_memory=True) as recorded:
        x = facula.ones(1024, 1024, device="cuda")
    del x
    assert recorded.events()[0].device_memory_usage >= 4 * 1024 * 1024
    assert "CUDA Mem" in recorded.key_averages().table()
