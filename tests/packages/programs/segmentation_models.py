"""Segmentation Models: decoders and encoders, losses, scores, saving."""

import tempfile

import segmentation_models_pytorch as smp
import torch

x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
inside = (x[:, :1] > 0).long()
for decoder in ("unet", "unetplusplus", "manet", "linknet", "fpn", "deeplabv3plus", "segformer"):
    torch.manual_seed(0)
    model = smp.create_model(decoder, "resnet18", encoder_weights=None)
    loss = smp.losses.DiceLoss("binary")(model(x), inside)
    loss.backward()
    slope = sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None)
    print(decoder, f"{loss.item():.5f} {slope:.4f}", flush=True)
for encoder in ("mobilenet_v2", "efficientnet-b0", "mit_b0", "mobileone_s0", "tu-convnext_atto"):
    torch.manual_seed(0)
    model = smp.Unet(encoder, encoder_weights=None).eval()
    print(encoder, f"{model(x).norm().item():.4f}", flush=True)

# In float64: batch norms of a few numbers, and the kinks of relu, make float32 differ by 1%.
torch.manual_seed(0)
model = smp.Unet("tu-mobilevit_xxs", encoder_weights=None).double()
smp.losses.DiceLoss("binary")(model(x.double()), inside).backward()
print("tu-mobilevit_xxs", f"{sum(p.grad.norm().item() for p in model.parameters()):.6f}")

torch.manual_seed(0)
head = {"classes": 2, "pooling": "avg", "dropout": 0.2}
model = smp.Unet("resnet18", encoder_weights=None, classes=3, aux_params=head)
masks, labels = model(x)
classes = torch.randint(0, 3, (2, 64, 64))
stats = smp.metrics.get_stats(masks.argmax(1), classes, mode="multiclass", num_classes=3)
print(tuple(labels.shape), f"{smp.metrics.iou_score(*stats, reduction='micro').item():.4f}")
for loss in (smp.losses.JaccardLoss, smp.losses.FocalLoss, smp.losses.LovaszLoss):
    print(loss.__name__, f"{loss('multiclass')(masks, classes).item():.5f}")
with tempfile.TemporaryDirectory() as folder:
    model.eval().save_pretrained(folder)
    print(torch.equal(smp.from_pretrained(folder).eval()(x)[0], model(x)[0]))
