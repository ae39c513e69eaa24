"""Ninety mistakes that people make, each a function that raises."""

import facula as torch
from facula import nn, optim
from facula.nn import functional as F
from facula.utils.data import DataLoader, TensorDataset

MISTAKES = {}


def mistake(function):
    MISTAKES[function.__name__] = function
    return function


@mistake
def layers_that_do_not_fit():
    nn.Sequential(nn.Linear(10, 30), nn.ReLU(), nn.Linear(20, 5))(torch.ones(4, 10))


@mistake
def input_of_other_width():
    nn.Linear(3, 4)(torch.ones(2, 5))


@mistake
def flattened_wrongly():
    nn.Sequential(nn.Conv2d(1, 8, 3), nn.Flatten(), nn.Linear(100, 10))(torch.ones(2, 1, 8, 8))


@mistake
def image_without_channels():
    nn.Conv2d(1, 8, 3)(torch.ones(28, 28))


@mistake
def other_number_of_channels():
    nn.Conv2d(3, 8, 3)(torch.ones(2, 1, 28, 28))


@mistake
def channels_last_as_in_numpy():
    nn.Conv2d(3, 8, 3)(torch.ones(2, 28, 28, 3))


@mistake
def kernel_larger_than_the_image():
    nn.Conv2d(1, 1, 7)(torch.ones(1, 1, 4, 4))


@mistake
def pooled_to_nothing():
    nn.MaxPool2d(2)(nn.MaxPool2d(2)(torch.ones(1, 1, 3, 3)))


@mistake
def integers_into_a_layer():
    nn.Linear(3, 4)(torch.ones(2, 3, dtype=torch.int64))


@mistake
def doubles_into_a_layer():
    nn.Linear(3, 4)(torch.ones(2, 3, dtype=torch.float64))


@mistake
def numpy_into_a_layer():
    import numpy as np

    nn.Linear(3, 4)(np.ones((2, 3)))


@mistake
def list_into_a_layer():
    nn.Linear(3, 4)([1.0, 2.0, 3.0])


@mistake
def class_out_of_range():
    F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 3]))


@mistake
def labels_as_floats():
    F.nll_loss(torch.zeros(2, 3), torch.tensor([0.0, 1.0]))


@mistake
def labels_of_two_dimensions():
    F.cross_entropy(torch.ones(4, 3), torch.zeros(4, 1, dtype=torch.int64))


@mistake
def other_number_of_labels():
    F.cross_entropy(torch.ones(4, 3), torch.zeros(5, dtype=torch.int64))


@mistake
def logits_into_bce():
    F.binary_cross_entropy(torch.tensor([2.0]), torch.tensor([1.0]))


@mistake
def bce_of_two_shapes():
    F.binary_cross_entropy_with_logits(torch.ones(4, 1), torch.ones(4))


@mistake
def mse_of_shapes_that_do_not_fit():
    F.mse_loss(torch.ones(4), torch.ones(3))


@mistake
def index_beyond_the_embedding():
    nn.Embedding(10, 4)(torch.tensor([3, 10]))


@mistake
def floats_into_an_embedding():
    nn.Embedding(10, 4)(torch.tensor([1.0]))


@mistake
def view_of_a_transposed_tensor():
    torch.ones(2, 3).t().view(6)


@mistake
def view_of_another_size():
    torch.ones(2, 3).view(4, 2)


@mistake
def shapes_that_do_not_broadcast():
    torch.ones(2, 3) + torch.ones(2, 4)


@mistake
def matrices_that_do_not_fit():
    torch.ones(2, 3) @ torch.ones(2, 3)


@mistake
def cat_of_other_shapes():
    torch.cat([torch.ones(2, 3), torch.ones(2, 4)])


@mistake
def stack_of_other_shapes():
    torch.stack([torch.ones(2), torch.ones(3)])


@mistake
def index_beyond_the_end():
    torch.ones(3)[3]


@mistake
def too_many_indices():
    torch.ones(3)[0, 0]


@mistake
def mask_of_another_shape():
    torch.ones(3)[torch.tensor([True, False])]


@mistake
def dimension_that_is_not_there():
    torch.ones(2, 3).sum(dim=2)


@mistake
def truth_of_many_elements():
    if torch.ones(2) > 0:
        pass


@mistake
def item_of_many_elements():
    torch.ones(2).item()


@mistake
def numpy_of_what_requires_grad():
    torch.ones(2, requires_grad=True).numpy()


@mistake
def mean_of_integers():
    torch.tensor([1, 2, 3]).mean()


@mistake
def gradient_of_integers():
    torch.tensor([1, 2], requires_grad=True)


@mistake
def backward_of_many_elements():
    (torch.ones(3, requires_grad=True) * 2).backward()


@mistake
def backward_without_a_graph():
    F.mse_loss(torch.ones(3), torch.zeros(3)).backward()


@mistake
def backward_twice():
    loss = (torch.ones(2, requires_grad=True) ** 2).sum()
    loss.backward()
    loss.backward()


@mistake
def write_to_what_backward_needs():
    y = torch.ones(2, requires_grad=True).sigmoid()
    y.mul_(2)
    y.sum().backward()


@mistake
def write_to_a_leaf():
    torch.ones(2, requires_grad=True).add_(1)


@mistake
def hidden_state_with_its_history():
    cell, hidden = nn.RNNCell(2, 2), torch.zeros(1, 2)
    for _ in range(2):
        hidden = cell(torch.ones(1, 2), hidden)
        hidden.sum().backward()


@mistake
def optimiser_without_parameters():
    optim.SGD([], lr=0.1)


@mistake
def optimiser_of_a_result():
    optim.SGD([torch.ones(2, requires_grad=True) * 2], lr=0.1)


@mistake
def optimiser_of_a_module():
    optim.SGD(nn.Linear(2, 2), lr=0.1)


@mistake
def state_of_another_model():
    nn.Linear(3, 2).load_state_dict(nn.Linear(4, 2).state_dict())


@mistake
def state_with_other_names():
    nn.Linear(3, 2).load_state_dict({"module.weight": torch.ones(2, 3)})


@mistake
def tensor_for_a_parameter():
    layer = nn.Linear(2, 2)
    layer.weight = torch.ones(2, 2)


@mistake
def forgotten_super_init():
    class Net(nn.Module):
        def __init__(self):
            self.fc = nn.Linear(2, 2)

    Net()


@mistake
def module_without_forward():
    class Net(nn.Module):
        def froward(self, x):
            return x

    Net()(torch.ones(1))


@mistake
def misspelt_layer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x):
            return self.fc1(x)

    Net()(torch.ones(1, 2))


@mistake
def batch_norm_of_one_example():
    nn.BatchNorm1d(4)(torch.ones(1, 4))


@mistake
def samples_of_other_shapes():
    next(iter(DataLoader([torch.ones(2), torch.ones(3)], batch_size=2)))


@mistake
def tensors_of_other_lengths():
    TensorDataset(torch.ones(3, 2), torch.ones(4))


@mistake
def no_gpu():
    torch.ones(2).to("cuda:99")


@mistake
def device_that_does_not_exist():
    torch.ones(2, device="gpu")


@mistake
def heads_that_do_not_divide():
    nn.MultiheadAttention(10, 3)


@mistake
def lstm_of_another_width():
    nn.LSTM(8, 16)(torch.ones(5, 2, 7))


@mistake
def lengths_that_are_not_sorted():
    nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), torch.tensor([2, 3]))


@mistake
def file_that_is_no_checkpoint():
    import io

    torch.load(io.BytesIO(b"not a checkpoint"))


@mistake
def labels_of_int32():
    F.cross_entropy(torch.ones(4, 3), torch.zeros(4, dtype=torch.int32))


@mistake
def labels_of_int64_for_bce():
    F.binary_cross_entropy(torch.full((3,), 0.5), torch.zeros(3, dtype=torch.int64))


@mistake
def one_hot_of_floats():
    F.one_hot(torch.ones(3))


@mistake
def hidden_state_of_another_batch():
    nn.GRU(4, 3)(torch.ones(3, 2, 4), torch.zeros(1, 5, 3))


@mistake
def expand_to_another_size():
    torch.ones(2).expand(3)


@mistake
def two_sizes_to_be_inferred():
    torch.ones(6).view(-1, -1)


@mistake
def list_of_other_lengths():
    torch.tensor([[1, 2], [3]])


@mistake
def tensor_of_words():
    torch.tensor(["cat", "dog"])


@mistake
def array_of_objects():
    import numpy as np

    torch.from_numpy(np.array([None, 1]))


@mistake
def dot_of_matrices():
    torch.dot(torch.ones(2, 2), torch.ones(2))


@mistake
def batches_that_do_not_fit():
    torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 5, 6))


@mistake
def parts_that_do_not_add_up():
    torch.arange(5).split([2, 2])


@mistake
def gradient_of_what_was_not_used():
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    torch.autograd.grad(a * 2, b)


@mistake
def too_few_gradients_of_a_function():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    a = torch.ones(1, requires_grad=True)
    Product.apply(a, a).backward()


@mistake
def objects_in_a_batch():
    next(iter(DataLoader([object()], 1)))


@mistake
def lists_of_other_lengths_in_a_batch():
    next(iter(DataLoader([[1], [1, 2]], 2)))


@mistake
def loader_of_nothing():
    DataLoader([], shuffle=True)


@mistake
def sampler_and_shuffle():
    DataLoader([1], sampler=[0], shuffle=True)


@mistake
def list_as_an_image():
    from facula.vision import transforms

    transforms.ToTensor()([1, 2])


@mistake
def normalise_before_to_tensor():
    from PIL import Image

    from facula.vision import transforms

    transforms.Normalize((0.5,), (0.5,))(Image.new("L", (2, 2)))


@mistake
def file_that_is_not_there():
    torch.load("weights.pt")


@mistake
def scheduler_without_its_metric():
    optimizer = optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    optim.lr_scheduler.ReduceLROnPlateau(optimizer).step()


@mistake
def learning_rate_below_zero():
    optim.Adam([torch.ones(1, requires_grad=True)], lr=-1)


@mistake
def state_of_another_optimiser():
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    optim.SGD([a], lr=0.1).load_state_dict(optim.SGD([a, b], lr=0.1).state_dict())


@mistake
def layer_norm_of_another_width():
    nn.LayerNorm(8)(torch.ones(2, 7))


@mistake
def batch_norm_of_other_channels():
    nn.BatchNorm2d(8)(torch.ones(2, 7, 3, 3))


@mistake
def batch_norm_of_images_for_rows():
    nn.BatchNorm1d(3)(torch.ones(2, 3, 4, 4))


@mistake
def scatter_of_floats():
    torch.zeros(3).scatter_(0, torch.ones(3), 1.0)


@mistake
def inverse_of_a_singular_matrix():
    torch.linalg.inv(torch.zeros(2, 2))


@mistake
def deep_copy_of_a_result():
    import copy

    copy.deepcopy(torch.ones(2, requires_grad=True) * 2)
