"""Writes docs/api/: a page for every public module, from its docstrings, and an index of the pages.

A name that several modules export is described where its name is shortest; the other pages point
there. So the files behind a package, whose names are all in the package, need no page.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import facula

ROOT = Path(__file__).resolve().parent.parent
API = ROOT / "docs" / "api"
WIDTH = 96

# Chapters of the large pages, in their order, with the files and rooms whose names they have.
CHAPTERS = {
    "Element by element": "pointwise unary binary ternary parametric activation",
    "Comparisons": "comparison compare",
    "Reductions": "reduction reduce",
    "Creation": "creation",
    "Shapes, views and joining": "shapes shape joining copies",
    "Indexing": "index",
    "Products and linear algebra": "blas linear_algebra einsum linalg lobpcg",
    "Spectra": "spectral",
    "Random numbers": "sampling random",
    "Layers and losses": "losses nn loss functional",
    "Sparse tensors": "sparse",
    "Optimiser steps": "optim",
}
CHAPTER_OF = {word: title for title, words in CHAPTERS.items() for word in words.split()}
REST = "Everything else"

SECTIONS = "Args|Attributes|Example|Examples|Note|Raises|Returns|Shape|Warns|Yields"


class Entry(NamedTuple):
    """A public object: the page that describes it, and its name there."""

    page: str
    name: str
    value: Any


def public_modules() -> Iterator[ModuleType]:
    """Every public module, the shorter names first."""
    names = ["facula"]
    for info in pkgutil.walk_packages(facula.__path__, "facula."):
        if not any(part.startswith(("_", "libscipy")) for part in info.name.split(".")):
            names.append(info.name)
    for name in sorted(names, key=lambda name: (name.count("."), name)):
        yield importlib.import_module(name)


# Signatures.


def _shown_default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, type) or inspect.isroutine(value):
        return str(value.__name__)
    text = repr(value).replace("torch.", "facula.")
    return type(value).__name__ if " at 0x" in text else text


def _shown_type(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text.replace("collections.abc.", "").replace("facula._core.", "")


def _parameter(parameter: inspect.Parameter) -> str:
    kinds = inspect.Parameter
    stars: dict[Any, str] = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}
    text: str = stars.get(parameter.kind, "") + parameter.name
    type_ = _shown_type(parameter.annotation)
    text += f": {type_}" if type_ and type_ != "Any" else ""
    if parameter.default is not inspect.Parameter.empty:
        equals = " = " if ":" in text else "="
        text += equals + _shown_default(parameter.default)
    return text


def _python_signature(name: str, value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parts, kinds = [], inspect.Parameter
    given = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    has_star = False
    for i, parameter in enumerate(given):
        is_after = i and given[i - 1].kind is kinds.POSITIONAL_ONLY
        if is_after and parameter.kind is not kinds.POSITIONAL_ONLY:
            parts.append("/")
        if parameter.kind is kinds.KEYWORD_ONLY and not has_star:
            parts.append("*")
        has_star = has_star or parameter.kind in (kinds.VAR_POSITIONAL, kinds.KEYWORD_ONLY)
        parts.append(_parameter(parameter))
    result = "" if isinstance(value, type) else _shown_type(signature.return_annotation)
    return _wrapped(name, parts, f" -> {result}" if result and result != "Any" else "")


def _wrapped(name: str, parts: list[str], result: str) -> str:
    line = f"{name}({', '.join(parts)}){result}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"


def _bound_signatures(name: str, value: Any) -> list[str]:
    """Those that nanobind keeps with a function, one for each overload."""
    lines = []
    for text, _, defaults, *_ in value.__nb_signature__:
        for i, default in reversed(list(enumerate(defaults or ()))):
            text = text.replace(f"\\{i}", _shown_default(default))
        text = text.replace("collections.abc.", "").removeprefix("def ")
        inner, arrow, result = text.partition("(")[2].rpartition(")")
        parts = [part for part in _split(inner) if part != "self"]
        lines.append(_wrapped(name, parts, result if arrow else ""))
    return lines


def _split(text: str) -> list[str]:
    """The parameters of a signature, cut at commas that are in no bracket and no string."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, char in enumerate(text):
        quoted ^= char == "'"
        depth += not quoted and ((char in "([{") - (char in ")]}"))
        if char == "," and not depth and not quoted:
            parts.append(text[start:i].strip())
            start = i + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def signatures(name: str, value: Any) -> list[str]:
    """How the object is called, a text for each overload."""
    if hasattr(value, "__nb_signature__"):
        return _bound_signatures(name, value)
    if isinstance(value, type) and (issubclass(value, enum.Enum) or value.__module__ == "_core"):
        return []
    text = _python_signature(name, value)
    return [text] if text else []


# Docstrings.


def docstring(value: Any) -> str:
    """The text of an object without the signatures that nanobind puts before it."""
    if hasattr(value, "__nb_signature__"):
        texts = dict.fromkeys(text.strip() for _, text, *_ in value.__nb_signature__ if text)
        return inspect.cleandoc("\n\n".join(texts))
    text = vars(value).get("__doc__") if isinstance(value, type) else value.__doc__
    return inspect.cleandoc(text or "")


class Writer:
    """Renders docstrings, with links to the names that have an entry.

    Args:
        links: page and anchor by full name.
        page: the page that is written.
    """

    def __init__(self, links: dict[str, tuple[str, str]], page: str) -> None:
        self._links = links
        self._page = page

    def link(self, full: str, text: str) -> str:
        """The text in code, as a link if the name is described somewhere."""
        if full not in self._links:
            return f"`{text}`"
        page, anchor = self._links[full]
        return f"[`{text}`]({'' if page == self._page else f'{page}.md'}#{anchor})"

    def prose(self, text: str) -> str:
        """Roles and marked names as Markdown."""
        text = re.sub(r":\w+:`~?([^`]+)`", lambda m: self._role(m[1]), text)
        return re.sub(r"``([^`]+)``", lambda m: self._code(m[1]), text)

    def _role(self, name: str) -> str:
        for full in (name, f"{self._page}.{name}", f"facula.{name}", f"facula.Tensor.{name}"):
            if full in self._links:
                return self.link(full, name)
        return f"`{name}`"

    def _code(self, code: str) -> str:
        return self.link(code, code) if code.startswith("facula.") else f"`{code}`"

    def sections(self, text: str) -> list[str]:
        """The paragraphs of a docstring in Markdown."""
        pieces = re.split(rf"^({SECTIONS}):\n", text, flags=re.MULTILINE)
        lines = self._free(pieces[0])
        for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
            inner = "\n".join(line for line in body.splitlines() if line[:1] in (" ", ""))
            after = body[len(inner) :] if inner else ""
            body = textwrap.dedent(inner).strip()
            if title.startswith("Example"):
                lines += self._free(body)
            elif title in ("Args", "Attributes", "Raises"):
                lines += [f"{title}:", self._items(body)]
            else:
                lines += [f"{title}: " + self.prose(" ".join(body.split()))]
            lines += self._free(after.strip())
        return [line for line in lines if line]

    def _free(self, text: str) -> list[str]:
        """Paragraphs, of which those with a prompt are examples, and indented ones programs."""
        out: list[str] = []
        for block in re.split(r"\n\s*\n", text.strip("\n")):
            if block.lstrip().startswith(">>>"):
                code = inspect.cleandoc(block)
                if out and out[-1].endswith("\n```"):
                    out[-1] = out[-1].removesuffix("```") + f"\n{code}\n```"
                else:
                    out.append(f"```python\n{code}\n```")
            elif block.startswith("    "):
                out.append(f"```python\n{textwrap.dedent(block)}\n```")
            else:
                out.append(re.sub("::$", ":", self.prose(block.strip())))
        return out

    def _items(self, body: str) -> str:
        items: list[list[str]] = []
        for line in body.splitlines():
            if line.strip() and not line.startswith(" "):
                items.append([line])
            elif line.strip() and items:
                items[-1].append(line.strip())
        return "\n".join(self._item(" ".join(lines)) for lines in items)

    def _item(self, text: str) -> str:
        name, colon, meaning = text.partition(": ")
        if not colon or " " in name.replace(", ", ""):
            return f"- {self.prose(text)}"
        names = ", ".join(f"`{part}`" for part in name.replace("`", "").split(", "))
        return f"- {names}: {self.prose(meaning)}"


# Where a name comes from.


@cache
def _core_sources() -> dict[str, str]:
    """For every name that the sources of the core bind: the file that has it."""
    found: dict[str, str] = {}

    def note(path: Path, names: list[str]) -> None:
        for name in names:
            found.setdefault(name, path.relative_to(ROOT).as_posix())

    core = ROOT / "core"
    for path in sorted((core / "tables").glob("*.def")):
        rows = re.findall(r'^[A-Z_]+\(\s*(\w+),\s*(?:"([\w ,]*)")?', path.read_text(), re.MULTILINE)
        for name, aliases in rows:
            note(path, [name, *re.findall(r"\w+", aliases)])
    paths = [
        p for folder in ("ops", "python") for p in sorted((ROOT / "core" / folder).rglob("*.cpp"))
    ]
    for path in paths:
        note(path, re.findall(r'\bdef\w*(?:<[^;()]*>)?\(\s*(?:\w+,\s*)?"(\w+)"', path.read_text()))
    for path in paths:  # names that a binding function gets in another place than the first
        note(path, re.findall(r'"(\w+)"(?!_a)', path.read_text().partition("FACULA_BINDINGS")[2]))
    return found


def source_of(name: str, value: Any) -> str:
    """The file that defines an object, from the root of the repository; empty if unknown."""
    module = getattr(value, "__module__", None) or ""
    code = getattr(inspect.unwrap(value), "__code__", None)
    file = code.co_filename if code else getattr(sys.modules.get(module), "__file__", None)
    if file and file.endswith(".py") and ROOT in Path(file).resolve().parents:
        return Path(file).resolve().relative_to(ROOT).as_posix()
    if isinstance(value, type):
        return ""
    bound = getattr(value, "__name__", name)
    sources = _core_sources()
    return sources.get(bound) or sources.get(name) or sources.get(bound.rstrip("_"), "")


def chapter_of(page: str, name: str, value: Any) -> str:
    """The chapter of a large page that an object belongs to."""
    path = Path(source_of(name, value).rpartition(".")[0])
    if page not in ("facula", "Tensor"):  # a chapter is a file
        name = "" if path.name == "__init__" else path.name.strip("_")
        return name.replace("_", " ").capitalize() or REST
    parts = [part.strip("_") for part in path.parts if part != "_ops"]
    return next((CHAPTER_OF[part] for part in reversed(parts) if part in CHAPTER_OF), REST)


# Pages.


def is_ours(value: Any) -> bool:
    """Whether an object is defined in this package, and so described here."""
    module = getattr(value, "__module__", None)
    return bool(module) and str(module).split(".")[0] in ("facula", "_core")


def _is_described(value: Any) -> bool:
    is_object = isinstance(value, type) or callable(value)
    return is_object and is_ours(value) and not isinstance(value, ModuleType)


def _chapter_order(title: str) -> tuple[int, str]:
    order = [*CHAPTERS, REST]
    return (order.index(title) if title in order else 0, title)


class Page:
    """What one module has, in the order of the page.

    Args:
        module: the module that is described.
        known: the entries of pages before this one, by the identity of the object.
    """

    def __init__(self, module: ModuleType, known: dict[int, Entry]) -> None:
        self.module = module
        self.name = module.__name__
        self.own: list[Entry] = []
        self.others: list[tuple[str, Entry]] = []
        self.values: list[str] = []
        self.modules: list[str] = []
        for name in sorted(module.__all__, key=lambda name: (name.lower(), name)):
            value = getattr(module, name)
            if isinstance(value, ModuleType):
                self.modules.append(value.__name__)
            elif not _is_described(value):
                self.values.append(name)
            elif id(value) in known:
                self.others.append((name, known[id(value)]))
            else:
                known[id(value)] = Entry(self.name, name, value)
                self.own.append(known[id(value)])

    def chapters(self) -> dict[str, list[Entry]]:
        """The entries by chapter; one without a name for a small page."""
        if len(self.own) < 100 or self.name.startswith("facula.vision"):
            return {"": self.own}
        found: dict[str, list[Entry]] = {}
        for entry in self.own:
            found.setdefault(chapter_of(self.name, entry.name, entry.value), []).append(entry)
        return {title: found[title] for title in sorted(found, key=_chapter_order)}


def members(cls: type) -> list[tuple[str, Any]]:
    """Public methods and properties that a class itself defines and describes."""
    found = []
    for name, member in vars(cls).items():
        value = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        is_member = isinstance(value, property) or callable(value)
        is_text = is_member and not isinstance(value, type) and bool(docstring(value))
        if not name.startswith("_") and is_text:
            found.append((name, value))
    return sorted(found, key=lambda pair: (pair[0].lower(), pair[0]))


def attributes(cls: type) -> list[tuple[str, Any]]:
    """Attributes of a class of the core, with their docstrings."""
    kinds = (type(facula.Tensor.shape), property)
    found = [(name, value) for name, value in vars(cls).items() if type(value) in kinds]
    return sorted((name, v) for name, v in found if not name.startswith("_") and v.__doc__)


def slug(heading: str, taken: dict[str, int]) -> str:
    """The anchor that Markdown gives to a heading."""
    base = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    taken[base] = taken.get(base, -1) + 1
    return f"{base}-{taken[base]}" if taken[base] else base


class Headings:
    """The headings of a page in their order, from which the anchors follow."""

    def __init__(self, title: str) -> None:
        self._taken: dict[str, int] = {}
        slug(title, self._taken)

    def add(self, text: str) -> str:
        """The anchor of the next heading."""
        return slug(text, self._taken)


def page_links(page: Page) -> dict[str, tuple[str, str]]:
    """The anchors of what a page describes, by full name."""
    links = {}
    headings = Headings(page.name)
    for title, entries in page.chapters().items():
        if title:
            headings.add(title)
        for entry in entries:
            full = f"{page.name}.{entry.name}"
            links[full] = (page.name, headings.add(entry.name))
            if entry.value is facula.Tensor:
                continue
            for name, _ in members(entry.value) if isinstance(entry.value, type) else ():
                links[f"{full}.{name}"] = (page.name, headings.add(f"{entry.name}.{name}"))
    for name, entry in page.others:
        links[f"{page.name}.{name}"] = (entry.page, "")
    return links


def _code(lines: list[str]) -> list[str]:
    return ["```python\n" + "\n".join(lines) + "\n```"] if lines else []


def _from(source: str) -> list[str]:
    return [f"Defined in [{source}](../../{source})."] if source else []


def write_entry(entry: Entry, writer: Writer) -> list[str]:
    """The blocks of a function or a class."""
    value = entry.value
    if value is facula.Tensor:
        return [f"### {entry.name}", "A page of its own: [Tensor](Tensor.md)."]
    blocks = [f"### {entry.name}", *_code(signatures(entry.name, value))]
    blocks += writer.sections(docstring(value))
    for name, member in members(value) if isinstance(value, type) else ():
        blocks.append(f"#### {entry.name}.{name}")
        if not isinstance(member, property):
            blocks += _code(signatures(name, member))
        text = docstring(member)
        if type_ := re.match(r"\(self\) -> (.+)", text):  # of nanobind, for a property without text
            blocks += _code([f"{name}: {_shown_type(type_[1])}"])
            text = text[type_.end() :]
        blocks += writer.sections(text)
    return blocks + _from(source_of(entry.name, value))


def write_page(page: Page, links: dict[str, tuple[str, str]]) -> str:
    """The text of a module's page."""
    writer = Writer(links, page.name)
    blocks = [f"# {page.name}", *writer.sections(inspect.cleandoc(page.module.__doc__ or ""))]
    chapters = page.chapters()
    if len(page.own) > 6:
        for title, entries in chapters.items():
            names = ", ".join(writer.link(f"{page.name}.{e.name}", e.name) for e in entries)
            blocks.append(f"**{title}**: {names}" if title else names)
    for title, entries in chapters.items():
        blocks += [f"## {title}"] if title else []
        for entry in entries:
            blocks += write_entry(entry, writer)
    if page.others:
        lines = [f"- {_elsewhere(page, name, entry, links)}" for name, entry in page.others]
        blocks += ["## Described elsewhere", "\n".join(lines)]
    if page.values:
        blocks += ["## Values", ", ".join(f"`{name}`" for name in page.values)]
    return "\n\n".join(blocks) + "\n"


def _elsewhere(page: Page, name: str, entry: Entry, links: dict[str, tuple[str, str]]) -> str:
    full = f"{entry.page}.{entry.name}"
    return f"`{name}`: {Writer(links, page.name).link(full, full)}"


def write_tensor(links: dict[str, tuple[str, str]]) -> str:
    """The page of Tensor: its methods by chapter, those that functions describe in one line."""
    writer = Writer(links, "Tensor")
    blocks = ["# Tensor", *writer.sections(docstring(facula.Tensor))]
    blocks.append("## Attributes")
    blocks.append(
        "\n".join(
            f"- `{name}`: {writer.prose(' '.join((value.__doc__ or '').split()))}"
            for name, value in attributes(facula.Tensor)
        )
    )
    chapters: dict[str, list[tuple[str, Any]]] = {title: [] for title in [*CHAPTERS, REST]}
    for name, value in tensor_methods():
        chapters[_method_chapter(name, value)].append((name, value))
    for title, methods in chapters.items():
        blocks += [f"## {title}"] if methods else []
        for name, value in methods:
            blocks += [f"### {name}", *_code(signatures(name, value))]
            function = getattr(facula, name.rstrip("_"), None)
            if f"facula.{name.rstrip('_')}" in links and callable(function):
                place = " in place" if name.endswith("_") else ""
                full = f"facula.{name.rstrip('_')}"
                blocks.append(f"{writer.link(full, full)} of this tensor{place}.")
                if docstring(value) == docstring(function) or name.endswith("_"):
                    continue
            blocks += writer.sections(docstring(value))
    return "\n\n".join(blocks) + "\n"


def tensor_methods() -> list[tuple[str, Any]]:
    """Public methods of Tensor, also those that its C base classes have."""
    names = [n for n in dir(facula.Tensor) if not n.startswith("_")]
    found = [(name, inspect.getattr_static(facula.Tensor, name)) for name in names]
    methods = [(n, getattr(facula.Tensor, n)) for n, v in found if not _is_attribute(v)]
    return sorted((n, v) for n, v in methods if callable(v) and docstring(v))


def _is_attribute(value: Any) -> bool:
    return type(value) in (type(vars(facula.Tensor).get("shape")), property)


def _method_chapter(name: str, value: Any) -> str:
    function = getattr(facula, name.rstrip("_"), None)
    found = chapter_of("Tensor", name.rstrip("_"), function) if callable(function) else REST
    return found if found != REST else chapter_of("Tensor", name, value)


def write_index(pages: list[Page]) -> str:
    """The list of the pages, each with the first sentence of its module."""
    rows = ["| page | names | what it has |", "| --- | --- | --- |"]
    rows.append("| [Tensor](Tensor.md) | {} | methods and attributes of tensors |")
    rows[-1] = rows[-1].format(len(tensor_methods()) + len(attributes(facula.Tensor)))
    for page in pages:
        text = inspect.cleandoc(page.module.__doc__ or "").partition("\n\n")[0]
        sentence = Writer({}, "").prose(" ".join(text.split())).replace("|", "\\|")
        n_names = len(page.own) + len(page.others) + len(page.values)
        rows.append(f"| [{page.name}]({page.name}.md) | {n_names} | {sentence} |")
    head = (
        "# The API\n\nA page for every module that has names of its own, made from the docstrings "
        "by `make docs`.\nFunctions and classes have PyTorch's names, arguments and results.\n\n"
    )
    return head + "\n".join(rows) + "\n"


def make_pages() -> dict[str, str]:
    """The text of every file of docs/api, by its name."""
    known: dict[int, Entry] = {}
    pages = [Page(module, known) for module in public_modules()]
    pages = [page for page in pages if page.own]
    links: dict[str, tuple[str, str]] = {}
    for page in pages:
        links |= page_links(page)
    for name, _ in tensor_methods():
        links[f"facula.Tensor.{name}"] = ("Tensor", slug(name, {}))
    for page in pages:
        for name, entry in page.others:  # a name by another way leads to the same place
            links[f"{page.name}.{name}"] = links[f"{entry.page}.{entry.name}"]
    files = {f"{page.name}.md": write_page(page, links) for page in pages}
    return {"index.md": write_index(pages), "Tensor.md": write_tensor(links), **files}


def main() -> None:
    """Write the pages, and remove those of modules that are gone."""
    API.mkdir(parents=True, exist_ok=True)
    files = make_pages()
    for path in API.glob("*.md"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        (API / name).write_text(text)
    print(f"{API}: {len(files)} pages, {sum(map(len, files.values())) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
