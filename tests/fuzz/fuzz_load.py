"""Coverage-guided fuzzing of the readers of checkpoints: ``make fuzz``.

``check(data)`` gives bytes to every reader that may take them for a file. Whatever they are, they
load or raise CheckpointError, and nothing named by them is imported or called. libFuzzer, through
atheris, looks for bytes that do something else.

The corpus beside this file is where it starts from: ``python tests/fuzz/fuzz_load.py --make``
writes the part of it that hostile_files.py and the golden files have.
"""

import io
import os
import sys
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
CORPUS = FUZZ / "corpus"
# No part of reading a file, with what is needed imported before: any of these is an escape.
FORBIDDEN = ("compile", "exec", "import", "os.exec", "os.fork", "os.posix_spawn", "os.remove")
FORBIDDEN += ("os.spawn", "os.system", "pickle.find_class", "socket", "subprocess")

is_watching = False


def watch(event, args):
    if is_watching and event.startswith(FORBIDDEN):
        print(f"the file made the reader do this: {event} {args!r:.200}", file=sys.stderr)
        os.abort()


def attempt(read):
    """Load, or be refused in the one way that there is."""
    global is_watching
    is_watching = True
    try:
        read()
    except CheckpointError:
        pass
    except (RuntimeError, ValueError) as error:
        told = (
            "TorchScript program",
            "mmap=True needs PyTorch's zip format",
            "expected a checkpoint",
        )
        if not any(text in str(error) for text in told):
            raise
    finally:
        is_watching = False


def check(data):
    """Give ``data`` to the readers as a file, and as the pickle inside one."""
    attempt(lambda: facula.load(io.BytesIO(data)))
    if data[:2] == b"PK" or data[8:9] == b"{":
        fd = os.memfd_create("fuzz")
        os.write(fd, data)
        path = f"/proc/self/fd/{fd}"
        if data[:2] == b"PK":
            attempt(lambda: facula.load(path, mmap=True))
            attempt(lambda: list_globals(path))
        else:
            attempt(lambda: load_file(path))
            attempt(lambda: load_file(path, mmap=True))
        os.close(fd)
    else:
        archive = hostile_files.archive(data, {"0": bytes(range(16)), "1": b""})
        attempt(lambda: facula.load(io.BytesIO(archive)))
        attempt(lambda: list_globals(io.BytesIO(archive)))


def make_corpus():
    """The small files that the other tests have, and the pickles inside them."""
    CORPUS.mkdir(exist_ok=True)
    files = hostile_files.corpus()
    for path in (FUZZ.parent / "golden" / "checkpoints").glob("*.pt"):
        files[f"golden-{path.stem}"] = path.read_bytes()
        if path.read_bytes()[:2] == b"PK":
            source = io.BytesIO(path.read_bytes())
            reader = ZipReader(StreamSource(source), Budget(1 << 30))
            files[f"golden-{path.stem}-pickle"] = reader.read("data.pkl")
    header = b'{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"__metadata__":{"b":"c"}}'
    files["safetensors"] = len(header).to_bytes(8, "little") + header + bytes(8)
    for name, data in files.items():
        if len(data) <= 3000:
            (CORPUS / name.replace("/", "-")).write_bytes(data)


def main():
    atheris.Setup([*sys.argv, str(CORPUS)], check)
    atheris.Fuzz()


sys.path.insert(0, str(FUZZ.parent))
is_fuzzing = __name__ == "__main__" and "--make" not in sys.argv
if is_fuzzing:
    import atheris

    with atheris.instrument_imports(include=["facula.serialization"]):
        import facula.serialization
        import facula.serialization.safetensors
import hostile_files  # noqa: E402

import facula  # noqa: E402
import facula.nn  # noqa: E402
from facula.serialization import CheckpointError  # noqa: E402
from facula.serialization import get_unsafe_globals_in_checkpoint as list_globals  # noqa: E402
from facula.serialization._source import Budget, StreamSource  # noqa: E402
from facula.serialization._zip_reader import ZipReader  # noqa: E402
from facula.serialization.safetensors import load_file  # noqa: E402

if __name__ == "__main__":
    if not is_fuzzing:
        make_corpus()
    else:
        hostile_files.import_modules()
        for path in CORPUS.iterdir():  # imports what is imported at the first use
            check(path.read_bytes())
        sys.addaudithook(watch)
        main()
