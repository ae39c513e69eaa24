import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class CLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Flatten(), nn.Linear(48, 16))
        self.text = nn.EmbeddingBag(20, 16)
        self.logit_scale = nn.Parameter(torch.tensor(2.6593))

    def forward(self, images, tokens):
        i = F.normalize(self.image(images), dim=-1)
        t = F.normalize(self.text(tokens), dim=-1)
        logits = self.logit_scale.exp() * i @ t.t()
        return logits, logits.t()


model = CLIP()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.98), eps=1e-6)
images, tokens = torch.randn(12, 3, 4, 4), torch.randint(0, 20, (12, 6))
for _ in range(15):
    per_image, per_text = model(images, tokens)
    target = torch.arange(12)
    loss = (F.cross_entropy(per_image, target) + F.cross_entropy(per_text, target)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        model.logit_scale.clamp_(0, 4.6052)
