"""The kernels' sources, which no GPU is needed to compile."""

import os
import subprocess
import sys

import pytest

import facula
from facula import _core

needs_compiler = pytest.mark.skipif(
    bool(_core._cuda_compiler_problem()), reason=_core._cuda_compiler_problem() or "-"
)
DTYPES = [facula.bool, facula.int64, facula.bfloat16, facula.float32]


def compile_as_one(programs):
    """For a GPU that the compiler does not know: that stops at PTX, in a tenth of the time."""
    return _core._cuda_compile("\n".join(text for _, text in programs), 9, 9)


def test_every_operation_of_the_lists_has_a_program():
    programs = dict(_core._cuda_elementwise_programs([facula.float32]))
    for name in ("exp", "relu", "add", "div", "where", "eq", "isnan", "clamp", "addcmul"):
        assert f"{name} of float32" in programs
    assert "math::exp(x)" in programs["exp of float32"]


def test_operations_that_a_dtype_does_not_have_have_no_program():
    programs = dict(_core._cuda_elementwise_programs([facula.bool]))
    assert "exp of bool" not in programs
    assert "bitwise_and of bool" in programs


@needs_compiler
@pytest.mark.parametrize("name", ["exp", "add", "where", "isnan", "clamp_min", "lt", "addcmul"])
def test_a_program_compiles_to_machine_code(name):
    programs = dict(_core._cuda_elementwise_programs([facula.float32]))
    code = _core._cuda_compile(programs[f"{name} of float32"], 9, 0)
    assert code.startswith(b"\x7fELF")


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_element_wise_programs_compile(dtype):
    programs = _core._cuda_elementwise_programs([dtype])
    assert compile_as_one(programs)


@needs_compiler
def test_all_reductions_compile():
    assert compile_as_one(_core._cuda_reduction_programs())


@needs_compiler
def test_compiled_code_is_kept_on_disk(tmp_path):
    script = (
        "from facula import _core; import facula;"
        "source = dict(_core._cuda_elementwise_programs([facula.float32]))['neg of float32'];"
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
