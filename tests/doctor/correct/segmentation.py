import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Conv2d(16, 4, 1)
        self.aux = nn.Conv2d(16, 4, 1)

    def forward(self, x):
        d = self.down(x)
        m = self.mid(F.max_pool2d(d, 2))
        out = {"out": self.out(torch.cat([d, self.up(m)], 1))}
        if self.training:
            out["aux"] = F.interpolate(self.aux(m), x.shape[-2:], mode="bilinear")
        return out


model = UNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
images, masks = torch.rand(8, 3, 8, 8), torch.randint(1, 4, (8, 8, 8))
masks[:, :2] = 255
class_weights = torch.tensor([0.1, 1.0, 1.0, 2.0])
for _ in range(5):
    model.train()
    out = model(images)
    loss = F.cross_entropy(out["out"], masks, weight=class_weights, ignore_index=255)
    loss = loss + 0.4 * F.cross_entropy(out["aux"], masks, ignore_index=255)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        prediction = model(images)["out"].argmax(1)
        valid = masks != 255
        iou = ((prediction == masks) & valid).sum() / valid.sum()
