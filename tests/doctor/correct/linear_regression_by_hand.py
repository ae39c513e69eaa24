import facula as torch

torch.manual_seed(0)
true_w, true_b = torch.tensor([2.0, -3.4]), 4.2
X = torch.normal(0, 1, (100, 2))
y = (X @ true_w + true_b + torch.normal(0, 0.01, (100,))).reshape((-1, 1))
w = torch.normal(0, 0.01, size=(2, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)


def squared_loss(y_hat, y):
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2


def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()


for _ in range(4):
    for i in range(0, 100, 10):
        loss = squared_loss(X[i : i + 10] @ w + b, y[i : i + 10])
        loss.sum().backward()
        sgd([w, b], 0.1, 10)
    with torch.no_grad():
        train_l = squared_loss(X @ w + b, y).mean()
