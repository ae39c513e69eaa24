"""The writer of logs: values and pictures of a training, as TensorBoard reads them."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import numpy as np

import facula
from facula import nn

try:
    from tensorboardX import embedding, summary
    from tensorboardX.proto.event_pb2 import Event, SessionLog
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData
    from tensorboardX.utils import figure_to_image
except ImportError as error:
    raise ImportError(
        "facula.utils.tensorboard needs tensorboardX: pip install facula[tensorboard]"
    ) from error

from facula.utils.tensorboard import _media
from facula.utils.tensorboard._events import EventFile, FileWriter
from facula.utils.tensorboard._graph import trace

__all__ = ["FileWriter", "SummaryWriter"]

# Limits of the buckets of a histogram: a tenth apart, on both sides of zero.
_LIMITS = [1e-12 * 1.1**i for i in range(774)]
_DEFAULT_BINS = [-limit for limit in reversed(_LIMITS)] + [0.0] + _LIMITS


def _array(value: Any) -> Any:
    # What the builders of tensorboardX take: arrays and numbers.
    if isinstance(value, facula.Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype == facula.bfloat16 else value).numpy()
    if isinstance(value, list | tuple) and any(isinstance(v, facula.Tensor) for v in value):
        return np.stack([_array(v) for v in value])
    return value


class SummaryWriter:
    """Writes a run for TensorBoard: ``tensorboard --logdir runs`` shows it.

    Every record is handed to the system at once, so that TensorBoard sees it and a killed process
    loses none; ``max_queue`` and ``flush_secs`` are taken for the sake of scripts that give them.
    Tensors may be on any device and part of a graph. ``global_step`` is the place on the
    horizontal axis, ``walltime`` the time in seconds since 1970 in place of now.

    Args:
        log_dir: the folder of the run; ``runs/`` and the time and host if not given. tensorboardX's
            name ``logdir`` is taken too.
        comment: text at the end of the default folder's name.
        purge_step: a training that goes on from this step hides what it had written from there on.
        filename_suffix: text at the end of the files' names.
        write_to_disk: whether anything is written; ``False`` writes nothing.

    Example:
        >>> import tempfile
        >>> from facula.utils.tensorboard import SummaryWriter
        >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     for step in range(3):
        ...         writer.add_scalar("loss", facula.tensor(1.0 / (step + 1)), step)
        ...     writer.add_image("noise", facula.rand(3, 8, 8))
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
        *,
        write_to_disk: bool = True,
        logdir: str | os.PathLike[str] | None = None,
    ) -> None:
        folder = log_dir or logdir
        if not folder:
            started = datetime.now().strftime("%b%d_%H-%M-%S")
            folder = os.path.join("runs", f"{started}_{socket.gethostname()}{comment}")
        self.log_dir = self.logdir = os.fspath(folder)
        self.purge_step = purge_step
        self._suffix = filename_suffix
        self._write_to_disk = write_to_disk
        self._files: dict[str, EventFile] = {}
        self._defaults: dict[str, Any] = {}
        self._scalars: dict[str, list[list[Any]]] = {}
        if write_to_disk:
            self._file(self.log_dir)

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def get_logdir(self) -> str:
        """The folder of the run."""
        return self.log_dir

    @property
    def file_writer(self) -> EventFile:
        """What writes to the folder of the run, for summaries that programs build themselves."""
        return self._file(self.log_dir)

    def _get_file_writer(self) -> EventFile:
        return self.file_writer

    def flush(self) -> None:
        """Returns when everything is on the disk."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Flushes and closes the files. What is added after it goes to a new file."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    @contextmanager
    def use_metadata(
        self, *, global_step: int | None = None, walltime: float | None = None
    ) -> Iterator[None]:
        """Within it, the step and the time of records that are given none."""
        before, self._defaults = (
            self._defaults,
            {"global_step": global_step, "walltime": walltime},
        )
        try:
            yield
        finally:
            self._defaults = before

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
        display_name: str = "",
        summary_description: str = "",
    ) -> None:
        """Adds a number, or a tensor of one element, to the curve ``tag``."""
        value = _array(scalar_value)
        if new_style or double_precision:
            number = np.asarray(value, np.float64 if double_precision else np.float32).reshape(())
            record = _media.tensor(tag, number, plugin="scalars")
        else:
            record = summary.scalar(tag, value, display_name, summary_description)
        self._add(_tagged(record, tag), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Adds several curves to one chart; each is a run in a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        for tag, value in tag_scalar_dict.items():
            number = _array(value)
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            record = _tagged(summary.scalar(main_tag, number), main_tag)
            self._add(record, global_step, walltime, folder)
            points = self._scalars.setdefault(folder, [])
            points.append([walltime, global_step, float(number)])

    def export_scalars_to_json(self, path: str | os.PathLike[str]) -> None:
        """Writes what :meth:`add_scalars` was given since the last export to a JSON file."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self._scalars, file)
        self._scalars = {}

    def add_tensor(
        self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Adds the numbers of a tensor of any shape."""
        record = _media.tensor(tag, np.asarray(_array(tensor)))
        self._add(record, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Adds the distribution of values of any shape; ``bins`` as ``numpy.histogram``'s."""
        if isinstance(bins, str) and bins == "tensorflow":
            bins = _DEFAULT_BINS
        values = np.asarray(_array(values))
        if values.size == 0:
            raise ValueError(f"add_histogram: {tag!r} has no values.")
        record = summary.histogram(tag, values, bins, max_bins)
        self._add(_tagged(record, tag), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Sequence[float],
        bucket_counts: Sequence[float],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Adds a histogram whose buckets are counted already."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                f"add_histogram_raw: expected a count for each of {len(bucket_limits)} limits, "
                f"got {len(bucket_counts)}."
            )
        numbers = (min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        record = summary.histogram_raw(tag, *map(_array, numbers))
        self._add(_tagged(record, tag), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Adds an image ``(3, H, W)``, or as the letters of ``dataformats`` say, such as ``HWC``
        and ``HW``. Numbers are in [0, 1], those of uint8 in [0, 255]."""
        record = summary.image(tag, _array(img_tensor), dataformats=dataformats)
        self._add(_tagged(record, tag), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Adds images ``(N, 3, H, W)`` side by side as one."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Sequence[str] | str | None = None,
    ) -> None:
        """Adds an image with boxes ``(N, 4)``, each ``(xmin, ymin, xmax, ymax)``."""
        boxes = np.asarray(_array(box_tensor))
        if isinstance(labels, str):
            labels = [labels]
        if labels is not None and len(labels) != len(boxes):
            labels = None
        image = _array(img_tensor)
        record = summary.image_boxes(tag, image, boxes, rescale, dataformats, labels)
        self._add(_tagged(record, tag), global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Adds a figure of matplotlib, or a list of them, as an image, and closes it."""
        dataformats = "NCHW" if isinstance(figure, list) else "CHW"
        image = figure_to_image(figure, close)
        self.add_image(tag, image, global_step, walltime, dataformats)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Adds videos ``(N, T, C, H, W)``: in [0, 1], or in [0, 255] as uint8."""
        self._add(_media.video(tag, np.asarray(_array(vid_tensor)), fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Adds a sound ``(1, L)`` with samples in [-1, 1]."""
        samples = np.asarray(_array(snd_tensor))
        self._add(_media.audio(tag, samples, sample_rate), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Adds a text, which TensorBoard reads as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Adds the precision and recall of predictions in [0, 1] of labels 0 and 1."""
        arrays = np.asarray(_array(labels)), np.asarray(_array(predictions))
        weights = None if weights is None else np.asarray(_array(weights))
        record = summary.pr_curve(tag, *arrays, num_thresholds, weights)
        self._add(record, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Adds a precision and recall curve whose points are counted already."""
        counts = (
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
            precision,
            recall,
        )
        record = summary.pr_curve_raw(tag, *map(_array, counts), num_thresholds, weights)
        self._add(record, global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: dict[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Adds points ``(B, N, 3)`` in space, with colors and faces of the same form."""
        parts = (_array(vertices), _array(colors), _array(faces))
        self._add(summary.mesh(tag, *parts, config_dict), global_step, walltime)

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Adds charts of existing curves: ``{category: {title: ["Multiline", tags]}}``."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Adds one chart with the curves ``tags``."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Adds one chart of a curve and its lower and upper bounds, three tags."""
        if len(tags) != 3:
            raise ValueError(
                f"add_custom_scalars_marginchart: expected three tags, got {len(tags)}."
            )
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_hparams(
        self,
        hparam_dict: Mapping[str, bool | str | float | int],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
        *,
        name: str | None = None,
    ) -> None:
        """Adds a row to the table of hyperparameters, as a run in a folder of its own."""
        records = hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self.log_dir, run_name or name or str(time.time()))
        with SummaryWriter(folder, write_to_disk=self._write_to_disk) as writer:
            for record in records:
                writer._add(record, global_step, None)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def add_graph(
        self,
        model: nn.Module,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Adds the modules of a model and the operations of one call of it.

        Args:
            model: the model to call; it stays as it is.
            input_to_model: the argument of the call, or a tuple of several.
            verbose: whether the graph is printed as well.
            use_strict_trace: accepted as in PyTorch; nothing depends on it.
        """
        graph = trace(model, input_to_model)
        if verbose:
            print(graph)
        self._write(Event(graph_def=graph.SerializeToString()), None, None, self.log_dir)

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Adds points for the projector.

        Args:
            mat: the points, of shape ``(N, D)``.
            metadata: a label for each point, or a row of them.
            label_img: a square image for each point, of shape ``(N, C, H, H)``.
            global_step: the place on the horizontal axis.
            tag: the name of the points.
            metadata_header: names of the columns, where labels are rows.
        """
        points, images = np.asarray(_array(mat)), _array(label_img)
        if points.ndim != 2:
            raise ValueError(f"add_embedding: expected points of shape (N, D), got {points.shape}.")
        for what, values in (("labels", metadata), ("images", images)):
            if values is not None and len(values) != len(points):
                raise ValueError(
                    f"add_embedding: expected {len(points)} {what}, one per point, "
                    f"got {len(values)}."
                )
        if images is not None and (images.ndim != 4 or images.shape[2] != images.shape[3]):
            raise ValueError(
                f"add_embedding: expected square images of shape (N, C, H, H), got {images.shape}."
            )
        if not self._write_to_disk:
            return
        step = global_step or 0
        part = f"{step:05d}/{tag.replace('%', '%25').replace('/', '%2f')}"
        folder = os.path.join(self.log_dir, part)
        os.makedirs(folder, exist_ok=True)
        if metadata is not None:
            embedding.make_tsv(metadata, folder, metadata_header=metadata_header)
        if images is not None:
            embedding.make_sprite(images, folder)
        embedding.make_mat(points, folder)
        embedding.append_pbtxt(metadata, images, self.log_dir, part, step, tag)

    def _add(
        self, record: Any, step: Any, walltime: float | None, folder: str | None = None
    ) -> None:
        self._write(Event(summary=record), step, walltime, folder or self.log_dir)

    def _write(self, event: Any, step: Any, walltime: float | None, folder: str) -> None:
        if self._write_to_disk:
            step = self._defaults.get("global_step") if step is None else step
            walltime = self._defaults.get("walltime") if walltime is None else walltime
            self._file(folder).add(event, step, walltime)

    def _file(self, folder: str) -> EventFile:
        if folder not in self._files:
            file = self._files[folder] = EventFile(folder, self._suffix)
            if self.purge_step is not None:
                file.add(Event(session_log=SessionLog(status=SessionLog.START)), self.purge_step)
        return self._files[folder]


def _tagged(record: Any, tag: str) -> Any:
    # tensorboardX replaces spaces and more in tags. Custom charts and the table of hyperparameters
    # would then not find their curves.
    record.value[0].tag = tag
    return record


def hparams(
    hparam_dict: Mapping[str, bool | str | float | int],
    metric_dict: Mapping[str, Any],
    hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[Any, Any, Any]:
    """The three summaries of a row of the table of hyperparameters.

    Args:
        hparam_dict: the hyperparameters by name.
        metric_dict: the metrics by name.
        hparam_domain_discrete: the values that a hyperparameter can have, by name.
    """
    if not isinstance(hparam_dict, Mapping) or not isinstance(metric_dict, Mapping):
        raise TypeError("add_hparams: expected a dict of hyperparameters and one of metrics.")
    numbers = {key: _number(value) for key, value in hparam_dict.items()}
    experiment, start, end = summary.hparams(numbers, metric_dict)
    for key, values in (hparam_domain_discrete or {}).items():
        _set_domain(experiment, key, values)
    return experiment, start, end


def _number(value: Any) -> Any:
    value = _array(value)
    return value.item() if isinstance(value, np.ndarray | np.generic) else value


def _set_domain(experiment: Any, name: str, values: Sequence[Any]) -> None:
    # The values that a hyperparameter can have; the builder knows none.
    data = experiment.value[0].metadata.plugin_data
    content = HParamsPluginData.FromString(data.content)
    for info in content.experiment.hparam_infos:
        if info.name == name:
            info.domain_discrete.extend(values)
    data.content = content.SerializeToString()
