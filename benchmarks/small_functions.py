"""The hundred functions that programs call most, on 8 elements: none may be slower than PyTorch."""

from harness import Case, main


def tensors(torch):
    torch.manual_seed(0)
    x = torch.linspace(0.1, 0.8, 8)
    square = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    return {
        "F": torch.nn.functional,
        "x": x,
        "y": x.flip(0),
        "z": x.clone(),
        "m": x.view(2, 4),
        "n": x.view(2, 4).clone(),
        "w": x.view(2, 4).clone(),
        "b": torch.ones(2),
        "square": square,
        "squares": square.repeat(2, 1, 1),
        "i": torch.tensor([3, 1, 0, 2, 7, 6, 5, 4]),
        "rows": torch.tensor([[0, 1, 2, 3], [3, 2, 1, 0]]),
        "mask": x > 0.4,
        "labels": torch.tensor([1, 3]),
        "scalar": torch.tensor(0.5),
        "grad": x.clone().requires_grad_(),
        "image": x.view(1, 2, 2, 2),
        "kernel": torch.ones(1, 2, 1, 1),
        "series": x.view(1, 2, 4),
        "kernel1": torch.ones(1, 2, 2),
        "weight4": torch.ones(4),
        "mean2": torch.zeros(2),
        "table": x.view(4, 2),
        "heads": x.view(1, 1, 4, 2),
        "items": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
        "array": x.numpy().copy(),
    }


# By what they do, in the order of PyTorch's chapters.
STATEMENTS = """
x - y
x * y
x / y
x ** 2
-x
x + 1
x.mul_(1.0)
torch.abs(x)
torch.exp(x)
torch.log(x)
torch.sqrt(x)
torch.sin(x)
torch.clamp(x, 0.2, 0.6)
torch.pow(x, 2)
torch.floor(x)
torch.round(x)
torch.sign(x)
torch.maximum(x, y)
torch.lerp(x, y, 0.5)
torch.addcmul(x, y, z)
x == y
x > 0.5
torch.isnan(x)
torch.isfinite(x)
torch.allclose(x, z)
torch.equal(x, z)
torch.logical_and(mask, mask)
x.mean()
x.max()
x.std()
x.var()
x.norm()
x.argmax()
x.any()
x.prod()
m.sum(1)
m.mean(0)
m.max(1)
torch.cumsum(x, 0)
torch.logsumexp(m, 1)
torch.sort(x)
torch.topk(x, 3)
torch.argsort(x)
torch.median(x)
torch.count_nonzero(x)
torch.unique(i)
torch.histc(x, 4)
torch.quantile(x, 0.5)
x.reshape(4, 2)
m.transpose(0, 1)
m.permute(1, 0)
x.unsqueeze(0)
m.squeeze()
m.flatten()
x.expand(2, 8)
x.repeat(2)
torch.cat((x, y))
torch.stack((x, y))
x.chunk(2)
x.split(4)
torch.flip(x, (0,))
torch.roll(x, 1)
torch.tril(square)
x.clone()
x.to(torch.float64)
x.float()
x.detach()
x.contiguous()
x[3]
x[i]
x[mask]
m[:, 1]
x.index_select(0, i)
torch.gather(m, 1, rows)
torch.where(mask, x, y)
z.masked_fill(mask, 0.0)
torch.zeros(8)
torch.tensor(items)
torch.arange(8)
torch.randn(8)
torch.linspace(0, 1, 8)
torch.from_numpy(array)
m @ w.T
torch.bmm(squares, squares)
torch.einsum('ij,kj->ik', m, n)
torch.linalg.inv(square)
torch.linalg.solve(square, b)
torch.linalg.norm(m)
F.linear(m, w, b)
F.relu(x)
F.gelu(x)
F.softmax(m, dim=1)
F.log_softmax(m, dim=1)
F.layer_norm(m, (4,), weight4)
F.dropout(x, 0.5)
F.embedding(labels, table)
F.cross_entropy(m, labels)
F.mse_loss(x, y)
F.conv2d(image, kernel)
F.max_pool2d(image, 2)
"""

CASES = [
    Case(f"`{statement}`", statement, tensors, 1) for statement in STATEMENTS.strip().splitlines()
]

if __name__ == "__main__":
    main(__file__)
