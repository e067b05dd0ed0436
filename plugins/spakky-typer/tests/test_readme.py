"""The program in the README does what the README says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "program.py"
    path.write_text(code, encoding="utf-8")
    return path


@pytest.mark.requirement("DX-3")
@pytest.mark.parametrize(
    ("args", "code", "stdout", "stderr"),
    [
        (("Seoul", "--loud"), 0, "SEOUL: SUNNY\n", ""),
        (("nowhere",), 3, "", "Error: There is no forecast for nowhere.\n"),
    ],
)
def test_the_program_runs(
    sample: Path, args: tuple[str, ...], code: int, stdout: str, stderr: str
) -> None:
    command = [sys.executable, str(sample), "weather", "show", *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, stdout, stderr)
