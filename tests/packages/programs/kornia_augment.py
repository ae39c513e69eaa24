"""kornia: colours, filters, geometry, losses, augmentations with boxes and their inverse."""

import kornia.augmentation as augment
import torch
from kornia import color, enhance, feature, filters, geometry, losses, metrics, morphology


def show(name, y):
    y = y[0] if isinstance(y, (tuple, list)) else y
    print(name, tuple(y.shape), f"{y.double().nan_to_num().sum().item():.3f}")


torch.manual_seed(0)
x = torch.rand(2, 3, 32, 32)
square = torch.tensor([[[1.0, 1.0], [20.0, 1.0], [20.0, 20.0], [1.0, 20.0]]]).repeat(2, 1, 1)
window = torch.ones(3, 3)
for space in ("grayscale", "hsv", "hls", "lab", "luv", "xyz", "ycbcr", "yuv"):
    show(space, getattr(color, f"rgb_to_{space}")(x))
show("back", color.lab_to_rgb(color.rgb_to_lab(x)))
show("blur", filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)))
show("sobel", filters.sobel(x))
show("median", filters.median_blur(x, (3, 3)))
show("canny", filters.canny(x)[1])
show("bilateral", filters.bilateral_blur(x, (3, 3), 0.1, (1.0, 1.0)))
show("rotate", geometry.rotate(x, torch.tensor([30.0, 45.0])))
show("resize", geometry.resize(x, 48))
show("warp", geometry.warp_perspective(x, torch.eye(3).repeat(2, 1, 1), (32, 32)))
show("crop", geometry.crop_and_resize(x, square, (16, 16)))
show("homography", geometry.find_homography_dlt(torch.rand(1, 8, 2), torch.rand(1, 8, 2)))
show("axis", geometry.axis_angle_to_rotation_matrix(torch.rand(2, 3)))
show("ssim", metrics.ssim(x, x * 0.9, 5))
show("focal", losses.focal_loss(torch.randn(2, 4, 5), torch.randint(0, 4, (2, 5)), 0.5))
show("ms-ssim", losses.MS_SSIMLoss()(x, x * 0.9))
show("dilation", morphology.dilation(x, window))
show("opening", morphology.opening(x, window))
show("equalize", enhance.equalize(x))
show("clahe", enhance.equalize_clahe(x))
show("hue", enhance.adjust_hue(x, 0.2))
show("harris", feature.harris_response(x[:, :1]))
show("sift", feature.SIFTDescriptor(32)(x[:, :1]))

torch.manual_seed(1)
for step in (
    augment.RandomHorizontalFlip(p=0.5),
    augment.RandomAffine(15.0, (0.1, 0.1), p=1.0),
    augment.ColorJitter(0.2, 0.3, 0.2, 0.3, p=1.0),
    augment.RandomResizedCrop((16, 16)),
    augment.RandomErasing(p=1.0),
    augment.RandomGaussianBlur((3, 3), (0.1, 2.0), p=1.0),
    augment.RandomPerspective(p=1.0),
    augment.RandomElasticTransform(p=1.0),
    augment.RandomPosterize(p=1.0),
    augment.RandomThinPlateSpline(p=1.0),
    augment.RandomMixUpV2(p=1.0, data_keys=["input"]),
):
    show(type(step).__name__, step(x))
sequence = augment.AugmentationSequential(
    augment.RandomHorizontalFlip(p=1.0),
    augment.RandomAffine(10.0, p=1.0),
    data_keys=["input", "mask", "bbox_xyxy", "keypoints"],
)
boxes, points = torch.tensor([[[1.0, 1.0, 5.0, 5.0]]] * 2), torch.tensor([[[3.0, 4.0]]] * 2)
moved = sequence(x, (x[:, :1] > 0.5).float(), boxes, points)
print([tuple(part.shape) for part in moved], f"{moved[2].sum().item():.3f}")
print(f"{sequence.inverse(*moved)[3].sum().item():.3f}")
