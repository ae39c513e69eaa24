"""Flowers-102: photographs of kinds of flowers."""

from __future__ import annotations

from pathlib import Path

from facula.vision._imports import optional
from facula.vision.datasets._base import Samples, SplitListed, fetch
from facula.vision.datasets.utils import check_integrity, download_and_extract_archive, download_url

__all__ = ["Flowers102"]

_FLOWERS = (
    "pink primrose|hard-leaved pocket orchid|canterbury bells|sweet pea|english marigold|"
    "tiger lily|moon orchid|bird of paradise|monkshood|globe thistle|snapdragon|colt's foot|"
    "king protea|spear thistle|yellow iris|globe-flower|purple coneflower|peruvian lily|"
    "balloon flower|giant white arum lily|fire lily|pincushion flower|fritillary|red ginger|"
    "grape hyacinth|corn poppy|prince of wales feathers|stemless gentian|artichoke|"
    "sweet william|carnation|garden phlox|love in the mist|mexican aster|alpine sea holly|"
    "ruby-lipped cattleya|cape flower|great masterwort|siam tulip|lenten rose|barbeton daisy|"
    "daffodil|sword lily|poinsettia|bolero deep blue|wallflower|marigold|buttercup|oxeye daisy|"
    "common dandelion|petunia|wild pansy|primula|sunflower|pelargonium|bishop of llandaff|"
    "gaura|geranium|orange dahlia|pink-yellow dahlia?|cautleya spicata|japanese anemone|"
    "black-eyed susan|silverbush|californian poppy|osteospermum|spring crocus|bearded iris|"
    "windflower|tree poppy|gazania|azalea|water lily|rose|thorn apple|morning glory|"
    "passion flower|lotus|toad lily|anthurium|frangipani|clematis|hibiscus|columbine|"
    "desert-rose|tree mallow|magnolia|cyclamen|watercress|canna lily|hippeastrum|bee balm|"
    "ball moss|foxglove|bougainvillea|camellia|mallow|mexican petunia|bromelia|blanket flower|"
    "trumpet creeper|blackberry lily"
)


class Flowers102(SplitListed):
    """Photographs of 102 kinds of flowers. It needs SciPy.

    Args:
        root: the folder that has, or is to have, the folder ``flowers-102``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.Flowers102.classes[:2]
        ['pink primrose', 'hard-leaved pocket orchid']
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
    _DOWNLOADS = {
        "image": ("102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"),
        "label": ("imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
        "setid": ("setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
    }
    _SPLITS = {"train": "trnid", "val": "valid", "test": "tstid"}
    classes = _FLOWERS.split("|")

    def _provide(self, download: bool) -> None:
        self._base_folder = Path(self.root, "flowers-102")
        folder = str(self._base_folder)
        fetch(self, download, f"the dataset is not in {folder!r}, or is damaged")

    def _list(self, root: Path) -> Samples:
        loadmat, base = optional("scipy.io").loadmat, self._base_folder
        ids = loadmat(base / "setid.mat", squeeze_me=True)[self._SPLITS[self._split]]
        labels = loadmat(base / "imagelabels.mat", squeeze_me=True)["labels"]
        for i in ids.tolist():
            yield base / "jpg" / f"image_{i:05d}.jpg", int(labels[i - 1]) - 1

    def _check_integrity(self) -> bool:
        files = [self._DOWNLOADS["label"], self._DOWNLOADS["setid"]]
        is_there = all(check_integrity(self._base_folder / name, md5) for name, md5 in files)
        return is_there and (self._base_folder / "jpg").is_dir()

    def download(self) -> None:
        """Download and unpack the files that are not there."""
        if self._check_integrity():
            return
        name, md5 = self._DOWNLOADS["image"]
        download_and_extract_archive(self._URL + name, self._base_folder, md5=md5)
        for name, md5 in (self._DOWNLOADS["label"], self._DOWNLOADS["setid"]):
            download_url(self._URL + name, self._base_folder, md5=md5)
