# Every target sets itself up on a fresh machine and rebuilds only what changed.
SHELL := /bin/bash -euo pipefail
PYTHON ?= python3
TORCH := torch==2.13.0
# jieba cuts Chinese into words for the search.
MKDOCS := mkdocs==1.6.1 mkdocs-material==9.8.1 mkdocs-static-i18n==1.3.1 jieba==0.42.1 polib==1.2.0
# Without what it depends on: that would be PyTorch's CUDA build. Its operations link the CUDA runtime.
TORCHVISION := torchvision==0.28.0 'nvidia-cuda-runtime>=13,<14'
FUZZ_SECONDS ?= 60
AS_ROOT = $(if $(filter 0,$(shell id -u)),,sudo)
AARCH64_TOOLS := g++-aarch64-linux-gnu qemu-user-static
AARCH64_PACKAGES := python3-minimal libpython3-stdlib libpython3-dev libstdc++6
# Not those that start a second Python, which the emulator would not run.
AARCH64_TESTS := $(addprefix tests/,ops/pointwise ops/reduce ops/random ops/linalg/test_matmul.py ops/nn \
  nn/test_attention.py nn/test_conv.py nn/test_rnn.py)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)

BUILD_REQUIRES := $(shell sed -n 's/^requires = \[\(.*\)\]$$/\1/p' pyproject.toml | tr , ' ') \
                  $(if $(shell command -v cmake),,cmake)
CORE := pyproject.toml CMakeLists.txt $(shell find core -type f)
CPP := $(shell find core -name '*.cpp' -o -name '*.cc' -o -name '*.h' -o -name '*.cu')
SITE = $(shell echo $(CURDIR)/.venv/lib/python3*/site-packages)

.PHONY: demo test parity programs bench sweep fuzz lint format asan aarch64 docs site wheel-check clean

demo: .venv/built
	.venv/bin/python examples/digits.py

test: .venv/built
	.venv/bin/python -m pytest

parity: .venv-parity/ready
	.venv-parity/bin/python -m pytest -n auto tests/parity

# Programs on packages that are built on PyTorch, without PyTorch.
programs: .venv-programs/ready
	.venv-programs/bin/python tests/packages/run.py

bench: .venv-parity/ready
	.venv-parity/bin/python benchmarks/run.py
	.venv-parity/bin/python -m tools.readme

# A part of it: .venv-parity/bin/python benchmarks/sweep.py --only softmax
sweep: .venv-parity/ready
	.venv-parity/bin/python benchmarks/sweep.py

# What it finds is kept as a file below tests/fuzz/corpus, which the tests read again.
# Coverage is counted only in modules that Python itself loads: hence a copy, not the editable package.
fuzz: .venv-fuzz/ready
	rm -rf build/fuzz/site
	mkdir -p build/fuzz/corpus build/fuzz/site
	cp -r facula $(SITE)/facula build/fuzz/site
	PYTHONPATH=build/fuzz/site .venv-fuzz/bin/python tests/fuzz/fuzz_load.py -max_total_time=$(FUZZ_SECONDS) -timeout=30 \
	  -rss_limit_mb=2048 -artifact_prefix=build/fuzz/ build/fuzz/corpus

# The generated stub goes beside the sources, where the type checker looks for it.
lint: .venv/built
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	cp $(SITE)/facula/_core.pyi facula/
	.venv/bin/mypy
	.venv/bin/clang-format --dry-run --Werror $(CPP)
	.venv/bin/python tools/twins.py
	.venv/bin/python -m tools.chinese

format: .venv/built
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
	.venv/bin/clang-format -i $(CPP)

# libstdc++ is preloaded too: ASAN looks up the function that throws exceptions at program start. Libraries are opened
# by ASAN in the place of others, so that NVRTC does not find what lies beside it.
SANITIZED = LD_LIBRARY_PATH="$$(echo $(CURDIR)/.venv-asan/lib/python3*/site-packages/nvidia/*/lib | tr ' ' :)" \
  LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
  UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 PYTHONMALLOC=malloc .venv-asan/bin/python -m pytest
FORKING = tests/multiprocessing tests/utils/data
FORKING_PAGES = $(foreach page,loader-workers custom-dataset reproducible-runs,$(page) $(page).zh)

# What the sanitisers add makes the package and its memory larger than they may be, and they end a process
# that a signal hits in their own way. Their allocator, until GCC 14, stands still in a child that is forked
# while another thread allocates: tests that fork have one thread of the core's, and each fork waits for
# Python's threads to come to rest.
asan: .venv-asan/built
	$(SANITIZED) $(FORKING:%=--ignore=%) \
	  --deselect tests/test_startup.py::test_installed_package_is_under_60_mb \
	  $(FORKING_PAGES:%=--deselect 'tests/test_learn.py::test_the_programs_of_a_page_print_what_it_shows[%.md]') \
	  --deselect tests/test_pictures.py::test_every_picture_is_up_to_date \
	  --deselect tests/serialization/test_hostile.py::test_memory_stays_under_twice_the_file_and_50_mb \
	  --deselect tests/serialization/test_modules.py::test_no_attribute_of_a_file_crashes_a_module \
	  --deselect 'tests/programs/test_launch.py::test_programs_end_as_under_python[signal]'
	FACULA_NUM_THREADS=1 $(SANITIZED) $(FORKING) \
	  --deselect tests/utils/data/test_memory.py::test_epochs_over_many_python_objects_do_not_grow

# The same sources with NEON, built by a cross compiler and run by an emulator: tests of what has vector code. In a
# copy, where Python finds the core beside the package.
aarch64: build/aarch64/built
	rm -rf build/aarch64/tree
	mkdir build/aarch64/tree
	cp -r conftest.py pyproject.toml facula tests build/aarch64/tree
	cp build/aarch64/core/*.so build/aarch64/tree/facula
	cd build/aarch64/tree && ../python -m pytest -q -p no:cacheprovider $(AARCH64_TESTS) \
	  --deselect tests/ops/nn/test_grid_sample.py::test_nothing_is_read_behind_an_image_of_one_pixel

docs: .venv-parity/ready
	.venv-parity/bin/python tools/promises.py
	.venv-parity/bin/python tools/missing.py
	.venv-parity/bin/python tools/compat.py
	.venv-parity/bin/python tools/api.py

# The pages as a site to read from the disk, build/site/html/index.html. Broken links are errors. The script that
# searches reads the index of the last language that was built, so it is given the index of both.
site: .venv-site/ready
	.venv-site/bin/python -m tools.site
	NO_MKDOCS_2_WARNING=1 .venv-site/bin/mkdocs build -q --strict -f build/site/mkdocs.yml
	cd build/site/html/search && { printf 'var __index = '; cat search_index.json; } > search_index.js

# The wheel, installed where nothing of the repository is in reach, must work.
wheel-check: .venv/built
	rm -rf dist build/wheel-check
	.venv/bin/pip wheel -q --no-build-isolation --no-deps -C build-dir=build/editable -w dist .
	$(PYTHON) -m venv build/wheel-check
	build/wheel-check/bin/pip install -q dist/*.whl
	cd build/wheel-check && bin/facula info && bin/python -c "import facula; \
	  facula.ones(3, 3, requires_grad=True).matmul(facula.ones(3, 3)).sum().backward()"

clean:
	rm -rf build dist .venv .venv-parity .venv-programs .venv-fuzz .venv-asan .venv-site facula/_core.pyi results

%/ready-to-build: pyproject.toml
	$(PYTHON) -m venv $*
	$*/bin/pip install -q $(BUILD_REQUIRES)
	touch $@

# Packages are installed while the core is compiled.
.venv/built: .venv/ready-to-build $(CORE)
	@echo 'Building the core: minutes the first time, seconds after a change.'
	.venv/bin/python tools/extras.py demo test lint > .venv/extras
	.venv/bin/pip install -q --no-compile -r .venv/extras & packages=$$!; \
	  .venv/bin/pip install -q --no-build-isolation --no-deps -e . && wait $$packages
	touch $@

# The environment of .venv with PyTorch on top, so that the core is not built a second time.
.venv-parity/ready: Makefile | .venv/built
	$(PYTHON) -m venv .venv-parity
	.venv-parity/bin/pip install -q $(TORCH) numpy pycocotools pytest-xdist safetensors "scikit-learn>=1.6"
	.venv-parity/bin/pip install -q --no-deps $(TORCHVISION)
	echo "import site; site.addsitedir('$(SITE)')" > $$(echo .venv-parity/lib/python3*/site-packages)/facula.pth
	touch $@

# Without what the packages depend on: that would be PyTorch. The file lists the rest by name.
.venv-programs/ready: Makefile tests/packages/requirements.txt | .venv/built
	$(PYTHON) -m venv .venv-programs
	.venv-programs/bin/pip install -q --no-deps -r tests/packages/requirements.txt
	echo "import site; site.addsitedir('$(SITE)')" > $$(echo .venv-programs/lib/python3*/site-packages)/facula.pth
	touch $@

.venv-fuzz/ready: Makefile | .venv/built
	$(PYTHON) -m venv .venv-fuzz
	.venv-fuzz/bin/pip install -q atheris==3.0.0 numpy
	touch $@

.venv-site/ready: Makefile
	$(PYTHON) -m venv .venv-site
	.venv-site/bin/pip install -q $(MKDOCS)
	touch $@

# Debian's Python for aarch64, unpacked, with the wheels of that machine. apt has folders of its own here, so that this
# machine gets two tools and nothing else. The processor is one without SVE, which OpenBLAS would use.
AARCH64 = $(CURDIR)/build/aarch64
APT_AARCH64 = apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= \
  -o Debug::NoLocking=1 -o Dir::State::status=/dev/null -o Dir::State::lists=$(AARCH64)/lists -o Dir::Cache=$(AARCH64)/apt
build/aarch64/ready: Makefile | .venv/ready-to-build
	type aarch64-linux-gnu-g++ qemu-aarch64-static >/dev/null || \
	  { $(AS_ROOT) apt-get -qq update && $(AS_ROOT) apt-get -qq -y --no-install-recommends install $(AARCH64_TOOLS); }
	rm -rf $(addprefix $(AARCH64)/,lists apt root site)
	mkdir -p $(addprefix $(AARCH64)/,lists/partial apt/archives/partial root)
	$(APT_AARCH64) update
	$(APT_AARCH64) -y --no-install-recommends --download-only install $(AARCH64_PACKAGES)
	for package in $(AARCH64)/apt/archives/*.deb; do dpkg-deb -x $$package $(AARCH64)/root; done
	echo '#!/bin/sh' > $(AARCH64)/python
	echo 'PYTHONPATH=$(AARCH64)/site exec qemu-aarch64-static -cpu cortex-a76 -L $(AARCH64)/root \
	  $(AARCH64)/root/usr/bin/python3 "$$@"' >> $(AARCH64)/python
	chmod +x $(AARCH64)/python
	.venv/bin/pip install -q --target $(AARCH64)/site --only-binary=:all: \
	  --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 \
	  --python-version $$($(AARCH64)/python -c 'import platform; print(platform.python_version())') \
	  $(filter "nanobind% "scipy-openblas32%,$(BUILD_REQUIRES)) numpy scipy pytest hypothesis
	touch $@

build/aarch64/built: build/aarch64/ready $(CORE)
	PATH=$(CURDIR)/.venv/bin:$$PATH cmake -S . -B $(AARCH64)/core -G Ninja -DCMAKE_BUILD_TYPE=Release \
	  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
	  -DPython_EXECUTABLE=$(AARCH64)/python -DPython_INCLUDE_DIR=$$(echo $(AARCH64)/root/usr/include/python3*) \
	  -DCMAKE_CXX_FLAGS='-idirafter $(AARCH64)/root/usr/include'
	PATH=$(CURDIR)/.venv/bin:$$PATH cmake --build $(AARCH64)/core
	touch $@

# The stub generator imports the sanitised module without a preload, hence verify_asan_link_order.
.venv-asan/built: .venv-asan/ready-to-build $(CORE)
	ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 \
	.venv-asan/bin/pip install -q --no-build-isolation -C build-dir=build/asan \
	  -C cmake.build-type=RelWithDebInfo -C cmake.define.FACULA_SANITIZE=ON -e '.[demo,test]'
	echo 'import functools, os, time; os.register_at_fork(before=functools.partial(time.sleep, 0.02))' \
	  > $$(echo .venv-asan/lib/python3*/site-packages)/fork_at_rest.pth
	touch $@
