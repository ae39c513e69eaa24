#!/usr/bin/env bash
# On a machine with an NVIDIA GPU and PyTorch: builds the core, runs the tests marked cuda, compares speed.
# Downloads nothing: it takes Python, CMake, nanobind, OpenBLAS and pytest as the machine (or PYTHONPATH) has them.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/cuda-check
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$(command -v python3)"
cmake --build $build
# Beside the Python sources, where the tests look for it.
cmake --install $build --prefix "$PWD"
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
python3 -m facula.cli info
failed=0
# Only the files that have such tests: others want packages that the machine may not have.
python3 -m pytest -q -m cuda $(grep -rlwE 'cuda|device' tests --include='test_*.py' --exclude-dir=parity) || failed=$?
python3 benchmarks/cuda.py
exit $failed
