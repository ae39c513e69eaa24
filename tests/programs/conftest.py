import os
import subprocess
import sys
import textwrap

import pytest

collect_ignore_glob = ["era/*", "trainers/*"]  # programs, which the tests run; no modules to import


class Programs:
    """Writes programs into a folder, and runs them by ``facula run`` or by Python itself."""

    def __init__(self, folder):
        self.folder = folder
        self.env = dict(os.environ)

    def write(self, source, name="program.py"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return path

    def start(self, *words, before=("-m", "facula", "run"), stdin=""):
        """The finished process of ``facula run`` and these words."""
        return subprocess.run(
            [sys.executable, *before, *map(str, words)],
            cwd=self.folder,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def python(self, *words, stdin=""):
        """The finished process of ``python`` and these words."""
        return self.start(*words, before=(), stdin=stdin)

    def run(self, source, *arguments, options=()):
        """What the program printed; it must end well, and say nothing else."""
        done = self.start(*options, self.write(source), *arguments)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    def lines(self, source, *arguments):
        """The lines that the program printed."""
        return self.run(source, *arguments).splitlines()


@pytest.fixture
def programs(tmp_path):
    return Programs(tmp_path)
