"""Whole models as PyTorch 0.1 to 0.4 saved them, written here as those versions did."""

import io
import pickle
import struct
from collections import OrderedDict

import numpy as np
import pytest

import facula
from facula import nn

pytestmark = pytest.mark.promise("A9", "P1")


class Name:
    """A class or function of PyTorch, by its name alone."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Object:
    """What is rebuilt by calling a function or class, and perhaps given a state."""

    def __init__(self, function, args, state=None):
        self.function, self.args, self.state = function, args, state


class Storage:
    def __init__(self, values):
        self.values = np.asarray(values, "float32").ravel()
        self.key = str(id(self))


class OldPickler(pickle._Pickler):
    """Writes protocol 2, as torch.save did, with names that need not be importable."""

    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.storages = {}

    def persistent_id(self, value):
        if isinstance(value, Storage):
            self.storages[value.key] = value
            kind = Name("torch", "FloatStorage")
            return "storage", kind, value.key, "cpu", value.values.size, None
        if isinstance(value, Module):
            return "module", value.name, f"/lib/python3.5/{value.name.name}.py", "class: ...\n"
        return None

    def save(self, value, save_persistent_id=True):
        if isinstance(value, Name):
            self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
        elif isinstance(value, Object):
            self.save(value.function)
            self.save(value.args)
            self.write(pickle.REDUCE)
            if value.state is not None:
                self.save(value.state)
                self.write(pickle.BUILD)
        elif isinstance(value, Layer):
            self.save(Module(value.name))
            self.write(pickle.EMPTY_TUPLE + pickle.NEWOBJ)
            self.save(value.state)
            self.write(pickle.BUILD)
        else:
            super().save(value, save_persistent_id)


class Module:
    """The class of a layer, which was saved with its source."""

    def __init__(self, name):
        self.name = name


class Layer:
    """A layer with its attributes; those that all had in 0.3 are added."""

    def __init__(self, module, name, params=(), buffers=(), modules=(), **attributes):
        self.name = Name(f"torch.nn.modules.{module}", name)
        backend = Object(Name("torch.nn.backends.thnn", "_get_thnn_function_backend"), ())
        self.state = {
            "_backend": backend,
            "_parameters": OrderedDict(params),
            "_buffers": OrderedDict(buffers),
            "_backward_hooks": OrderedDict(),
            "_forward_hooks": OrderedDict(),
            "_forward_pre_hooks": OrderedDict(),
            "_modules": OrderedDict(modules),
            "training": False,
            **attributes,
        }


def tensor(values):
    values = np.asarray(values, "float32")
    strides = tuple(s // 4 for s in values.strides)
    return Object(
        Name("torch._utils", "_rebuild_tensor"), (Storage(values), 0, values.shape, strides)
    )


def parameter(values):
    name = Name("torch.nn.parameter", "Parameter")
    return Object(name, (tensor(values),), (True, False, OrderedDict()))


def saved(value):
    """The bytes that torch.save wrote before 1.0."""
    file = io.BytesIO()
    for head in (
        0x1950A86A20F9469CFC6C,
        1001,
        {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4}},
    ):
        pickle.dump(head, file, 2)
    pickler = OldPickler(file)
    pickler.dump(value)
    keys = sorted(pickler.storages)
    pickle.dump(keys, file, 2)
    for key in keys:
        values = pickler.storages[key].values
        file.write(struct.pack("<q", values.size) + values.tobytes())
    file.seek(0)
    return file


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("weights_only", [True, False])
def test_a_network_of_0_3_is_loaded_whole_and_computes(weights_only):
    w1, b1, w2, b2 = random(4, 2, 3, 3), random(4), random(3, 16), random(3)
    scale, shift, mean, var = random(4), random(4), random(4), abs(random(4))
    pair = (3, 3)
    conv = Layer(
        "conv",
        "Conv2d",
        [("weight", parameter(w1)), ("bias", parameter(b1))],
        in_channels=2,
        out_channels=4,
        kernel_size=pair,
        stride=(1, 1),
        padding=(1, 1),
        dilation=(1, 1),
        transposed=False,
        output_padding=(0, 0),
        groups=1,
    )
    norm = Layer(
        "batchnorm",
        "BatchNorm2d",
        [("weight", parameter(scale)), ("bias", parameter(shift))],
        [("running_mean", tensor(mean)), ("running_var", tensor(var))],
        num_features=4,
        affine=True,
        eps=1e-5,
        momentum=0.1,
    )
    pool = Layer(
        "pooling", "MaxPool2d", kernel_size=2, stride=2, padding=0, dilation=1,
        return_indices=False, ceil_mode=False,
    )  # fmt: skip
    relu = Layer("activation", "ReLU", threshold=0, value=0, inplace=False)
    features = Layer(
        "container", "Sequential", modules=[("0", conv), ("1", norm), ("2", relu), ("3", pool)]
    )
    linear = Layer(
        "linear",
        "Linear",
        [("weight", parameter(w2)), ("bias", parameter(b2))],
        in_features=16,
        out_features=3,
    )
    model = facula.load(saved([features, linear]), weights_only=weights_only)
    x = facula.from_numpy(random(2, 2, 4, 4))
    reference = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
    reference.append(nn.MaxPool2d(2)).eval()
    state = reference.state_dict()
    for key, values in {
        "0.weight": w1, "0.bias": b1, "1.weight": scale, "1.bias": shift,
        "1.running_mean": mean, "1.running_var": var,
    }.items():  # fmt: skip
        state[key] = facula.from_numpy(values)
    reference.load_state_dict(state)
    features, linear = model
    y = features(x)
    assert facula.equal(y, reference(x))
    out = linear(y.view(2, -1))
    out.sum().backward()
    assert features[0].weight.requires_grad
    assert features[0].weight.grad is not None
    assert isinstance(linear.weight, nn.Parameter)
    assert "Conv2d(2, 4, kernel_size=(3, 3)" in repr(features)
    features.train()
    features(x)


def test_layers_get_the_options_that_came_later():
    layers = {
        "softmax": Layer("activation", "LogSoftmax"),
        "upsample": Layer("upsampling", "Upsample", size=None, scale_factor=2, mode="nearest"),
        "dropout": Layer("dropout", "Dropout", p=0.5, inplace=False),
        "embedding": Layer(
            "sparse", "Embedding", [("weight", parameter(random(5, 3)))], num_embeddings=5,
            embedding_dim=3, padding_idx=None, max_norm=None, norm_type=2,
            scale_grad_by_freq=False, sparse=False,
        ),
    }  # fmt: skip
    layers = facula.load(saved(layers), weights_only=False)
    assert layers["upsample"](facula.ones(1, 1, 2, 2)).shape == (1, 1, 4, 4)
    assert layers["dropout"](facula.ones(2)).tolist() == [1, 1]
    assert layers["embedding"](facula.tensor([1, 2])).shape == (2, 3)
    with pytest.warns(UserWarning, match="choice of a dimension"):
        assert layers["softmax"](facula.zeros(1, 2)).shape == (1, 2)


def test_a_recurrent_layer_of_0_3_is_loaded_whole():
    names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    shapes = [(8, 3), (8, 2), (8,), (8,)]
    values = {n: random(*shape) for n, shape in zip(names, shapes, strict=True)}
    lstm = Layer(
        "rnn", "LSTM", [(n, parameter(v)) for n, v in values.items()], mode="LSTM",
        input_size=3, hidden_size=2, num_layers=1, bias=True, batch_first=False, dropout=0,
        dropout_state={}, bidirectional=False, _all_weights=[names], _data_ptrs=[],
    )  # fmt: skip
    loaded = facula.load(saved(lstm), weights_only=False)
    reference = nn.LSTM(3, 2)
    reference.load_state_dict({n: facula.from_numpy(v) for n, v in values.items()})
    x = facula.from_numpy(random(4, 1, 3))
    assert facula.equal(loaded(x)[0], reference(x)[0])


def test_variables_of_0_3_keep_their_flags():
    name = Name("torch.autograd.variable", "Variable")
    variables = [
        Object(name, (tensor([1.0, 2.0]),), (True, False, OrderedDict())),
        Object(name, (tensor([3.0]),), (False, True, OrderedDict())),
    ]
    wanted, volatile = facula.load(saved(variables))
    assert wanted.requires_grad
    assert wanted.tolist() == [1, 2]
    assert volatile.volatile
    for state in ((1, False, None), (True, False), (True, False, [3])):
        with pytest.raises(facula.serialization.CheckpointError, match="Variable"):
            facula.load(saved(Object(name, (tensor([1.0]),), state)))


def test_a_state_dict_of_0_3_has_no_counter_of_batches():
    state = OrderedDict(
        weight=tensor(random(4)),
        bias=tensor(random(4)),
        running_mean=tensor(random(4)),
        running_var=tensor(abs(random(4))),
    )
    state = facula.load(saved(state), map_location=lambda storage, location: storage)
    norm = nn.BatchNorm1d(4)
    norm.load_state_dict(state)
    assert norm.num_batches_tracked == 0
    assert norm(facula.ones(2, 4)).shape == (2, 4)
