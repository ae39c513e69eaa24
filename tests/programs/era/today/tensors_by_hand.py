"""As the program of this name, in the form of today."""

import torch

torch.manual_seed(2)
dtype = torch.FloatTensor
N, D_in, H, D_out = 16, 20, 12, 3
x = torch.randn(N, D_in).type(dtype)
y = torch.randn(N, D_out).type(dtype)
w1 = torch.randn(D_in, H).type(dtype)
w2 = torch.randn(H, D_out).type(dtype)
learning_rate = 1e-4
for t in range(151):
    h = x.mm(w1)
    h_relu = h.clamp(min=0)
    y_pred = h_relu.mm(w2)
    loss = (y_pred - y).pow(2).sum()
    if t % 50 == 0:
        print(t, "%.3f" % loss)
    grad_y_pred = 2.0 * (y_pred - y)
    grad_w2 = h_relu.t().mm(grad_y_pred)
    grad_h_relu = grad_y_pred.mm(w2.t())
    grad_h = grad_h_relu.clone()
    grad_h[h < 0] = 0
    grad_w1 = x.t().mm(grad_h)
    w1 -= learning_rate * grad_w1
    w2 -= learning_rate * grad_w2
print(torch.Tensor([-1, 2]).abs_().tolist(), torch.is_tensor(w1))
print(
    torch.LongTensor([7, 8]) // 2,
    torch.LongTensor([7, -7]).div(2, rounding_mode="trunc").tolist(),
    (x[0][0] == x[0, 0]).item(),
)
