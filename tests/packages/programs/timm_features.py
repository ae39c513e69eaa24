"""timm: features, a new head, optimisers, schedules, EMA, mixup, saving."""

import tempfile

import timm
import torch
from timm.data import Mixup, create_transform, resolve_data_config
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3, accuracy

torch.manual_seed(0)
backbone = timm.create_model("resnet18", features_only=True, out_indices=(1, 3))
maps = backbone(torch.rand(2, 3, 64, 64))
print([tuple(m.shape) for m in maps], backbone.feature_info.channels())

model = timm.create_model("resnet18", num_classes=10, drop_rate=0.1)
model.reset_classifier(4)
print(model.get_classifier())
print(resolve_data_config({}, model=model)["input_size"])
print(len(create_transform(input_size=(3, 64, 64), is_training=True).transforms))
for name in ("sgd", "adamw", "lamb", "lookahead_radam", "adafactor", "lion"):
    torch.manual_seed(1)
    net = (
        timm.create_model("test_vit", num_classes=4, img_size=32)
        if False
        else torch.nn.Linear(8, 4)
    )
    optimizer = create_optimizer_v2(net, opt=name, lr=0.05, weight_decay=0.01)
    x, y = torch.randn(16, 8), torch.arange(16) % 4
    for _ in range(5):
        optimizer.zero_grad()
        loss = LabelSmoothingCrossEntropy(0.1)(net(x), y)
        loss.backward()
        optimizer.step()
    print(name, f"{loss.item():.4f}")
schedule = CosineLRScheduler(optimizer, t_initial=10, warmup_t=2, warmup_lr_init=1e-4)
for epoch in range(4):
    schedule.step(epoch)
    print(epoch, f"{optimizer.param_groups[0]['lr']:.5f}")
ema = ModelEmaV3(net, decay=0.9)
ema.update(net)
mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=4)
mixed, target = mixup(torch.rand(4, 3, 8, 8), torch.arange(4))
print(tuple(mixed.shape), f"{SoftTargetCrossEntropy()(torch.zeros(4, 4), target).item():.4f}")
print([round(float(a), 2) for a in accuracy(net(x), y, topk=(1, 2))])
with tempfile.TemporaryDirectory() as folder:
    torch.save(model.state_dict(), f"{folder}/m.pth")
    again = timm.create_model("resnet18", num_classes=4, checkpoint_path=f"{folder}/m.pth").eval()
    x = torch.rand(1, 3, 64, 64)
    print(torch.equal(again(x), model.eval()(x)))
