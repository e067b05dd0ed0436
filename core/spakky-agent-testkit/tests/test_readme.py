"""The samples in the README do what the README says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def run(*arguments: str) -> str:
    """Run Python; gives what it wrote."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def samples(tmp_path: Path) -> list[Path]:
    found = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    paths = [tmp_path / f"test_sample_{number}.py" for number in range(len(found))]
    for path, code in zip(paths, found, strict=True):
        path.write_text(code, encoding="utf-8")
    return paths


@pytest.mark.requirement("DX-3")
def test_the_samples_run(samples: list[Path]) -> None:
    suite, script, matrix = samples
    options = ("-o", "asyncio_mode=auto", "-p", "no:cacheprovider", "--rootdir", str(suite.parent))
    assert "passed" in run("-m", "pytest", "-q", *options, str(suite))
    assert run(str(script)).splitlines() == [
        "Let me look. workspace.read",
        "token_delta",
        "done",
    ]
    assert run(str(matrix)).splitlines() == [
        "before the effect []",
        "after the effect ['effect']",
        "None ['effect']",
    ]
