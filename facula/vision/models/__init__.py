# mypy: implicit-reexport
"""Networks for images, with torchvision's parameter names, so that its weight files load.

A model is built by its function or by its name, with random or with trained weights::

    model = resnet50(weights=ResNet50_Weights.DEFAULT)
    model = get_model("resnet50", weights="DEFAULT")
    prepare = ResNet50_Weights.DEFAULT.transforms()
"""

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula.vision.models import mobilenet as mobilenet
from facula.vision.models._api import *  # noqa: F403
from facula.vision.models._api import PACKAGES as _PACKAGES
from facula.vision.models.alexnet import *  # noqa: F403
from facula.vision.models.convnext import *  # noqa: F403
from facula.vision.models.densenet import *  # noqa: F403
from facula.vision.models.efficientnet import *  # noqa: F403
from facula.vision.models.googlenet import *  # noqa: F403
from facula.vision.models.inception import *  # noqa: F403
from facula.vision.models.maxvit import *  # noqa: F403
from facula.vision.models.mnasnet import *  # noqa: F403
from facula.vision.models.mobilenetv2 import *  # noqa: F403
from facula.vision.models.mobilenetv3 import *  # noqa: F403
from facula.vision.models.regnet import *  # noqa: F403
from facula.vision.models.resnet import *  # noqa: F403
from facula.vision.models.shufflenetv2 import *  # noqa: F403
from facula.vision.models.squeezenet import *  # noqa: F403
from facula.vision.models.swin_transformer import *  # noqa: F403
from facula.vision.models.vgg import *  # noqa: F403
from facula.vision.models.vision_transformer import *  # noqa: F403

if _TYPE_CHECKING:
    from facula.vision.models import detection, optical_flow, segmentation, video  # noqa: F401
else:  # mypy reads no computed list; without one, all names are public to it
    __all__ = sorted({*(name for name in globals() if not name.startswith("_")), *_PACKAGES})

    def __getattr__(name: str) -> _ModuleType:
        # These packages are half of all the code, and imported when they are first asked for.
        if name not in _PACKAGES and name != "feature_extraction":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _import_module(f"{__name__}.{name}")
