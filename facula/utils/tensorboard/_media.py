"""Summaries that tensorboardX has only with further libraries, or not at all."""

import io
import wave
from typing import Any

import numpy as np
from tensorboardX.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboardX.proto.tensor_pb2 import TensorProto
from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboardX.proto.types_pb2 import DataType


def audio(tag: str, samples: np.ndarray[Any, Any], sample_rate: int) -> Any:
    """Sound of one channel, ``(L,)`` or ``(1, L)``, as a WAV file of 16 bits."""
    samples = samples.squeeze()
    if samples.ndim != 1:
        raise ValueError(f"add_audio: expected samples of shape (1, L), got {samples.shape}.")
    numbers = (samples.clip(-1, 1) * 32767).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(sample_rate)
        out.writeframes(numbers.tobytes())
    sound = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(numbers),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=sound)])


def video(tag: str, frames: np.ndarray[Any, Any], fps: float) -> Any:
    """Videos ``(N, T, C, H, W)`` beside and below each other, as one animated GIF."""
    from PIL import Image

    if frames.ndim != 5 or frames.shape[2] not in (1, 3):
        raise ValueError(
            f"add_video: expected frames of shape (N, T, C, H, W) with 1 or 3 channels, "
            f"got {frames.shape}."
        )
    if frames.dtype != np.uint8:
        frames = (frames * 255).clip(0, 255).astype(np.uint8)
    n, n_frames, _, height, width = frames.shape
    n_cols = 1 << ((n - 1).bit_length() + 1) // 2
    n_rows = -(-n // n_cols)
    grid = np.zeros((n_frames, n_rows * height, n_cols * width, 3), np.uint8)
    for i, one in enumerate(frames):
        top, left = i // n_cols * height, i % n_cols * width
        grid[:, top : top + height, left : left + width] = np.moveaxis(one, 1, -1)
    images = [Image.fromarray(frame) for frame in grid]
    file = io.BytesIO()
    duration = round(1000 / fps)
    images[0].save(file, "GIF", save_all=True, append_images=images[1:], duration=duration, loop=0)
    image = Summary.Image(
        height=grid.shape[1],
        width=grid.shape[2],
        colorspace=3,
        encoded_image_string=file.getvalue(),
    )
    return Summary(value=[Summary.Value(tag=tag, image=image)])


def tensor(tag: str, values: np.ndarray[Any, Any], plugin: str = "") -> Any:
    """An array of numbers; ``plugin`` is the part of TensorBoard that shows it."""
    types = {"f4": "DT_FLOAT", "f8": "DT_DOUBLE", "f2": "DT_HALF", "b1": "DT_BOOL"}
    names = {"i": "DT_INT", "u": "DT_UINT", "c": "DT_COMPLEX"}
    kind = values.dtype.kind
    name = types.get(values.dtype.str[1:]) or f"{names[kind]}{values.dtype.itemsize * 8}"
    dims = [TensorShapeProto.Dim(size=size) for size in values.shape]
    proto = TensorProto(
        dtype=DataType.Value(name),
        tensor_shape=TensorShapeProto(dim=dims),
        tensor_content=np.ascontiguousarray(values).tobytes(),
    )
    data = SummaryMetadata.PluginData(plugin_name=plugin)
    metadata = SummaryMetadata(plugin_data=data) if plugin else None
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=proto)])
