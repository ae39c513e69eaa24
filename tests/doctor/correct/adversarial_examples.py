import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 4, 3),
    nn.BatchNorm2d(4),
    nn.ReLU(),
    nn.Flatten(),
    nn.Dropout(0.2),
    nn.Linear(144, 3),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
images, labels = torch.rand(24, 1, 8, 8), torch.randint(0, 3, (24,))


def fgsm(model, data, target, epsilon):
    data = data.clone().requires_grad_(True)
    loss = F.nll_loss(F.log_softmax(model(data), dim=1), target)
    model.zero_grad()
    loss.backward()
    return torch.clamp(data + epsilon * data.grad.data.sign(), 0, 1).detach()


def pgd(model, x, y, eps=0.1, alpha=0.04, steps=3):
    model.eval()
    delta = torch.zeros_like(x).uniform_(-eps, eps).requires_grad_()
    for _ in range(steps):
        loss = F.cross_entropy(model(x + delta), y)
        grad = torch.autograd.grad(loss, delta)[0]
        delta.data = (delta + alpha * grad.sign()).clamp(-eps, eps)
    model.train()
    return (x + delta).clamp(0, 1).detach()


for _ in range(5):  # adversarial training
    for x, y in zip(images.split(8), labels.split(8), strict=True):
        adversarial = pgd(model, x, y)
        optimizer.zero_grad()
        F.cross_entropy(model(adversarial), y).backward()
        optimizer.step()
model.eval()
correct = 0
for x, y in zip(images, labels, strict=True):
    attacked = fgsm(model, x.unsqueeze(0), y.unsqueeze(0), 0.1)
    correct += (model(attacked).max(1, keepdim=True)[1] == y).item()
