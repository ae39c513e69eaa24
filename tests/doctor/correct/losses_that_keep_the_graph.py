import facula as torch
from facula import nn

torch.manual_seed(0)


class PartialLoss(nn.Module):
    def __init__(self, target, weight):
        super().__init__()
        self.target, self.weight = target.detach() * weight, weight

    def forward(self, input):
        self.loss = nn.functional.mse_loss(input * self.weight, self.target)
        return input

    def backward(self, retain_graph=True):
        self.loss.backward(retain_graph=retain_graph)
        return self.loss


conv = nn.Conv2d(3, 6, 3, padding=1).requires_grad_(False)
losses = [PartialLoss(conv(torch.rand(1, 3, 8, 8)), weight) for weight in (1, 10)]
model = nn.Sequential(conv, *losses)
image = torch.rand(1, 3, 8, 8).requires_grad_()
optimizer = torch.optim.Adam([image], lr=0.05)
for _ in range(20):
    image.data.clamp_(0, 1)
    optimizer.zero_grad()
    model(image)
    score = sum(part.backward().item() for part in losses)
    optimizer.step()
