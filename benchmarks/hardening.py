"""Hostile inputs: exit status, seconds and peak memory of the whole command, for docs/results/hardening.md.

    python benchmarks/hardening.py > after.md                        # with this checkout
    python benchmarks/hardening.py --code OTHER > before.md          # with another one, to compare
    python benchmarks/hardening.py --join before.md after.md         # both in one table

A command is stopped after 60 seconds or at 3 GB. Inputs are made in a temporary folder; the models are
trained with this checkout on the demo treebank. Memory is the process's, sampled ten times a second.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measuring import argument_parser, conditions

ROOT = Path(__file__).resolve().parents[1]
SECONDS, MEGABYTES = 60, 3000
WORD = "{}\tw\t_\t{}\t_\t_\t{}\t{}\t_\t_"
DEMO = ROOT / "resources" / "demo"


def sentence(heads: list[int], tag: str = "NOUN") -> str:
    """A sentence with these heads."""
    lines = [WORD.format(i, tag, head, "dep" if head else "root") for i, head in enumerate(heads, 1)]
    return "\n".join(lines) + "\n\n"


def tagged(n_tags: int) -> str:
    """This many tags, each in sentences of three words."""
    return "".join(sentence([2, 0, 2], f"T{k}") for k in range(n_tags))


def colliding(number: int) -> list[str]:
    """Words of eight characters (ASCII) that the hash of commit d0581ef, without a secret, put into one slot.

    The words are found by inverting its last steps from hashes whose bits 20 to 36 are 0.
    """
    rng, found = np.random.default_rng(0), np.zeros(0, np.uint64)
    while len(found) < number:
        codes = rng.integers(0, 1 << 63, 1 << 20, dtype=np.uint64) * np.uint64(2)
        codes &= ~np.uint64((1 << 37) - (1 << 20))
        codes ^= codes >> np.uint64(29) ^ codes >> np.uint64(58)
        words = codes * np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64)) ^ np.uint64(8)
        octets = words.view(np.uint8).reshape(-1, 8)
        found = np.unique(np.concatenate([found, words[((octets > 32) & (octets < 127)).all(axis=1)]]))
    return [word.tobytes().decode() for word in found[:number]]


def colliding_sentence(word: str) -> str:
    """A sentence of one word."""
    return sentence([0]).replace("\tw\t", f"\t{word}\t")


def zipped(path: Path, member: str, content: bytes, times: int, model: Path) -> None:
    """A model file with one member replaced by as many copies of some bytes."""
    with zipfile.ZipFile(model) as whole, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in whole.namelist():
            if name != member:
                archive.writestr(name, whole.read(name))
        with archive.open(member, "w", force_zip64=True) as handle:
            for _ in range(times):
                handle.write(content)


def make_inputs(folder: Path, python: list[str]) -> None:
    """The small inputs, and two models."""
    text = str(DEMO / "demo-ud-train.conllu")
    neural = ["--preset", "demo", "--set", "train.updates=20"]
    for name, options in {"best": ["--preset", "best"], "neural": neural}.items():
        command = [*python, "-q", "train", "--train", text, "--out", str(folder / name), *options]
        subprocess.run(command, check=True, cwd=folder, env=environment(ROOT))
    n = 50_000
    shapes = {
        "chain": [*range(2, n + 1), 0],
        "star": [0, *[1] * (n - 1)],
        "crossing": [0, 1, *(i - 2 for i in range(3, 20_001))],
    }
    for name, heads in shapes.items():
        (folder / f"{name}.conllu").write_text(sentence(heads), encoding="utf-8")
    (folder / "long.conllu").write_text(sentence([*range(2, 10_001), 0]), encoding="utf-8")
    (folder / "gold.conllu").write_text(sentence([2, 0, 2]) * 60, encoding="utf-8")
    (folder / "form.conllu").write_text(
        sentence([0]).replace("\tw\t", f"\t{'w' * 1_000_000}\t"), encoding="utf-8"
    )
    with zipfile.ZipFile(folder / "neural" / "model.vdgi") as archive:
        weights = archive.read("parameters.npz")
    with np.load(io.BytesIO(weights)) as stored:
        arrays = {name: a * np.nan if a.dtype.kind == "f" else a for name, a in stored.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    zipped(folder / "nan.vdgi", "parameters.npz", buffer.getvalue(), 1, folder / "neural" / "model.vdgi")
    dots = "a" + ".a" * 40_000 + " = 1\n"
    (folder / "dots.toml").write_text(f'base = "best"\n{dots}', encoding="utf-8")
    zipped(folder / "dots.vdgi", "settings.toml", dots.encode(), 1, folder / "best" / "model.vdgi")
    (folder / "collide.conllu").write_text(
        "".join(map(colliding_sentence, colliding(60_000))), encoding="utf-8"
    )
    lines = "".join(f"T{k} NOUN 1\n" for k in range(20_000))
    (folder / "tags.txt").write_text(f"ROOT VERB 1\n{lines}", encoding="utf-8")
    for number in (3_000, 10_000, 100_000):
        (folder / f"tags{number}.conllu").write_text(tagged(number), encoding="utf-8")


def make_large_inputs(folder: Path) -> None:
    """The inputs of hundreds of megabytes, or that unpack to this size."""
    (folder / "comments.conllu").write_text("# c\n" * 3_000_000, encoding="utf-8")
    with gzip.open(folder / "line.conllu.gz", "wb", compresslevel=6) as handle:
        for _ in range(2000):
            handle.write(bytes(1_000_000))
    with gzip.open(folder / "sound.conllu.gz", "wb", compresslevel=6) as handle:
        block = (sentence([2, 0, 2]) * 3000).encode()
        for _ in range(2000):
            handle.write(block)
    (folder / "wsj").mkdir()
    (folder / "wsj" / "wsj_0001.mrg").write_text("(S (NP (NN a)) " * 20_000_000, encoding="utf-8")
    for name in ("rules.txt", "preset.toml", "plan.toml"):
        (folder / name).write_text("# " + "x" * 300_000_000, encoding="utf-8")
    model = folder / "neural" / "model.vdgi"
    zipped(folder / "bomb.vdgi", "parameters.npz", bytes(1_000_000), 3000, model)
    zipped(folder / "json.vdgi", "vocabulary.json", b"[" * 1_000_000, 1000, model)


LARGE = ("comments.", "line.", "sound.", "rules.", "preset.", "plan.", "wsj", "bomb.", "json.")
"""Their names."""

CASES: dict[str, str] = {
    "check /dev/zero": "check /dev/zero",
    "parse /dev/zero": "parse best /dev/zero",
    "check: gz of 2 GB in one line": "check line.conllu.gz",
    "check: 3,000,000 lines of comment": "check comments.conllu",
    "parse: gz of 6,000,000 sound sentences": "parse best sound.conllu.gz -o out.conllu",
    "rules of 300 MB": "check gold.conllu --rules rules.txt",
    "preset of 300 MB": "train --train gold.conllu --preset preset.toml --out o1",
    "vectors /dev/zero": "train --train gold.conllu LEXICALISED vectors=/dev/zero --out o2",
    "clusters /dev/zero": "train --train gold.conllu LEXICALISED clusters=/dev/zero --out o3",
    "train: 3,000 tags": "train --train tags3000.conllu --out o4",
    "train: 100,000 tags": "train --train tags100000.conllu --out o5",
    "parse: 50,000 words, chain": "parse best chain.conllu -o out.conllu",
    "parse: 50,000 words, star": "parse best star.conllu -o out.conllu",
    "check: 20,000 crossing arcs": "check crossing.conllu",
    "parse: 10,000 words": "parse best long.conllu -o out.conllu",
    "draw: form of 1,000,000 letters": "draw form.conllu -o out.svg",
    "draw as text: form of 1,000,000 letters": "draw form.conllu",
    "model that unpacks to 3 GB": "info bomb.vdgi",
    "model with 1 GB of JSON": "info json.vdgi",
    "train.lr=1e300": "train --train gold.conllu NEURAL --set train.lr=1e300 --out o6",
    "output is the gold file": "parse best gold.conllu -o {}.conllu",
    "output is the model": "parse best gold.conllu -o best/model.vdgi",
    "output without a name": "parse best gold.conllu -o ",
    "output on a full disk": "parse best gold.conllu -o /dev/full",
    "gold = parse = FIFO": "evaluate fifo fifo",
    "train from a FIFO": "train --train fifo --out o7",
    "-o /dev/stdout >> FILE": "parse best gold.conllu -o /dev/stdout",
    "plan of 300 MB": "experiment plan.toml --out o8",
    "Penn tree of 300 MB": "convert wsj wsj -o out.conllu",
    "weights that are no numbers": "parse nan.vdgi gold.conllu -o out.conllu",
    "parse: --seed -1": "parse neural gold.conllu --probs --seed -1 -o out.conllu",
    "train: --out without a name": "train --train gold.conllu --out ",
    "train: --out is a file": "train --train gold.conllu --out gold.conllu",
    "files of 10 kB at most: parse": "parse best long.conllu -o out.conllu",
    "files of 1 kB at most: train": "train --train gold.conllu --out o9",
    "200 MB of memory at most: train": "train --train gold.conllu --out o9",
    "evaluate: 60,000 words that collide": "evaluate collide.conllu collide.conllu",
    "preset with a key of 40,000 parts": "train --train gold.conllu --preset dots.toml --out o1 --dry-run",
    "model with such a key": "parse dots.vdgi gold.conllu",
    "model is /dev/zero": "info /dev/zero",
    "model is a FIFO": "info fifo",
    "rules of 20,000 tags": "train --train gold.conllu --rules tags.txt --out o1 --dry-run",
    "check: 10,000 tags": "check tags10000.conllu",
    "scheduler that is not there": "parse best gold.conllu --scheduler tcp://127.0.0.1:1",
}

UNDER = {"files of 10 kB": "ulimit -f 10", "files of 1 kB": "ulimit -f 1", "200 MB": "ulimit -v 200000"}
"""Prefixes of cases' names, and the shell commands before the case's command."""

SHORT = {
    "LEXICALISED ": "--preset lexicalised --set words.",
    "NEURAL": "--preset demo --set train.updates=9",
}


def environment(code: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(code), "OPENBLAS_NUM_THREADS": "1"}


def measured(command: list[str], folder: Path, code: Path, out: Path) -> tuple[str, float, float, str]:
    """Status (or why it was stopped), seconds, peak MB, last line of the messages."""
    start, stopped = time.monotonic(), ""
    seen: list[tuple[float, float]] = []  # seconds, megabytes
    with open(out, "ab") as output, open(folder / "messages", "w+b") as messages:
        process = subprocess.Popen(
            command, cwd=folder, env=environment(code), stdin=subprocess.DEVNULL, stdout=output,
            stderr=messages, start_new_session=True,
        )  # fmt: skip
        while process.poll() is None:
            seen += [(time.monotonic() - start, size) for size in resident(process.pid)]
            late, peak = time.monotonic() - start > SECONDS, max(size for _, size in seen)
            if late or peak > MEGABYTES:
                stopped = "stopped: " + ("time" if late else "memory")
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            time.sleep(0.1)
        messages.seek(0)
        lines = messages.read().decode(errors="replace").split("\n")
    said = [line for line in lines if line.strip()] or [over_time(seen)]
    status = stopped or str(process.returncode)
    return status, time.monotonic() - start, max(size for _, size in seen), said[-1]


def over_time(seen: list[tuple[float, float]]) -> str:
    """The peak megabytes in each third of a long command, to see whether memory grows."""
    end = seen[-1][0]
    if end < 5:
        return ""
    thirds = [[size for at, size in seen if k <= 3 * at / end <= k + 1] for k in range(3)]
    return f"memory by thirds of the time: {', '.join(f'{max(third):.0f}' for third in thirds)} MB"


def resident(process: int) -> Iterator[float]:
    """Megabytes of a process."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as handle:
            yield int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, IndexError):
        return


def joined(before: Path, after: Path) -> str:
    """Joins two tables into one."""
    old, new = ({row[0]: row[1:] for row in rows(path)} for path in (before, after))
    lines = ["| case | before: status, s, MB | after: status, s, MB | what it says |", "|---|---|---|---|"]
    for case, (*figures, said) in new.items():
        *figures_before, said_before = old.get(case, ["-", "-", "-", ""])
        found = [part for part in said_before.split("**")[1:2] if part]
        cell = ", ".join([*figures_before, *found])
        lines.append(f"| {case} | {cell} | {', '.join(figures)} | {said} |")
    return "\n".join(lines)


def rows(path: Path) -> list[list[str]]:
    """The cells of a table, without its header."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def main() -> None:
    """Prints a table of the cases."""
    parser = argument_parser(__doc__)
    parser.add_argument("--code", type=Path, default=ROOT, help="the checkout to try")
    parser.add_argument("--only", nargs="+", default=[], help="cases whose name has one of these in it")
    parser.add_argument("--join", type=Path, nargs=2, metavar="TABLE", help="print two tables as one")
    arguments = parser.parse_args()
    if arguments.join:
        print(joined(*arguments.join))
        return
    python = [sys.executable, "-m", "dynet_vdgi"]
    print(conditions())
    print("\n| case | exit status | s | peak MB | what it says |\n|---|---|---:|---:|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_inputs(folder, python)
        wanted = {
            case: line
            for case, line in CASES.items()
            if not arguments.only or any(part in case for part in arguments.only)
        }
        if any(name in line for line in wanted.values() for name in LARGE):
            make_large_inputs(folder)
        os.mkfifo(folder / "fifo")
        keep = {path: path.read_bytes() for path in (folder / "gold.conllu", folder / "best" / "model.vdgi")}
        for case, line in wanted.items():
            out = folder / "stdout"
            out.write_bytes(b"before\n" if ">>" in case else b"")
            for short, long in SHORT.items():
                line = line.replace(short, long)
            words = line.split(" ")
            limit = next((limit for start, limit in UNDER.items() if case.startswith(start)), ":")
            command = ["sh", "-c", f'{limit}; exec "$@"', "sh", *python, "-q", *words]
            status, seconds, peak, said = measured(command, folder, arguments.code.resolve(), out)
            if any(path.read_bytes() != content for path, content in keep.items()):
                said = "**the file is overwritten** " + said
            if ">>" in case and not out.read_bytes().startswith(b"before\n"):
                said = "**what the file held is lost** " + said
            for path, content in keep.items():
                path.write_bytes(content)
            print(
                f"| {case} | {status} | {seconds:.1f} | {peak:.0f} | {said[:150].replace('|', '/')} |",
                flush=True,
            )
            for path in folder.glob("o[0-9]"):
                shutil.rmtree(path)


if __name__ == "__main__":
    main()
