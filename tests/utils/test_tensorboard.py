"""Every kind of record, read back by the package ``tensorboard``."""

import io
import json
import os
import resource
import signal
import subprocess
import sys
import wave

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util

import facula
from facula import nn
from facula.utils.tensorboard import SummaryWriter

pytestmark = pytest.mark.promise("P7")


def read(folder):
    events = EventAccumulator(str(folder), size_guidance=dict.fromkeys(("tensors", "images"), 0))
    return events.Reload()


@pytest.fixture
def written(tmp_path):
    """Writes with a function of the writer and reads back."""

    def write_and_read(write):
        with SummaryWriter(tmp_path) as writer:
            write(writer)
        return read(tmp_path)

    return write_and_read


def test_scalars_keep_value_step_and_time(written):
    def write(writer):
        for step in range(3):
            value = facula.tensor(step / 2, requires_grad=True)
            writer.add_scalar("loss", value, step, walltime=100.0 + step)

    points = written(write).Scalars("loss")
    assert [(p.wall_time, p.step, p.value) for p in points] == [
        (100.0, 0, 0.0),
        (101.0, 1, 0.5),
        (102.0, 2, 1.0),
    ]


def test_double_precision_keeps_all_digits(written):
    events = written(lambda writer: writer.add_scalar("x", 0.1, 7, double_precision=True))
    (event,) = events.Tensors("x")
    assert event.step == 7
    assert tensor_util.make_ndarray(event.tensor_proto) == np.float64(0.1)


def test_a_scalar_of_two_elements_is_refused(tmp_path):
    with SummaryWriter(tmp_path) as writer, pytest.raises(AssertionError, match="scalar"):
        writer.add_scalar("x", facula.ones(2))


def test_several_scalars_are_runs_of_their_own(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("train/loss", {"a": 1.0, "b": facula.tensor(2.0)}, 5)
        writer.export_scalars_to_json(tmp_path / "all.json")
    for tag, value in (("a", 1.0), ("b", 2.0)):
        (point,) = read(tmp_path / f"train_loss_{tag}").Scalars("train/loss")
        assert (point.step, point.value) == (5, value)
    values = [points[0][2] for points in json.loads((tmp_path / "all.json").read_text()).values()]
    assert values == [1.0, 2.0]


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 10])
def test_histograms_count_every_value(written, bins):
    values = facula.linspace(-2, 2, 101).bfloat16()
    (event,) = written(lambda w: w.add_histogram("h", values, 1, bins=bins)).Histograms("h")
    histogram = event.histogram_value
    assert (histogram.num, histogram.min, histogram.max) == (101, -2, 2)
    assert sum(histogram.bucket) == 101


def test_a_histogram_of_nothing_is_refused(tmp_path):
    with SummaryWriter(tmp_path) as writer, pytest.raises(ValueError, match="'h' has no values"):
        writer.add_histogram("h", facula.ones(0))


def test_raw_histograms(written):
    def write(writer):
        writer.add_histogram_raw("h", 0, 2, 3, 3, 5, [1, 2], facula.tensor([2, 1]))
        with pytest.raises(ValueError, match="a count for each of 2 limits, got 1"):
            writer.add_histogram_raw("h", 0, 2, 3, 3, 5, [1, 2], [2])

    (event,) = written(write).Histograms("h")
    assert event.histogram_value.bucket_limit == [1, 2]
    assert event.histogram_value.bucket == [2, 1]


def pixels(event):
    return np.asarray(Image.open(io.BytesIO(event.encoded_image_string)))


@pytest.mark.parametrize("dataformats", ["CHW", "HWC", "WCH"])
def test_images_come_back_in_every_order(written, dataformats):
    image = facula.randint(256, (3, 4, 6), dtype=facula.uint8)
    given = image.permute(["CHW".index(letter) for letter in dataformats])
    events = written(lambda w: w.add_image("i", given, 2, dataformats=dataformats))
    (event,) = events.Images("i")
    assert (event.step, event.height, event.width) == (2, 4, 6)
    assert (pixels(event) == image.permute(1, 2, 0).numpy()).all()


def test_float_images_and_grids(written):
    def write(writer):
        writer.add_image("gray", facula.full((4, 4), 0.5), dataformats="HW")
        writer.add_images("grid", [facula.ones(3, 4, 4), facula.zeros(3, 4, 4)])

    events = written(write)
    assert (pixels(events.Images("gray")[0]) == 127).all()
    assert {events.Images("grid")[0].width, events.Images("grid")[0].height} == {4, 8}


def test_boxes_are_drawn(written):
    boxes = facula.tensor([[1.0, 1.0, 6.0, 6.0]])
    events = written(
        lambda w: w.add_image_with_boxes("b", facula.zeros(3, 8, 8), boxes, labels=["cat"])
    )
    assert pixels(events.Images("b")[0]).any()


def test_figures_become_images_and_are_closed(written):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    def write(writer):
        figure = pyplot.figure(figsize=(2, 1), dpi=50)
        pyplot.plot([1, 2])
        writer.add_figure("f", figure)

    (event,) = written(write).Images("f")
    assert (event.width, event.height) == (100, 50)
    assert not pyplot.get_fignums()


def test_videos_become_moving_images(written):
    videos = facula.rand(3, 5, 3, 4, 4)
    (event,) = written(lambda w: w.add_video("v", videos, fps=10)).Images("v")
    gif = Image.open(io.BytesIO(event.encoded_image_string))
    assert (gif.n_frames, gif.size, gif.info["duration"]) == (5, (8, 8), 100)


def test_a_video_of_wrong_shape_is_refused(tmp_path):
    with SummaryWriter(tmp_path) as writer, pytest.raises(ValueError, match=r"\(N, T, C, H, W\)"):
        writer.add_video("v", facula.rand(5, 3, 4, 4))


def test_audio_becomes_a_wave_file(written):
    samples = facula.linspace(-1.5, 1.5, 100).reshape(1, -1)
    (event,) = written(lambda w: w.add_audio("a", samples, sample_rate=8000)).Audio("a")
    with wave.open(io.BytesIO(event.encoded_audio_string)) as sound:
        assert (sound.getframerate(), sound.getnframes()) == (8000, 100)
        numbers = np.frombuffer(sound.readframes(100), "<i2")
    expected = (samples.numpy()[0].clip(-1, 1) * 32767).astype(np.int16)
    assert (numbers == expected).all()


def test_text_and_tensors(written):
    values = facula.arange(6.0).reshape(2, 3)

    def write(writer):
        writer.add_text("note", "**hello**", 4)
        writer.add_tensor("numbers", values)

    events = written(write)
    (text,) = events.Tensors("note/text_summary")
    assert text.tensor_proto.string_val == [b"**hello**"]
    (numbers,) = events.Tensors("numbers")
    assert (tensor_util.make_ndarray(numbers.tensor_proto) == values.numpy()).all()


def test_precision_and_recall(written):
    labels = facula.tensor([1, 0, 1, 1])
    predictions = facula.tensor([0.9, 0.2, 0.8, 0.3], requires_grad=True)

    def write(writer):
        writer.add_pr_curve("pr", labels, predictions, num_thresholds=11)
        ones = facula.ones(3)
        writer.add_pr_curve_raw("raw", ones, ones, ones, ones, ones, ones, num_thresholds=3)

    events = written(write)
    curve = tensor_util.make_ndarray(events.Tensors("pr")[0].tensor_proto)
    assert curve.shape == (6, 11)
    assert curve[0, 0] == 3  # all that are true, at the threshold 0
    assert tensor_util.make_ndarray(events.Tensors("raw")[0].tensor_proto).shape == (6, 3)


def test_meshes(written):
    points = facula.rand(1, 10, 3)
    events = written(lambda w: w.add_mesh("m", points, colors=points * 255))
    tags = [tag for tag in events.Tags()["tensors"] if tag.startswith("m")]
    arrays = [tensor_util.make_ndarray(events.Tensors(tag)[0].tensor_proto) for tag in tags]
    assert len(arrays) == 2
    assert np.allclose(arrays[0], points.numpy())


def test_layouts_of_scalars(written):
    def write(writer):
        writer.add_custom_scalars_multilinechart(["a", "b"])
        with pytest.raises(ValueError, match="three tags, got 2"):
            writer.add_custom_scalars_marginchart(["a", "b"])

    assert "custom_scalars__config__" in written(write).Tags()["tensors"]


def test_hyperparameters(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        hparams = {"lr": facula.tensor(0.5), "optimizer": "sgd", "nesterov": True}
        domain = {"optimizer": ["sgd", "adam"]}
        writer.add_hparams(hparams, {"accuracy": facula.tensor(0.75)}, domain, "first", 3)
        with pytest.raises(TypeError, match="expected a dict"):
            writer.add_hparams([1], {})
    events = read(tmp_path / "first")
    assert [(p.step, p.value) for p in events.Scalars("accuracy")] == [(3, 0.75)]
    contents = events.PluginTagToContent("hparams")
    start = plugin_data_pb2.HParamsPluginData.FromString(
        contents["_hparams_/session_start_info"]
    ).session_start_info.hparams
    assert start["lr"].number_value == 0.5
    assert start["optimizer"].string_value == "sgd"
    assert start["nesterov"].bool_value is True
    experiment = plugin_data_pb2.HParamsPluginData.FromString(
        contents["_hparams_/experiment"]
    ).experiment
    domains = {info.name: list(info.domain_discrete) for info in experiment.hparam_infos}
    assert domains["optimizer"] == ["sgd", "adam"]


def test_embeddings(tmp_path):
    points = facula.rand(4, 3)
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(points, ["a", "b", "c", "d"], facula.rand(4, 3, 2, 2), tag="x/y")
        with pytest.raises(ValueError, match="expected 4 labels, one per point, got 1"):
            writer.add_embedding(points, ["a"])
    folder = tmp_path / "00000" / "x%2fy"
    rows = [line.split("\t") for line in (folder / "tensors.tsv").read_text().splitlines()]
    assert np.allclose(np.array(rows, float), points.numpy())
    assert (folder / "metadata.tsv").read_text().split() == ["a", "b", "c", "d"]
    with Image.open(folder / "sprite.png") as sprite:
        assert sprite.size == (4, 4)
    assert "00000/x%2fy/tensors.tsv" in (tmp_path / "projector_config.pbtxt").read_text()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.head = nn.Linear(4 * 36, 10)

    def forward(self, x):
        return self.head(self.features(x).flatten(1)).tanh()


@pytest.mark.parametrize("is_frozen", [False, True])
def test_graphs_have_the_modules_and_their_operations(written, is_frozen):
    model = Net().requires_grad_(not is_frozen)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    graph = written(lambda w: w.add_graph(model, facula.rand(2, 1, 8, 8))).Graph()
    nodes = {node.name: (node.op, list(node.input)) for node in graph.node}
    assert nodes["Net/features/0/Convolution"] == (
        "Convolution",
        ["input/Net", "Net/features/0/weight", "Net/features/0/bias"],
    )
    assert nodes["Net/features/2/Relu"][1] == ["Net/features/1/NativeBatchNorm"]
    assert nodes["Net/View"][1] == ["Net/features/2/Relu"]
    assert nodes["Net/head/Addmm"][1][0] == "Net/View"
    assert nodes["output/Net"] == ("IO Node", ["Net/Tanh"])
    assert all(source in nodes for _, sources in nodes.values() for source in sources)
    # The model is as it was: statistics, gradients wanted, hooks.
    for name, value in model.state_dict().items():
        assert value.equal(before[name])
    assert all(p.requires_grad is not is_frozen for p in model.parameters())
    assert not any(module._forward_hooks for module in model.modules())


def test_purge_step_hides_what_came_after_it(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(5):
            writer.add_scalar("loss", 1.0, step, walltime=step)
    with SummaryWriter(tmp_path, purge_step=3, filename_suffix=".again") as writer:
        writer.add_scalar("loss", 2.0, 3)
    events = read(tmp_path)
    assert [(p.step, p.value) for p in events.Scalars("loss")] == [
        (0, 1.0),
        (1, 1.0),
        (2, 1.0),
        (3, 2.0),
    ]
    assert any(path.name.endswith(".again") for path in tmp_path.iterdir())


def test_metadata_of_a_block(written):
    def write(writer):
        with writer.use_metadata(global_step=9, walltime=5.0):
            writer.add_scalar("x", 1.0)

    (point,) = written(write).Scalars("x")
    assert (point.step, point.wall_time) == (9, 5.0)


def test_a_closed_writer_goes_on_in_a_new_file(tmp_path):
    writer = SummaryWriter(logdir=tmp_path)
    writer.add_scalar("x", 1.0, 0)
    writer.close()
    writer.add_scalar("x", 2.0, 1)
    writer.flush()
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2
    assert [p.value for p in read(tmp_path).Scalars("x")] == [1.0, 2.0]


def test_write_to_disk_false_writes_nothing(tmp_path):
    with SummaryWriter(tmp_path / "run", write_to_disk=False) as writer:
        writer.add_scalar("x", 1.0)
        writer.add_embedding(facula.rand(2, 2))
        writer.add_hparams({"a": 1}, {"b": 1})
    assert not (tmp_path / "run").exists()


def test_the_default_folder_has_the_comment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_lr_0.1") as writer:
        assert writer.get_logdir() == writer.log_dir
    (run,) = (tmp_path / "runs").iterdir()
    assert run.name.endswith("_lr_0.1")


def test_a_killed_process_loses_no_record(tmp_path):
    script = (
        "import os, signal, sys\n"
        "from facula.utils.tensorboard import SummaryWriter\n"
        "writer = SummaryWriter(sys.argv[1])\n"
        "for step in range(100):\n"
        "    writer.add_scalar('x', step, step)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert len(read(tmp_path).Scalars("x")) == 100


def test_a_read_only_folder_is_named(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(OSError, match=os.fspath(file)):
        SummaryWriter(file / "run")


def test_tags_stay_as_they_are(tmp_path):
    tag = "loss (train): a b/c"
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar(tag, 1.0)
        writer.add_histogram(tag, facula.ones(2))
        writer.add_histogram_raw(tag, 0, 1, 1, 1, 1, [1], [1])
        writer.add_image(tag, facula.rand(3, 4, 4))
        writer.add_image_with_boxes(tag, facula.rand(3, 8, 8), facula.tensor([[1.0, 1, 4, 4]]))
        writer.add_scalars(tag, {"x": 1.0})
        writer.add_hparams({"lr": 0.1}, {"the metric": 1.0}, run_name="run")
    assert read(tmp_path).Tags()["scalars"] == [tag]
    assert read(tmp_path).Tags()["histograms"] == [tag]
    assert read(tmp_path).Tags()["images"] == [tag]
    assert read(tmp_path / "loss (train): a b_c_x").Tags()["scalars"] == [tag]
    assert read(tmp_path / "run").Tags()["scalars"] == ["the metric"]


def test_a_full_disk_leaves_whole_records(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("a", 1.0, 0)
    (path,) = tmp_path.iterdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, limits[1]))
    try:
        with pytest.raises(OSError):
            writer.add_scalar("a", 2.0, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    writer.add_scalar("a", 3.0, 2)
    writer.close()
    assert [point.value for point in read(tmp_path).Scalars("a")] == [1.0, 3.0]


def test_a_writer_of_files_takes_summaries_and_events(tmp_path):
    import tensorboardX

    from facula.utils import tensorboard

    writer = tensorboard.FileWriter(tmp_path, filename_suffix=".own")
    writer.add_summary(tensorboardX.summary.scalar("a", 1.0), 1)
    writer.close()
    writer.reopen()
    writer.add_summary(tensorboardX.summary.scalar("a", 3.0), 2)
    writer.close()
    assert writer.get_logdir() == str(tmp_path)
    assert [point.value for point in read(tmp_path).Scalars("a")] == [1.0, 3.0]
    assert tensorboard.RecordWriter is tensorboardX.RecordWriter


def test_programs_write_summaries_that_they_build_themselves(tmp_path):
    from facula.utils.tensorboard.summary import hparams

    with SummaryWriter(tmp_path) as writer:
        for part in hparams({"lr": 0.5}, {"accuracy": 0.75}):
            writer.file_writer.add_summary(part)
        assert writer.file_writer.get_logdir() == str(tmp_path)
    contents = read(tmp_path).PluginTagToContent("hparams")
    start = plugin_data_pb2.HParamsPluginData.FromString(contents["_hparams_/session_start_info"])
    assert start.session_start_info.hparams["lr"].number_value == 0.5
