"""Writes the first inputs of a fuzz run: the recorded answers of real servers, whole and cut small.

python plugins/spakky-vllm/fuzz/make_corpus.py FOLDER
"""

import sys
from pathlib import Path

CAPTURES = Path(__file__).resolve().parent.parent / "tests" / "captures"
_LONGEST = 8192


def main(folder: Path) -> None:
    """Write the inputs into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    bodies = (*CAPTURES.glob("*/*.sse"), *CAPTURES.glob("*/*.response.json"))
    for number, path in enumerate(sorted(bodies)):
        body = path.read_bytes()
        for size in (0, 7):
            # A long answer repeats itself; its beginning and its end hold all that is of interest.
            data = body if len(body) <= _LONGEST else body[: _LONGEST // 2] + body[-_LONGEST // 2 :]
            (folder / f"{number:03}-{size}").write_bytes(bytes((0, size)) + data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
