"""What ``torch`` is under ``facula run``: the names, and what is said of them."""

import pytest

pytestmark = pytest.mark.promise("U2")


def test_each_module_is_one_object_by_both_names(programs):
    out = programs.lines(
        """
        import sys
        import torch
        import torch.nn.functional as F
        import torchvision.transforms
        from torch.utils.data import dataloader
        import facula
        import facula.optim

        assert torch is facula and sys.modules["torch"] is facula
        assert torch.nn is facula.nn and sys.modules["torch.nn"] is facula.nn
        assert F is facula.nn.functional and sys.modules["torch.nn.functional"] is F
        assert dataloader is facula.utils.data.dataloader
        assert sys.modules["torchvision.transforms"] is facula.vision.transforms
        import torch.optim.adam
        assert torch.optim.adam is facula.optim.adam
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == "torch":
                assert module is sys.modules["facula" + name[len("torch"):]], name
        files = [m.__file__ for n, m in sys.modules.items() if n.startswith("facula.")]
        assert len(files) == len(set(files))
        print("one")
        """
    )
    assert out == ["one"]


@pytest.mark.parametrize(
    "name",
    [
        "torch.nn.modules.batchnorm",
        "torch.optim.optimizer",
        "torch.optim.lr_scheduler",
        "torch.utils.data._utils.collate",
        "torch.autograd.variable",
        "torch.nn.utils.rnn",
        "torchvision.models.resnet",
        "torchvision.transforms.functional",
    ],
)
def test_private_modules_are_found_by_either_name_first(programs, name):
    ours = name.replace("torchvision", "facula.vision").replace("torch", "facula")
    for first, second in ((name, ours), (ours, name)):
        out = programs.run(
            f"import {first} as a\nimport {second} as b\nprint(a is b, a.__spec__.name)"
        )
        assert out == f"True {ours}\n"


def test_modules_that_facula_imported_itself_have_both_names(programs):
    out = programs.run("import sys, torch; torch.nn.Linear; print('torch.nn' in sys.modules)")
    assert out == "True\n"


def test_modules_and_classes_say_their_other_names(programs):
    out = programs.lines(
        """
        import pickle
        import torch, torchvision
        import torch.utils.data.dataloader as loader
        from torch import nn

        print(torch.__name__, torch.nn.__name__, loader.__name__, torchvision.models.__name__)
        print(type(torch.ones(1)), nn.Linear, type(torch.float32), torch.optim.SGD)
        print(torchvision.models.ResNet, torch.typename(nn.ReLU()), torch.device, torch.Size)
        net = nn.Sequential(nn.Linear(1, 1), nn.LSTM(1, 1))
        data = pickle.dumps(net)
        print(b"torch.nn.modules.linear" in data, repr(pickle.loads(data)) == repr(net))
        print(len(torchvision.models.list_models(module=torchvision.models.segmentation)))
        try:
            from torch.nn.modules.module import nothing
        except ImportError as error:
            print(str(error).partition(" (")[0])
        """
    )
    assert out == [
        "torch torch.nn torch.utils.data.dataloader torchvision.models",
        "<class 'torch.Tensor'> <class 'torch.nn.modules.linear.Linear'> <class 'torch.dtype'> "
        "<class 'torch.optim.sgd.SGD'>",
        "<class 'torchvision.models.resnet.ResNet'> torch.nn.modules.activation.ReLU "
        "<class 'torch.device'> <class 'torch.Size'>",
        "True True",
        "6",
        "cannot import name 'nothing' from 'torch.nn.modules.module'",
    ]


@pytest.mark.parametrize("whole", [False, True])
def test_files_are_the_same_with_and_without_the_names(programs, whole):
    source = f"""
        import sys
        import NAME as torch
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
        saved = net if {whole} else {{"net": net.state_dict(), "size": torch.Size([1])}}
        if sys.argv[1] == "save":
            torch.save(saved, "net.pt")
        else:
            print(type(torch.load("net.pt", weights_only=True)).__name__)
        """
    expected = "Sequential\n" if whole else "dict\n"
    programs.write(source.replace("NAME", "torch"), "theirs.py")
    programs.write(source.replace("NAME", "facula"), "ours.py")
    for save, load in ((programs.start, programs.python), (programs.python, programs.start)):
        files = ["theirs.py" if run == programs.start else "ours.py" for run in (save, load)]
        assert save(files[0], "save").returncode == 0
        done = load(files[1], "load")
        assert done.stdout == expected, done.stderr


def test_versions_are_pytorchs_marked_as_ours(programs):
    out = programs.run(
        """
        import importlib.metadata as metadata
        import torch, torchvision
        from packaging.version import Version

        assert torch.__version__ == metadata.version("torch") == torch.version.__version__
        assert torchvision.__version__ == metadata.version("torchvision")
        assert metadata.distribution("torch").metadata["Name"] == "torch"
        assert "torch" in metadata.packages_distributions()["torch"]
        assert Version(torch.__version__).release == (2, 13, 0)
        assert Version(torch.__version__) > Version("2.9")
        assert torch.__version__ >= "2.0" and torch.__version__ > (1, 10)
        assert tuple(map(int, torch.__version__.split("+")[0].split(".")[:2])) == (2, 13)
        assert torch.version.cuda is None or torch.cuda.is_available()
        assert torch.version.hip is None and torch.version.debug is False
        assert isinstance(torch.version.git_version, str)
        print(torch.__name__, torchvision.__name__, torch.__version__, torchvision.__version__)
        """
    )
    ours = __import__("facula").__version__
    assert out == f"torch torchvision 2.13.0+facula{ours} 0.28.0+facula{ours}\n"


def test_pip_and_others_that_look_into_folders_see_no_package_that_is_not_there(programs):
    out = programs.run(
        """
        import importlib.metadata as metadata
        print([d.metadata["Name"] for d in metadata.distributions(path=["."])])
        """
    )
    assert out == "[]\n"


def test_older_tools_that_list_packages_list_ours(programs):
    programs.write(
        """
        class Distribution:
            def __init__(self, project_name, version, location):
                self.text = f"{project_name} {version.partition('+')[0]}"

        class WorkingSet(list):
            def add(self, listed, replace):
                self.append(listed)

        working_set = WorkingSet()
        """,
        "pkg_resources.py",
    )
    out = programs.run("import pkg_resources\nprint([x.text for x in pkg_resources.working_set])")
    assert out == "['torch 2.13.0', 'torchvision 0.28.0']\n"


def test_find_spec_and_pkgutil_tell_what_is_there(programs):
    out = programs.lines(
        """
        import importlib.util, pkgutil
        print(importlib.util.find_spec("torch").name, importlib.util.find_spec("torchvision").name)
        print(importlib.util.find_spec("torch.nn.modules.linear").name)
        print(importlib.util.find_spec("torch.nothing"), importlib.util.find_spec("torch.package"))
        import torch
        names = {module.name for module in pkgutil.iter_modules(torch.__path__, "torch.")}
        print({"torch.nn", "torch.optim", "torch.hub"} <= names)
        print(pkgutil.resolve_name("torch.nn:Linear") is torch.nn.Linear)
        """
    )
    assert out[1:] == ["torch.nn.modules.linear", "None None", "True", "True"]


def test_what_is_missing_is_missing_to_hasattr_and_to_imports(programs):
    out = programs.lines(
        """
        import torch
        print(hasattr(torch, "nothing"), hasattr(torch, "quantize_per_tensor"))
        for statement in (
            "torch.nothing", "torch.nn.Nothing", "from torch import nothing",
            "import torch.nothing", "import torch.nn.nothing",
        ):
            try:
                exec(statement)
            except Exception as error:
                print(type(error).__name__, str(error).partition(" (")[0])
        """
    )
    assert out == [
        "False False",
        "AttributeError module 'torch' has no attribute 'nothing'",
        "AttributeError module 'torch.nn' has no attribute 'Nothing'",
        "ImportError cannot import name 'nothing' from 'torch'",
        "ModuleNotFoundError No module named 'torch.nothing'",
        "ModuleNotFoundError No module named 'torch.nn.nothing'",
    ]


def test_what_facula_lacks_on_purpose_is_said_with_a_way_out(programs):
    out = programs.lines(
        """
        import torch
        for statement in (
            "torch.quantize_per_tensor", "from torch import quantize_per_tensor",
            "import torch.package", "from torch.package import PackageExporter",
            "torch.ones(1).refine_names", "torch.Tensor.refine_names",
        ):
            try:
                exec(statement)
            except (AttributeError, ImportError) as error:
                print(error)
        print(hasattr(torch.Tensor, "refine_names"), hasattr(torch.ones(1), "refine_names"))
        """
    )
    assert len(out) == 7 and out[-1] == "False False"
    assert all(" is not part of Facula: " in line for line in out[:-1])
    assert (
        out[0]
        == out[1]
        == (
            "torch.quantize_per_tensor is not part of Facula: there are no quantized tensors. Use "
            "bfloat16 (model.bfloat16(), torch.autocast), or export to ONNX and quantize there."
        )
    )


def test_install_does_the_same_in_a_running_program(programs):
    out = programs.python(
        "-c",
        "import facula.nn, facula.compat; facula.compat.install(); facula.compat.install()\n"
        "import torch, torch.nn, sys\n"
        "print(torch is facula, sys.modules['torch.nn'] is facula.nn, torch.__name__)",
    )
    assert (out.stdout, out.stderr) == ("True True torch\n", "")


def test_install_refuses_where_another_torch_is_imported(programs):
    programs.write("", "torch/__init__.py")
    out = programs.python("-c", "import torch, facula.compat\nfacula.compat.install()")
    assert "RuntimeError: facula.compat.install: torch is already imported from" in out.stderr


def test_another_torch_is_neither_imported_nor_seen(programs):
    for package in ("torch", "torchvision"):
        programs.write("raise SystemExit('imported')", f"{package}/__init__.py")
        programs.write("raise SystemExit('imported')", f"{package}/only_there.py")
    out = programs.run(
        """
        import torch, torchvision
        try:
            import torch.only_there
        except ImportError:
            print(torch.__version__.partition("+")[0])
        """
    )
    assert out == "2.13.0\n"
    out = programs.python("-c", "import torch")
    assert out.stderr == "imported\n"  # which is its own again outside of facula run


def test_writers_of_tensorboard_are_facula_s_by_all_names(programs):
    pytest.importorskip("tensorboardX")
    out = programs.run(
        """
        import glob
        import tensorboardX
        from tensorboardX import SummaryWriter
        from tensorboardX.writer import SummaryWriter as second
        from torch.utils.tensorboard import SummaryWriter as third
        from torch.utils.tensorboard.writer import SummaryWriter as fourth
        import facula.utils.tensorboard

        assert facula.utils.tensorboard.SummaryWriter is SummaryWriter
        assert SummaryWriter is second is third is fourth is tensorboardX.SummaryWriter
        from torch.utils.tensorboard import FileWriter
        assert FileWriter is tensorboardX.FileWriter
        with SummaryWriter("logs") as writer:
            writer.add_scalar("loss", 0.5, 1)
        print(len(glob.glob("logs/events*")), tensorboardX.__version__ > "2")
        """
    )
    assert out == "1 True\n"


def test_plain_pickles_name_nothing_but_pytorchs_functions(programs):
    out = programs.lines(
        """
        import pickle, pickletools
        import torch

        class Marked(torch.Tensor):
            pass

        x = torch.arange(4.0)
        net = torch.nn.Linear(2, 2)
        marked = torch.arange(3.0).as_subclass(Marked)
        kept = [x, x[1:], net, net.state_dict(), torch.optim.SGD(net.parameters(), lr=1.0),
                torch.eye(2).to_sparse(), torch.ones(2, device="meta"),
                x.to(torch.complex64).conj(), marked]
        data = pickle.dumps(kept)
        words = {word for _, word, _ in pickletools.genops(data) if isinstance(word, str)}
        print(sorted(word for word in words if "facula" in word))
        again = pickle.loads(data)
        print(again[1], again[7], type(again[8]).__name__)
        print(torch.equal(again[2].weight, net.weight), again[5].to_dense().tolist())
        """
    )
    assert out == [
        "[]",
        "tensor([1., 2., 3.]) tensor([0.-0.j, 1.-0.j, 2.-0.j, 3.-0.j]) Marked",
        "True [[1.0, 0.0], [0.0, 1.0]]",
    ]


def test_weights_are_loaded_by_the_function_that_model_repositories_import(programs):
    out = programs.run(
        """
        from torchvision._internally_replaced_utils import load_state_dict_from_url
        import torch.hub
        print(load_state_dict_from_url is torch.hub.load_state_dict_from_url)
        """
    )
    assert out == "True\n"


def test_tensors_that_are_sent_to_processes_share_their_memory(programs):
    out = programs.run(
        """
        import torch
        import torch.multiprocessing as mp

        def double(shared):
            shared.mul_(2)

        if __name__ == "__main__":
            shared = torch.arange(3.0).share_memory_()
            process = mp.get_context("spawn").Process(target=double, args=(shared,))
            process.start()
            process.join()
            print(shared)
        """
    )
    assert out == "tensor([0., 2., 4.])\n"


def test_private_names_that_packages_borrow_do_what_pytorchs_do(programs):
    out = programs.lines(
        """
        import warnings

        import torch
        import torch.nn.functional as F
        from torch._compile import _disable_dynamo
        from torch._dynamo.eval_frame import is_dynamo_supported
        from torch._dynamo.utils import warn_once
        from torch.nn.modules.transformer import _get_activation_fn, _get_clones
        from torch.optim.lr_scheduler import LRScheduler, _enable_get_lr_call

        assert torch._disable_dynamo is _disable_dynamo and _disable_dynamo(len) is len
        assert is_dynamo_supported() and _get_activation_fn("gelu") is F.gelu
        assert torch.cuda._initialized is torch.cuda.is_available()
        assert torch.hub.get_dir().startswith(torch.hub._get_torch_home())
        assert torch._utils._element_size(torch.float16) == 2
        assert torch._C._show_config() == torch.__config__.show()
        assert len(_get_clones(torch.nn.Linear(1, 1), 2)) == 2
        torch.classes.__path__ = []
        assert torch._shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]
        assert torch._grouped_mm(torch.ones(2, 3, 4), torch.ones(2, 4, 5)).shape == (2, 3, 5)

        mask = F._canonical_mask(torch.tensor([True, False]), "mask", None, "", torch.float32)
        assert mask.tolist() == [float("-inf"), 0] and F._none_or_dtype(mask) is torch.float32
        assert F._mha_shape_check(*[torch.ones(2, 3, 4)] * 3, None, None, 2)

        seen = []
        x = torch.ones(1, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: seen.append(torch.autograd._is_checkpoint_valid()))
        torch.autograd.grad(y, x, retain_graph=True)
        y.backward()
        assert seen == [False, True] and torch.autograd._is_checkpoint_valid()
        assert torch._C._current_graph_task_id() == -1

        class Doubled(LRScheduler):
            def get_lr(self):
                return [2 * rate for rate in self.base_lrs]

            def step(self):
                with _enable_get_lr_call(self):
                    print(self.get_lr())

        Doubled(torch.optim.SGD([x], lr=0.5))
        with warnings.catch_warnings(record=True) as said:
            warn_once("once")
            warn_once("once")
        assert len(said) == 1
        """
    )
    assert out == ["[1.0]"]


def test_packages_that_are_compiled_for_pytorch_are_not_there(programs):
    programs.write("raise AssertionError('loaded')", "torchtext.py")
    assert programs.lines(
        """
        import importlib, importlib.metadata, importlib.util
        print(importlib.util.find_spec("torchtext"), importlib.util.find_spec("flash_attn"))
        try:
            importlib.metadata.version("flash-attn")
        except importlib.metadata.PackageNotFoundError:
            print("not installed")
        for name in ("torchtext", "flash_attn"):
            try:
                importlib.import_module(name)
            except ImportError as error:
                print(type(error).__name__, str(error)[:44])
        """
    ) == [
        "None None",
        "not installed",
        "ImportError torchtext cannot be imported under facula ru",
        "ModuleNotFoundError No module named 'flash_attn'",
    ]
