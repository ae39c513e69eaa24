import facula as torch

torch.manual_seed(0)
x = torch.randn(50, 2)
y = x @ torch.tensor([2.0, -1.0])
w = torch.zeros(2, requires_grad=True)
for _ in range(6):
    loss = (x @ w - y).pow(2).mean()
    loss.backward()  # finds F301
    w.data -= 0.1 * w.grad
