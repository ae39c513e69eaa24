import PIL.Image
import pytest

import facula
from facula.vision import io

pytestmark = pytest.mark.promise("D3")


@pytest.fixture
def image():
    facula.manual_seed(0)
    return facula.randint(0, 256, (3, 9, 7), dtype=facula.uint8)


def test_png_files_keep_every_value(image, tmp_path):
    path = str(tmp_path / "image.png")
    io.write_png(image, path, compression_level=9)
    assert io.read_image(path).equal(image)
    assert io.decode_image(path).equal(image)
    assert io.decode_png(io.read_file(path)).equal(image)
    assert io.read_image(path, "RGB_ALPHA")[3].unique().tolist() == [255]


def test_jpeg_files_keep_about_every_value(tmp_path):
    path = str(tmp_path / "image.jpeg")
    image = facula.full((3, 16, 16), 100, dtype=facula.uint8)
    io.write_jpeg(image, path, quality=95)
    assert (io.read_image(path).int() - 100).abs().max() <= 2
    assert io.read_image(path, io.ImageReadMode.GRAY).shape == (1, 16, 16)
    several = io.decode_jpeg([io.read_file(path)] * 2)
    assert len(several) == 2 and several[0].equal(several[1])


@pytest.mark.parametrize("bits", [2, 8])
def test_palettes_are_numbers_or_become_their_colors(bits, tmp_path):
    path = str(tmp_path / "mask.png")
    mask = PIL.Image.new("P", (4, 4), 3)
    mask.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0, 200, 100, 50])
    mask.save(path, bits=bits)
    assert io.read_image(path).unique().tolist() == [3]
    assert io.read_image(path).shape == (1, 4, 4)
    assert io.read_image(path, "RGB")[:, 0, 0].tolist() == [200, 100, 50]


def test_sixteen_bits_keep_their_values(tmp_path):
    path = str(tmp_path / "image.png")
    PIL.Image.new("I;16", (4, 4), 50000).save(path)
    assert io.read_image(path).unique().tolist() == [50000]
    with_alpha = {"GRAY_ALPHA": [50000, 65535], "RGB_ALPHA": [50000, 50000, 50000, 65535]}
    for mode, channels in with_alpha.items():
        assert io.read_image(path, mode)[:, 0, 0].tolist() == channels


def test_colors_for_printers_are_read_as_the_file_has_them(tmp_path):
    path = str(tmp_path / "image.jpg")
    PIL.Image.new("CMYK", (8, 8), (255, 255, 0, 0)).save(path)
    assert io.read_image(path)[:, 0, 0].tolist() == [0, 0, 255, 255]


def test_frames_of_a_gif_are_stacked(tmp_path):
    path = str(tmp_path / "image.gif")
    first, second = (PIL.Image.new("RGB", (5, 4), color) for color in ("red", "blue"))
    first.save(path, save_all=True, append_images=[second])
    frames = io.read_image(path)
    assert frames.shape == (2, 3, 4, 5)
    assert frames[:, :, 0, 0].tolist() == [[255, 0, 0], [0, 0, 255]]


def test_images_turn_as_their_exif_data_says(tmp_path):
    path = str(tmp_path / "image.jpeg")
    photo = PIL.Image.new("RGB", (6, 4))
    exif = photo.getexif()
    exif[274] = 6
    photo.save(path, exif=exif)
    assert io.read_image(path).shape == (3, 4, 6)
    assert io.read_image(path, apply_exif_orientation=True).shape == (3, 6, 4)


@pytest.mark.parametrize("cut", [0, 20, 100])
def test_errors_name_the_file(cut, image, tmp_path):
    path = tmp_path / "broken.png"
    path.write_bytes(bytes(io.encode_png(image).tolist())[:cut])
    with pytest.raises(RuntimeError, match=r"read_image: '.*broken\.png' is (empty|not an image)"):
        io.read_image(str(path))


def test_a_missing_file_is_named():
    with pytest.raises(RuntimeError, match=r"No such file or directory: 'no_such_file\.png'"):
        io.read_image("no_such_file.png")


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: io.encode_jpeg(x, 0), ValueError, "quality is from 1 to 100, got 0"),
        (lambda x: io.encode_png(x, 10), RuntimeError, "compression_level is from 0 to 9, got 10"),
        (lambda x: io.encode_png(x[:2]), RuntimeError, "of 1 or 3 channels, got torch.uint8"),
        (lambda x: io.encode_jpeg(x / 255), RuntimeError, "expected a uint8 image"),
        (lambda x: io.decode_png(io.encode_jpeg(x)), RuntimeError, "not an image of format PNG"),
        (lambda x: io.decode_image(x), RuntimeError, "expected one dimension of uint8"),
        (lambda x: io.decode_jpeg(io.encode_jpeg(x), "RGB_ALPHA"), RuntimeError, "no alpha"),
        (lambda x: io.write_png(x, "no_folder/x.png"), RuntimeError, "no_folder/x.png"),
        (lambda x: io.decode_image(io.encode_png(x), "foo"), KeyError, "FOO"),
    ],
)
def test_bad_arguments_are_refused(call, error, message, image):
    with pytest.raises(error, match=message):
        call(image)
