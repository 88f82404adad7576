"""From tagged words to a release: trees made in the real page of `vdgi annotate`, and what `vdgi release` makes of it.

    python benchmarks/release.py --code gd --sentences 60 gd_arcosg-ud-dev.conllu --out releases

A script drives the page in Chromium through Playwright, as benchmarks/annotate_keys.py does, until the first
sentences have the gold heads and relations, punctuation included. Their other columns are given, DEPS is not. Then
`vdgi release` runs on that file, whose journal is beside it, and says what UD's own validator says (extra
`validate`); it runs again, and the bytes of all files are compared. Everything is kept in the folder of --out.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from annotate_keys import bare, corrected, opened, wait_for
from measuring import VDGI, argument_parser, conditions

from dynet_vdgi.conllu.reading import read

NO_LESSON = 10_000


def annotated(path: Path, own: Path, count: int) -> int:
    """Makes the trees of the first sentences in the page of a file; returns the number of words."""
    gold = list(read(path, heads="required"))[:count]
    own.write_text("\n\n".join(bare(path).split("\n\n")[:count]) + "\n\n", encoding="utf-8")
    with opened(own, NO_LESSON, "universal-trees") as driver:
        for sentence in gold:
            number = driver.shown()["number"]
            corrected(driver, sentence, True)
            if number + 1 < len(gold):
                wait_for(lambda: driver.shown()["number"] != number)  # noqa: B023
    return sum(map(len, gold))


def contents(*folders: Path) -> dict[Path, bytes]:
    """All files in some folders."""
    return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def main() -> None:
    """Annotates, releases twice, and prints what came out."""
    parser = argument_parser(__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--code", required=True, help="the language's code in UD")
    parser.add_argument("--sentences", type=int, default=60)
    parser.add_argument("--out", type=Path, required=True, help="folder for the annotated file and the release")
    arguments = parser.parse_args()
    print(conditions())
    work, begin = arguments.out / arguments.code, time.perf_counter()
    work.mkdir(parents=True)
    own, release = work / "own.conllu", arguments.out / f"UD_{arguments.code}-Mine"
    n_words = annotated(arguments.file, own, arguments.sentences)
    print(f"{arguments.sentences} sentences, {n_words} words: {time.perf_counter() - begin:.0f} seconds in the page")
    before = contents(work)
    command = [*VDGI, "release", str(release), "--code", arguments.code, "--name", "Mine", str(own)]
    first: dict[Path, bytes] = {}
    for _ in range(2):
        first = contents(release)
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        print(f"{found.stderr}{found.stdout}exit status {found.returncode}")
    changed = [str(path) for path, content in contents(release).items() if first.get(path) != content]
    print(f"changed by the second run: {changed or 'nothing'}; in the annotated files: {contents(work) != before}")


if __name__ == "__main__":
    main()
