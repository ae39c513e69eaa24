import inspect
import io
import os

import PIL.Image
import pytest

from .vision_cases import check, facula, names, torchvision

PIXELS = names(facula)["array"]


def encoded(image, format, **options):
    buffer = io.BytesIO()
    image.save(buffer, format=format, **options)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    image = PIL.Image.fromarray(PIXELS)
    with_alpha = image.convert("RGBA")
    with_alpha.putalpha(image.convert("L"))
    turned = image.getexif()
    turned[274] = 6
    contents = {
        "png": encoded(image, "PNG"),
        "gray_png": encoded(image.convert("L"), "PNG"),
        "gray_alpha_png": encoded(with_alpha.convert("LA"), "PNG"),
        "alpha_png": encoded(with_alpha, "PNG"),
        "palette_png": encoded(image.quantize(200), "PNG"),
        "jpeg": encoded(image, "JPEG"),
        "gray_jpeg": encoded(image.convert("L"), "JPEG"),
        "cmyk_jpeg": encoded(image.convert("CMYK"), "JPEG"),
        "turned_jpeg": encoded(image, "JPEG", exif=turned),
        "gif": encoded(image, "GIF"),
        "gif_frames": encoded(image, "GIF", save_all=True, append_images=[image.rotate(90)]),
        "webp": encoded(image, "WEBP", lossless=True),
        "alpha_webp": encoded(with_alpha, "WEBP", lossless=True),
        "cut_png": encoded(image, "PNG")[:200],
        "cut_jpeg": encoded(image, "JPEG")[:300],
        "text": b"this is no image, however long it is" * 3,
        "empty": b"",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    before = os.getcwd()
    os.chdir(folder)
    yield list(contents)
    os.chdir(before)


COLOR = ["png", "gray_png", "gray_alpha_png", "alpha_png", "jpeg", "gray_jpeg", "turned_jpeg"]
BAD = ["cut_png", "cut_jpeg", "text", "empty", "no_such_file"]


@pytest.mark.parametrize("name", [*COLOR, *BAD])
@pytest.mark.parametrize("mode", ["UNCHANGED", "GRAY", "GRAY_ALPHA", "RGB", "RGB_ALPHA"])
def test_images_are_read(name, mode, files):
    # libpng and Pillow round the weights of red, green and blue differently.
    off = 1.0 if "GRAY" in mode and "png" in name else 0.0
    check(f"vision.io.read_image({name!r}, vision.io.ImageReadMode.{mode})", off=off)
    check(f"vision.io.decode_image({name!r}, {mode!r}, True)", off=off)
    check(f"vision.io.decode_image(vision.io.read_file({name!r}), {mode!r})", off=off)


@pytest.mark.parametrize("mode", ["UNCHANGED", "RGB"])
def test_palettes_are_read(mode, files):
    check(f"vision.io.read_image('palette_png', vision.io.ImageReadMode.{mode})")


@pytest.mark.parametrize("name", ["gif", "gif_frames", "webp", "alpha_webp", "cmyk_jpeg"])
def test_other_formats_are_read(name, files):
    check(f"vision.io.read_image({name!r}, 'RGB')")


@pytest.mark.parametrize("name", ["png", "jpeg", "gif", "webp", "text", "empty"])
@pytest.mark.parametrize("decode", ["decode_png", "decode_jpeg", "decode_gif", "decode_webp"])
def test_decoders_refuse_other_formats(decode, name, files):
    check(f"vision.io.{decode}(vision.io.read_file({name!r}))")


ENCODE = """
    vision.io.encode_jpeg(u8)
    vision.io.encode_jpeg(u8, quality=30)
    vision.io.encode_jpeg(gray, 95)
    vision.io.encode_jpeg([u8, gray])
    vision.io.encode_jpeg(u8, 0)
    vision.io.encode_jpeg(u8, 101)
    vision.io.encode_jpeg(f32)
    vision.io.encode_jpeg(u8[:2])
    vision.io.encode_jpeg(u8[0])
    vision.io.encode_png(u8, 10)
    vision.io.encode_png(u8, -1)
    vision.io.encode_png(f32)
    vision.io.encode_png(u8[:2])
    vision.io.encode_png(u8[0])
    vision.io.decode_png(vision.io.encode_png(u8, 9))
    vision.io.decode_png(vision.io.encode_png(gray))
    vision.io.decode_jpeg(vision.io.encode_jpeg(u8))
    vision.io.decode_jpeg([vision.io.encode_jpeg(u8), vision.io.encode_jpeg(gray)])
    vision.io.decode_jpeg(vision.io.encode_jpeg(u8), "GRAY")
    [vision.io.write_jpeg(u8, "a.jpeg", 80), vision.io.read_file("a.jpeg")]
    [vision.io.write_png(u8, "a.png"), vision.io.read_image("a.png")]
    [vision.io.write_file("a", u8.flatten()), vision.io.read_file("a")]
    vision.io.write_file("a", u8)
    vision.io.write_file("a", f32.flatten())
    vision.io.write_png(u8, "no_folder/a.png")
    vision.io.decode_image(3)
    vision.io.decode_image(f32.flatten())
    vision.io.decode_image(u8)
    vision.io.decode_image("png", "foo")
    F.jpeg(u8, 30)
    F.jpeg(image, 30)
    F.jpeg(video, 30)
    F.jpeg(gray, 80)
    F.jpeg(pil, 30)
    F.jpeg(f32, 30)
    F.jpeg(u8[:2], 30)
"""


@pytest.mark.parametrize("expression", [line.strip() for line in ENCODE.strip().splitlines()])
def test_images_are_written(expression, files):
    check(expression)


def test_names_and_arguments():
    theirs, ours = torchvision.io, facula.vision.io
    for name in ours.__all__:
        expected = list(inspect.signature(getattr(theirs, name)).parameters)
        assert list(inspect.signature(getattr(ours, name)).parameters) == expected, name
    assert [mode.name for mode in ours.ImageReadMode] == [m.name for m in theirs.ImageReadMode]
