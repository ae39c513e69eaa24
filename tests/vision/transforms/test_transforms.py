import copy
import pickle
import random
from collections import OrderedDict, defaultdict, deque, namedtuple

import numpy as np
import PIL.Image
import pytest

import facula
from facula import nn
from facula.vision import transforms as T
from facula.vision import tv_tensors
from facula.vision.transforms import v2

pytestmark = pytest.mark.promise("D3")


def image(h=6, w=8, dtype=facula.uint8):
    values = facula.arange(3 * h * w).reshape(3, h, w) % 251
    return values.to(dtype) if dtype == facula.uint8 else values.to(dtype) / 255


def pil(h=6, w=8):
    return PIL.Image.fromarray(image(h, w).permute(1, 2, 0).numpy())


def boxes(*corners, size=(6, 8)):
    return tv_tensors.BoundingBoxes(
        facula.tensor(corners or [[1, 1, 3, 4], [4, 0, 8, 6]]), format="XYXY", canvas_size=size
    )


class Negative(v2.Transform):
    """A transform as users write them, with something drawn."""

    def make_params(self, flat_inputs):
        return {"factor": -facula.rand(()).item(), "n": len(flat_inputs)}

    def transform(self, inpt, params):
        assert params["n"] >= 1
        return inpt * params["factor"]


def add_one(x):
    return x + 1


# The walk over a sample


def test_the_first_plain_tensor_is_the_image():
    sample = {"label": 3, "image": facula.ones(3, 4, 4), "mask": facula.ones(4, 4)}
    result = v2.Pad(1)(sample)
    assert result["image"].shape == (3, 6, 6)
    assert result["mask"] is sample["mask"]
    assert result["label"] == 3


@pytest.mark.parametrize("other", [tv_tensors.Image(image()), pil()])
def test_beside_an_image_plain_tensors_pass_through(other):
    plain = facula.ones(3, 6, 8)
    padded, same = v2.Pad(1)(other, plain)
    assert v2.query_size([padded]) == (8, 10)
    assert same is plain


def test_parts_of_a_sample_are_transformed_together():
    for seed in range(10):
        facula.manual_seed(seed)
        sample = tv_tensors.Image(image()), tv_tensors.Mask(image()[0]), boxes()
        pixels, mask, box = v2.RandomCrop(4)(*sample)
        assert facula.equal(pixels[0], mask)
        assert box.canvas_size == (4, 4)


def test_the_structure_of_a_sample_is_kept():
    Pair = namedtuple("Pair", "image label")
    img = image()
    for sample in (
        Pair(img, 1),
        [img, (2, {"a": None})],
        OrderedDict(image=img, label=1),
        defaultdict(list, image=img),
        deque([img], maxlen=3),
        {"image": img, "path": "a.png", "size": (3, 4)},
    ):
        result = v2.CenterCrop(2)(sample)
        assert type(result) is type(sample)
        assert v2.CenterCrop(2)(img).shape == (3, 2, 2)
    assert v2.CenterCrop(2)(Pair(img, 1)).image.shape == (3, 2, 2)
    assert v2.CenterCrop(2)(defaultdict(list, image=img))["missing"] == []
    assert v2.CenterCrop(2)(deque([img], maxlen=3)).maxlen == 3


def test_several_arguments_come_back_as_a_tuple_and_one_as_itself():
    assert v2.Identity()(1, 2) == (1, 2)
    assert v2.Identity()([1, 2]) == [1, 2]
    assert v2.RandomHorizontalFlip(p=0.0)(1, 2) == (1, 2)


def test_a_transform_of_ones_own_draws_once_for_a_sample():
    sample = {"a": tv_tensors.Image(facula.ones(1, 2, 2)), "b": tv_tensors.Mask(facula.ones(2, 2))}
    result = Negative()(sample)
    assert facula.equal(result["a"][0], result["b"])
    assert (result["b"] < 0).all()


def test_a_transform_without_a_method_says_so():
    class Empty(v2.Transform):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty has no method transform"):
        Empty()(image())


def test_types_without_a_kernel_pass_through():
    points = tv_tensors.KeyPoints([[1.0, 2.0]], canvas_size=(6, 8))
    assert v2.ColorJitter(0.5)(tv_tensors.Image(image()), points)[1] is points


def test_a_registered_kernel_is_called_by_the_classes():
    class Label(tv_tensors.TVTensor):
        pass

    @v2.functional.register_kernel(v2.functional.horizontal_flip, Label)
    def flip_label(inpt):
        return -inpt

    assert v2.RandomHorizontalFlip(p=1.0)(Label([3])).tolist() == [-3]
    assert v2.RandomVerticalFlip(p=1.0)(Label([3])).tolist() == [3]


# Random numbers: those of torchvision 0.28 with the same seeds


def test_crops_of_known_seeds():
    drawn = []
    for seed in range(4):
        facula.manual_seed(seed)
        drawn.append(T.RandomCrop.get_params(facula.zeros(3, 20, 30), (8, 9)))
    assert drawn == [(3, 7, 8, 9), (6, 3, 8, 9), (5, 19, 8, 9), (2, 8, 8, 9)]
    drawn = []
    for seed in range(4):
        facula.manual_seed(seed)
        drawn.append(T.RandomResizedCrop.get_params(pil(20, 30), (0.08, 1.0), (0.75, 1.3)))
    assert drawn == [(1, 0, 17, 19), (3, 13, 16, 17), (0, 0, 20, 19), (5, 17, 8, 6)]


def test_flips_of_a_known_seed():
    facula.manual_seed(0)
    flip = T.RandomHorizontalFlip()
    x = facula.tensor([[[0, 1]]])
    assert [flip(x)[0, 0, 0].item() for _ in range(12)] == [1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1]


def test_version_1_draws_both_offsets_and_version_2_those_that_vary():
    after = []
    for crop in (T.RandomCrop((4, 8)), v2.RandomCrop((4, 8))):
        facula.manual_seed(0)
        crop(image())
        after.append(facula.rand(1).item())
    facula.manual_seed(0)
    facula.randint(0, 3, ())
    assert after[1] == facula.rand(1).item() != after[0]


def test_proportions_of_mixing_of_known_seeds():
    drawn = []
    for alpha in (1.0, 0.3):
        facula.manual_seed(0)
        labels = v2.MixUp(alpha=alpha, num_classes=2)(
            facula.zeros(2, 3, 4, 4), facula.tensor([0, 1])
        )[1]
        drawn.append(labels[0, 0].item())
    assert drawn == pytest.approx([0.8637616038, 0.0007455140], rel=1e-6)


def test_version_1_chooses_with_pythons_random_numbers():
    choice = T.RandomChoice([T.Lambda(str), T.Lambda(float)], p=[1, 2])
    order = T.RandomOrder([lambda x: x + "a", lambda x: x + "b", lambda x: x + "c"])
    random.seed(1)
    results = [type(choice(3)) for _ in range(6)], [order("") for _ in range(4)]
    random.seed(1)
    expected = [random.choices([str, float], weights=[1, 2])[0] for _ in range(6)]
    assert results[0] == expected
    assert {"".join(sorted(text)) for text in results[1]} == {"abc"}


# What transforms are: modules without state, that can be copied, sent and printed

ALL = [
    T.Resize(4),
    T.CenterCrop(4),
    T.Pad(1),
    T.RandomCrop(4, padding=1),
    T.RandomResizedCrop(4),
    T.RandomHorizontalFlip(1.0),
    T.RandomVerticalFlip(1.0),
    T.RandomRotation(30),
    T.RandomAffine(30, (0.1, 0.1), (0.5, 2), 10),
    T.RandomPerspective(p=1.0),
    T.ElasticTransform(5.0, 0.5),
    T.ColorJitter(0.5, 0.5, 0.5, 0.5),
    T.Grayscale(3),
    T.RandomGrayscale(1.0),
    T.RandomInvert(1.0),
    T.RandomPosterize(2, 1.0),
    T.RandomSolarize(100, 1.0),
    T.RandomAutocontrast(1.0),
    T.RandomEqualize(1.0),
    T.RandomAdjustSharpness(2, 1.0),
    T.GaussianBlur(3),
    T.RandomErasing(1.0),
    T.ConvertImageDtype(facula.float32),
    T.AutoAugment(),
    T.RandAugment(),
    T.TrivialAugmentWide(),
    T.AugMix(),
    T.Compose([T.RandomCrop(4), T.Lambda(add_one)]),
    T.RandomApply([T.Pad(1)]),
    T.RandomChoice([T.Pad(1), T.Pad(2)]),
    T.RandomOrder([T.Pad(1), T.Pad(2)]),
    v2.Compose([v2.ToImage(), v2.RandomIoUCrop()]).transforms[0],
    v2.RandomPhotometricDistort(p=1.0),
    v2.RandomZoomOut(p=1.0),
    v2.ScaleJitter((6, 8), (0.5, 2.0)),
    v2.RandomChannelPermutation(),
    v2.ToDtype(facula.float32, scale=True),
    v2.Lambda(add_one),
]


@pytest.mark.parametrize("transform", ALL, ids=lambda t: type(t).__name__)
def test_transforms_leave_their_input_alone(transform):
    x = image()
    before = x.clone()
    for _ in range(3):
        transform(x)
    assert facula.equal(x, before)


@pytest.mark.parametrize("transform", ALL, ids=lambda t: type(t).__name__)
def test_copies_of_transforms_do_the_same(transform):
    results = []
    for clone in (transform, pickle.loads(pickle.dumps(transform)), copy.deepcopy(transform)):
        facula.manual_seed(3)
        random.seed(3)
        results.append(clone(image()))
    assert facula.equal(results[0], results[1])
    assert facula.equal(results[0], results[2])


def test_transforms_work_in_a_sequential_and_have_no_state():
    net = nn.Sequential(T.CenterCrop(4), T.ConvertImageDtype(facula.float32), T.Normalize(0.5, 0.5))
    assert net(image()).shape == (3, 4, 4)
    assert not net.state_dict()
    assert net.to(facula.float64).eval().train() is net
    assert not list(v2.AutoAugment().to("cpu").parameters())


def test_containers_print_what_they_hold():
    text = "Compose(\n    Pad(padding=1, fill=0, padding_mode=constant)\n    ToTensor()\n)"
    assert repr(T.Compose([T.Pad(1), T.ToTensor()])) == text
    assert (
        repr(v2.Compose([v2.Pad(1)]))
        == "Compose(    Pad(padding=1, fill=0, padding_mode=constant))"
    )
    assert repr(T.RandomChoice([T.Pad(1)], p=[2])).endswith("\n)(p=[2])")


def test_gradients_pass_through_transforms():
    x = image(dtype=facula.float32).requires_grad_()
    v2.Compose([v2.Resize(4), v2.Normalize([0.5], [0.5]), v2.Pad(1)])(x).sum().backward()
    assert x.grad.shape == x.shape
    assert (x.grad != 0).any()


# Version 1


def test_the_usual_pipeline_makes_a_batch_element_of_a_photo():
    pipeline = T.Compose(
        [
            T.RandomResizedCrop(5),
            T.RandomHorizontalFlip(),
            T.ToTensor(),
            T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    result = pipeline(pil(20, 30))
    assert result.shape == (3, 5, 5)
    assert result.dtype == facula.float32
    assert result.is_contiguous()


@pytest.mark.promise("D5")
def test_functions_and_classes_of_users_compose_over_dict_samples():
    class Rescale:
        def __init__(self, size):
            self.size = size

        def __call__(self, sample):
            return {**sample, "image": v2.functional.resize(sample["image"], self.size)}

    compose = T.Compose([Rescale(3), lambda sample: {**sample, "landmarks": 7}])
    result = compose({"image": image(), "landmarks": np.zeros((2, 2))})
    assert result["image"].shape == (3, 3, 4)
    assert result["landmarks"] == 7
    assert T.Compose([])(3) == 3


def test_historic_names_are_the_new_ones_with_a_warning():
    with pytest.warns(UserWarning, match=r"Scale: deprecated; use transforms\.Resize\."):
        scale = T.Scale(3)
    assert isinstance(scale, T.Resize)
    assert scale(image()).shape == (3, 3, 4)
    with pytest.warns(UserWarning, match=r"use transforms\.RandomResizedCrop\."):
        assert T.RandomSizedCrop(3)(image()).shape == (3, 3, 3)


def test_lambda_takes_the_sample_as_a_whole_in_version_1_and_its_parts_in_version_2():
    assert T.Lambda(len)([1, 2, 3]) == 3
    assert v2.Lambda(add_one)([1, 2, 3]) == [2, 3, 4]


def test_version_1_refuses_what_is_no_image():
    with pytest.raises(TypeError, match=r"Resize: expected a PIL image or a tensor, got str\."):
        T.Resize(3)("a.png")
    with pytest.raises(TypeError, match=r"to_tensor: expected a PIL image or a NumPy array"):
        T.ToTensor()(image())


# Augmentation


def test_auto_augment_takes_one_image_of_a_sample_and_no_boxes():
    result = v2.RandAugment()({"image": tv_tensors.Image(image()), "label": 3})
    assert type(result["image"]) is tv_tensors.Image
    assert result["label"] == 3
    with pytest.raises(TypeError, match=r"AutoAugment: expected an image, got also BoundingBoxes"):
        v2.AutoAugment()(image(), boxes())
    with pytest.raises(TypeError, match=r"AugMix: expected one image or video .*, got 0"):
        v2.AugMix()("a")


def test_mixing_keeps_the_sum_of_labels_and_the_type_of_images():
    batch = tv_tensors.Image(facula.rand(4, 3, 6, 8))
    for mix in (v2.MixUp(num_classes=5), v2.CutMix(num_classes=5)):
        images, labels = mix(batch, facula.tensor([0, 1, 2, 4]))
        assert type(images) is tv_tensors.Image
        assert labels.shape == (4, 5)
        assert facula.allclose(labels.sum(1), facula.ones(4))


def test_cut_mix_pastes_from_the_image_before():
    batch = facula.arange(3.0).reshape(3, 1, 1, 1).expand(3, 1, 8, 8).contiguous()
    images, labels = v2.CutMix(num_classes=3)(batch, facula.arange(3))
    share = (images[1] == 0).float().mean()
    assert share == pytest.approx(labels[1, 0].item(), abs=1e-6)


def test_erasing_erases_one_rectangle():
    x = facula.zeros(3, 20, 20)
    erased = v2.RandomErasing(p=1.0, value=(1, 2, 3))(x)
    rows = (erased[0] == 1).any(1).sum()
    columns = (erased[0] == 1).any(0).sum()
    assert (erased[0] == 1).sum() == rows * columns > 0
    assert facula.equal(erased[2], 3 * (erased[0] == 1))
    v2.RandomErasing(p=1.0, value=5, inplace=True)(x)
    assert (x == 5).any()


def test_erasing_warns_that_masks_stay_as_they_are():
    mask = tv_tensors.Mask(image()[0])
    with pytest.warns(UserWarning, match=r"RandomErasing: an input of type Mask passes through"):
        assert v2.RandomErasing(p=1.0)(pil(), mask)[1] is mask


# Boxes


def test_crops_to_boxes_reach_the_overlap_asked_for():
    for seed in range(5):
        facula.manual_seed(seed)
        crop = v2.RandomIoUCrop(sampler_options=[0.1])
        result, box, labels = crop(image(), boxes([1, 1, 5, 5]), facula.tensor([1]))
        assert tuple(result.shape[-2:]) == box.canvas_size
        assert labels.tolist() == [1]


def test_boxes_that_became_too_small_go_with_their_labels_and_masks():
    sample = {
        "boxes": boxes([0, 0, 4, 4], [2, 2, 2, 3], [1, 1, 8, 6]),
        "masks": tv_tensors.Mask(facula.arange(3).reshape(3, 1, 1).expand(3, 6, 8)),
        "labels": facula.tensor([5, 6, 7]),
    }
    result = v2.SanitizeBoundingBoxes()(sample)
    assert result["boxes"].tolist() == [[0, 0, 4, 4], [1, 1, 8, 6]]
    assert result["labels"].tolist() == [5, 7]
    assert result["masks"][:, 0, 0].tolist() == [0, 2]


def test_dtypes_can_be_given_by_type():
    dtypes = {tv_tensors.Image: facula.float32, tv_tensors.Mask: facula.int64, "others": None}
    result = v2.ToDtype(dtypes, scale=True)(
        {"i": tv_tensors.Image(image()), "m": tv_tensors.Mask(image()[0]), "b": boxes()}
    )
    assert [x.dtype for x in result.values()] == [facula.float32, facula.int64, facula.int64]
    assert result["i"].max() <= 1


def test_fills_can_be_given_by_type():
    fill = {tv_tensors.Image: 9, "others": 1}
    pixels, mask = v2.Pad(1, fill=fill)(tv_tensors.Image(image()), tv_tensors.Mask(image()[0]))
    assert pixels[0, 0, 0] == 9
    assert mask[0, 0] == 1


# Bad arguments


@pytest.mark.parametrize(
    "make, error, message",
    [
        (
            lambda: T.RandomHorizontalFlip(1.5),
            ValueError,
            "p between 0 and 1, got 1.5",
        ),
        (lambda: v2.RandomApply([v2.Pad(1)], p=-1), ValueError, "p between 0 and 1, got -1"),
        (lambda: T.ColorJitter(-1), ValueError, "brightness not to be negative .* got -1"),
        (lambda: T.ColorJitter(hue=0.6), ValueError, r"hue .* -0.5 and 0.5, got \(-0.6, 0.6\)"),
        (lambda: v2.Compose([]), ValueError, "Compose: expected one transform or more, got none"),
        (lambda: v2.Compose(3), TypeError, "Compose: expected a sequence of transforms, got 3"),
        (lambda: v2.RandomChoice([]), ValueError, "RandomChoice: expected one transform or more"),
        (lambda: v2.RandomChoice([v2.Pad(1)], p=[1, 2]), ValueError, "each of 1 transforms, got 2"),
        (lambda: T.Resize((1, 2, 3)), ValueError, "Resize: .* got .1, 2, 3."),
        (lambda: T.Resize(2.5), TypeError, "Resize: .* as size, got 2.5"),
        (lambda: T.CenterCrop((1, 2, 3)), ValueError, "1 or 2 numbers as size, got 3"),
        (lambda: T.CenterCrop(None), TypeError, "a number or .height, width. as size, got None"),
        (
            lambda: T.GaussianBlur(4),
            ValueError,
            r"odd numbers as kernel_size, got \(4, 4\)",
        ),
        (lambda: T.GaussianBlur(3, (2, 1)), ValueError, r"\(least, most\), both positive"),
        (lambda: T.RandomRotation(-5), ValueError, "degrees not to be negative"),
        (
            lambda: T.RandomAffine(0, translate=(2, 0)),
            ValueError,
            r"translate from 0 to 1, got",
        ),
        (lambda: T.RandomErasing(scale=(0, 2)), ValueError, "scale between 0 and 1"),
        (lambda: T.RandomErasing(value="x"), ValueError, "numbers or 'random' as value, got 'x'"),
        (lambda: T.Pad((1, 2, 3)), ValueError, "1, 2 or 4 ints as padding"),
        (lambda: T.Pad(1, padding_mode="x"), ValueError, "padding_mode .* got 'x'"),
        (lambda: T.Lambda(3), TypeError, "Lambda: expected a function, got 3"),
        (lambda: T.AutoAugment("x"), ValueError, "expected an AutoAugmentPolicy, got 'x'"),
        (lambda: T.AugMix(severity=0), ValueError, "a severity from 1 to 10, got 0"),
        (lambda: v2.JPEG(0), ValueError, "ints from 1 to 100"),
        (lambda: v2.MixUp(alpha=0), ValueError, "MixUp: expected a positive alpha, got 0"),
        (lambda: v2.ToDtype("x"), ValueError, "a dtype or a dict of them, got str"),
        (lambda: v2.SetClampingMode("x"), ValueError, "'soft', 'hard' or None, got 'x'"),
        (lambda: v2.SanitizeBoundingBoxes(0), ValueError, "min_size of 1 or more, got 0"),
        (lambda: v2.RandomZoomOut(side_range=(0.5, 1)), ValueError, "1 or more, got"),
    ],
)
def test_bad_arguments_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda: T.RandomCrop(9)(image()),
            ValueError,
            r"\(9, 9\) is larger than .* \(6, 8\)",
        ),
        (
            lambda: T.Normalize([0.5], [0.5])(pil()),
            TypeError,
            "expected a tensor, got a PIL",
        ),
        (
            lambda: T.Normalize([0.5] * 3, [0.5] * 3)(image()[:1].float()),
            RuntimeError,
            r"expected a mean and a std for 1 channel or for each, .* an image \(1, 6, 8\)",
        ),
        (
            lambda: T.LinearTransformation(facula.eye(3), facula.zeros(3))(image()),
            ValueError,
            r"expected 3 numbers in an image, got \(3, 6, 8\)",
        ),
        (
            lambda: v2.RandomErasing(1.0, value=(1, 2))(image()),
            ValueError,
            "expected 1 value or 3, one for each channel, got 2",
        ),
        (lambda: v2.MixUp(num_classes=3)(facula.zeros(2, 3, 4, 4), 3), ValueError, "labels_getter"),
        (
            lambda: v2.MixUp()(facula.zeros(2, 3, 4, 4), facula.tensor([1, 2])),
            ValueError,
            "class indices as labels need num_classes",
        ),
        (
            lambda: v2.MixUp(num_classes=3)(facula.zeros(2, 3, 4, 4), facula.tensor([1])),
            ValueError,
            "got 2 images, but 1 labels",
        ),
        (
            lambda: v2.CutMix(num_classes=3)(facula.zeros(3, 4, 4), facula.tensor([1, 2, 0])),
            ValueError,
            r"a batch of 4 dimensions, got \(3, 4, 4\)",
        ),
        (lambda: v2.RandomIoUCrop()(image()), TypeError, "an image and bounding boxes"),
        (lambda: v2.FiveCrop(2)(image(), boxes()), TypeError, "got bounding boxes or masks"),
        (
            lambda: v2.RandomCrop(2)(tv_tensors.Image(image()), boxes(size=(9, 9))),
            ValueError,
            r"differ in \(H, W\): \[\(6, 8\), \(9, 9\)\]",
        ),
        (
            lambda: v2.SanitizeBoundingBoxes()({"boxes": boxes(), "labels": facula.tensor([1])}),
            ValueError,
            r"as many labels as BoundingBoxes \(2, 4\), got labels \(1,\)",
        ),
        (lambda: v2.SanitizeBoundingBoxes(labels_getter=None)(3), ValueError, "found none"),
        (lambda: v2.ToDtype({})(image()), ValueError, "says nothing about Tensor"),
        (lambda: v2.RandomCrop(2)(3), TypeError, "found none"),
    ],
)
def test_bad_samples_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "name, arguments, drawn",
    [
        ("RandomCrop", (3,), (1, 2, 3, 3)),
        ("RandomResizedCrop", (3,), (1, 2, 3, 3)),
        ("RandomErasing", (1.0,), (0, 0, 1, 8, facula.ones(1))),
        ("ColorJitter", (0.5,), ([3, 2, 1, 0], 0.0, None, None, None)),
        ("RandomRotation", (10,), 180.0),
        ("RandomAffine", (10,), (0.0, (1, 0), 1.0, (0.0, 0.0))),
    ],
)
def test_what_is_drawn_is_that_of_an_overridden_get_params(name, arguments, drawn):
    own = type("Own", (getattr(T, name),), {"get_params": lambda self, *_: drawn})(*arguments)
    expected = {
        "RandomCrop": lambda x: x[:, 1:4, 2:5],
        "RandomResizedCrop": lambda x: x[:, 1:4, 2:5],
        "RandomErasing": lambda x: facula.cat([facula.ones(3, 1, 8), x[:, 1:]], dim=1),
        "ColorJitter": lambda x: x * 0,
        "RandomRotation": lambda x: x.flip(1, 2),
        "RandomAffine": lambda x: facula.cat([facula.zeros(3, 6, 1), x[:, :, :-1]], dim=2),
    }
    x = facula.rand(3, 6, 8)
    facula.testing.assert_close(own(x), expected[name](x))


def test_classes_of_version_1_compute_what_its_functions_do():
    facula.manual_seed(0)
    x = facula.randint(256, (3, 16, 20), dtype=facula.uint8)
    assert facula.equal(T.Resize((8, 7))(x), T.functional.resize(x, (8, 7)))
    assert not facula.equal(T.Resize((8, 7))(x), v2.Resize((8, 7))(x))
    mask = x[0]  # without channels, which version 2 refuses
    assert facula.equal(T.Pad(2)(mask), T.functional.pad(mask, 2))
