import facula as torch
from facula import nn

torch.manual_seed(0)
features = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
discriminator = nn.Linear(16, 2)
classifier = nn.Linear(16, 3)
opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
opt_f = torch.optim.Adam([*features.parameters(), *classifier.parameters()], lr=1e-3)
criterion = nn.CrossEntropyLoss()


def domain_loss(h, domain):
    return criterion(discriminator(h), torch.full((h.size(0),), domain))


for _ in range(15):
    source, target = torch.randn(16, 6), torch.randn(16, 6) + 1
    y = torch.randint(0, 3, (16,))
    opt_d.zero_grad()
    with torch.no_grad():
        hs, ht = features(source), features(target)
    (domain_loss(hs, 0) + domain_loss(ht, 1)).backward()
    opt_d.step()
    opt_f.zero_grad()
    hs, ht = features(source), features(target)
    loss = criterion(classifier(hs), y) + 0.1 * domain_loss(ht, 0)
    loss.backward()
    opt_f.step()
