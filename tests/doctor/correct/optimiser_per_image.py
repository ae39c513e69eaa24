import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
model.requires_grad_(False)

# An attack by Adam: a few steps for each image, with an optimiser of its own.
for label in range(6):
    image = torch.rand(1, 1, 4, 4)
    w = torch.zeros_like(image, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.05)
    best, best_loss = image, float("inf")
    for _ in range(5):
        adversarial = (torch.tanh(w) + 1) / 2
        distance = (adversarial - image).pow(2).sum()
        logits = model(adversarial)
        loss = distance + nn.functional.cross_entropy(logits, torch.tensor([label % 3]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < best_loss:
            best, best_loss = adversarial.detach().clone(), loss.item()

# Probes of each layer, one after the other.
x, y = torch.randn(40, 6), torch.randint(0, 2, (40,))
for layer in [nn.Linear(6, 4), nn.Linear(6, 8)]:
    probe = nn.Linear(layer.out_features, 2)
    optimizer = torch.optim.LBFGS(probe.parameters(), max_iter=4)

    def closure(layer=layer, probe=probe, optimizer=optimizer):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(probe(layer(x).detach()), y)
        loss.backward()
        return loss

    optimizer.step(closure)
