"""The kernels' sources, which no GPU is needed to compile."""

import os
import re
import subprocess
import sys

import pytest

import facula
from facula import _core

pytestmark = pytest.mark.promise("G1")
needs_compiler = pytest.mark.skipif(
    bool(_core._cuda_compiler_problem()), reason=_core._cuda_compiler_problem() or "-"
)
PROGRAMS = _core._cuda_programs()
DTYPES = sorted({dtype for _, dtype, _ in PROGRAMS}, key=str)
# For a GPU that the compiler does not know it stops at PTX, in a tenth of the time.
ARCHITECTURES = {"sm_80": (8, 1), "sm_90": (9, 9), "sm_100": (10, 1)}


def source_of(name, dtype=facula.float32):
    return next(text for n, d, text in PROGRAMS if (n, d) == (name, dtype))


def compile_as_one(programs, architecture="sm_90"):
    assert programs
    code = _core._cuda_compile("\n".join(programs), *ARCHITECTURES[architecture])
    # What PTX allows and its assembler refuses: CUDA's old functions any() and all(), and shuffles.
    assert not re.search(rb"\b(vote|shfl)\.(?!sync)", code)
    return code


def test_every_operation_of_the_lists_has_a_program():
    names = {name for name, dtype, _ in PROGRAMS if dtype == facula.float32}
    assert {"exp", "relu", "add", "div", "where", "eq", "isnan", "clamp", "addcmul"} <= names
    assert "math::exp(x)" in source_of("exp")


def test_operations_that_a_dtype_does_not_have_have_no_program():
    names = {name for name, dtype, _ in PROGRAMS if dtype == facula.bool}
    assert "exp" not in names
    assert "bitwise_and" in names


@needs_compiler
@pytest.mark.parametrize("name", ["exp", "add", "where", "isnan", "clamp_min", "lt", "addcmul"])
def test_a_program_compiles_to_machine_code(name):
    code = _core._cuda_compile(source_of(name), 9, 0)
    assert code.startswith(b"\x7fELF")


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_programs_compile(dtype):
    assert compile_as_one([text for _, d, text in PROGRAMS if d == dtype])


@needs_compiler
@pytest.mark.parametrize("architecture", ["sm_80", "sm_100"])
def test_every_kernel_compiles_for_other_architectures(architecture):
    one_of_each = {name: text for name, _, text in reversed(PROGRAMS)}
    assert compile_as_one(one_of_each.values(), architecture)


@needs_compiler
def test_compiled_code_is_kept_on_disk(tmp_path):
    script = (
        "from facula import _core;"
        "_, _, source = next(p for p in _core._cuda_programs() if p[0] == 'neg');"
        "_core._cuda_compile(source, 9, 0)"
    )
    environment = {**os.environ, "FACULA_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", script], check=True, env=environment)
        (kept,) = (tmp_path / "cache").iterdir()
        assert kept.suffix == ".cubin"
        assert kept.read_bytes().startswith(b"\x7fELF")


@needs_compiler
def test_a_program_that_is_wrong_raises_with_the_log():
    with pytest.raises(RuntimeError, match="a kernel could not be compiled for sm_90") as error:
        _core._cuda_compile("__global__ void f() { no_such_name; }", 9, 0)
    assert "no_such_name" in str(error.value)
