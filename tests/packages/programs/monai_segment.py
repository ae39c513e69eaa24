"""MONAI: images with metadata through transforms, a U-Net trained, windows, losses and metrics."""

import tempfile

import numpy as np
import torch
from monai import losses, metrics, transforms
from monai.data import CacheDataset, DataLoader, decollate_batch, list_data_collate
from monai.inferers import sliding_window_inference
from monai.networks import nets
from monai.utils import set_determinism

set_determinism(0)
BOTH = ["image", "label"]
flat, solid = torch.rand(1, 1, 64, 64), torch.rand(1, 1, 32, 32, 32)
for make, x in (
    (lambda: nets.UNet(2, 1, 2, (8, 16, 32), (2, 2), num_res_units=2), flat),
    (lambda: nets.UNet(3, 1, 2, (4, 8, 16), (2, 2)), solid),
    (lambda: nets.SegResNet(2, 8, 1, 2), flat),
    (lambda: nets.DynUNet(2, 1, 2, [3, 3, 3], [1, 2, 2], [2, 2], filters=[8, 16, 32]), flat),
    (lambda: nets.SwinUNETR(1, 2, feature_size=12, spatial_dims=2), flat),
    (lambda: nets.AttentionUnet(2, 1, 2, (8, 16, 32), (2, 2)), flat),
):
    torch.manual_seed(0)
    net = make().eval()
    y = net(x)
    y.square().mean().backward()
    slope = sum(p.grad.norm().item() for p in net.parameters() if p.grad is not None)
    print(type(net).__name__, tuple(y.shape), f"{y.norm().item():.4f} {slope:.4f}", flush=True)

torch.manual_seed(0)
logits, labels = torch.randn(2, 3, 16, 16), torch.randint(0, 3, (2, 1, 16, 16))
for made in (losses.DiceLoss, losses.DiceCELoss, losses.GeneralizedDiceLoss, losses.TverskyLoss):
    print(made.__name__, f"{made(to_onehot_y=True, softmax=True)(logits, labels).item():.5f}")
classes = torch.nn.functional.one_hot(labels[:, 0], 3).movedim(-1, 1)
guesses = torch.nn.functional.one_hot(logits.argmax(1), 3).movedim(-1, 1)
for metric in (metrics.DiceMetric(), metrics.MeanIoU(), metrics.HausdorffDistanceMetric()):
    metric(guesses, classes)
    print(type(metric).__name__, f"{metric.aggregate().item():.4f}")

with tempfile.TemporaryDirectory() as folder:
    rng, files = np.random.RandomState(0), []
    for i in range(4):
        np.save(f"{folder}/image{i}.npy", rng.rand(40, 40).astype(np.float32))
        np.save(f"{folder}/label{i}.npy", (rng.rand(40, 40) > 0.5).astype(np.float32))
        files.append({part: f"{folder}/{part}{i}.npy" for part in BOTH})
    steps = transforms.Compose(
        [
            transforms.LoadImaged(BOTH),
            transforms.EnsureChannelFirstd(BOTH),
            transforms.ScaleIntensityd("image"),
            transforms.RandCropByPosNegLabeld(BOTH, "label", (32, 32), 1, 1, 2),
            transforms.RandRotate90d(BOTH, 0.5, spatial_axes=[0, 1]),
            transforms.RandAffined(BOTH, prob=0.5, rotate_range=0.2, mode=["bilinear", "nearest"]),
        ]
    )
    steps.set_random_state(0)
    data = CacheDataset(files, steps, progress=False)
    loader = DataLoader(data, batch_size=2, collate_fn=list_data_collate)
    torch.manual_seed(0)
    net = nets.UNet(2, 1, 1, (8, 16, 32), (2, 2))
    optimizer, dice = torch.optim.Adam(net.parameters(), 1e-2), losses.DiceLoss(sigmoid=True)
    for epoch in range(2):
        for batch in loader:
            optimizer.zero_grad()
            loss = dice(net(batch["image"]), batch["label"])
            loss.backward()
            optimizer.step()
            print(epoch, f"{loss.item():.4f}")
    image = batch["image"]
    print(type(image).__name__, tuple(image.affine.shape), image.applied_operations[0][-1]["class"])
    with torch.no_grad():
        y = sliding_window_inference(image, (16, 16), 4, net.eval(), overlap=0.5, mode="gaussian")
    print([type(part).__name__ for part in decollate_batch(y)], f"{y.norm().item():.3f}")
    image = transforms.EnsureChannelFirst()(transforms.LoadImage()(files[0]["image"]))
    for step in (
        transforms.Spacing((2.0, 2.0)),
        transforms.Resize((20, 20)),
        transforms.Rotate(0.3),
        transforms.GaussianSmooth(1.0),
        transforms.SpatialPad((50, 50)),
        transforms.CropForeground(),
    ):
        y = step(image)
        print(type(step).__name__, type(y).__name__, tuple(y.shape), f"{y.sum().item():.3f}")
