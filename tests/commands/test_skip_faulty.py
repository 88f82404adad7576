"""`vdgi parse --skip-faulty`: faulty sentences are copied as they are and listed, all others are
parsed."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import tiny
from shell import ROOT, Vdgi
from wording import Wording

from dynet_vdgi.conllu import blocks as conllu_blocks

MALFORMED = ROOT / "tests" / "malformed"
GOOD = [part + "\n\n" for part in tiny.treebank(12, heads=True).strip("\n").split("\n\n")]

WHOLE = re.compile(r"file-(empty|only|git|gzip|utf16|old-mac)|line-of-bracket|comment-only-file")
"""Malformed files without a good sentence."""

NO_FAULT = {path.stem for kind in ("head", "tree") for path in MALFORMED.glob(f"{kind}-*.conllu")}
"""Heads are replaced, sound or not."""


def faulty_part(path: Path) -> bytes:
    """The faulty sentence of a malformed file, behind its good one."""
    return path.read_bytes().split(b"\n\n")[1].rstrip(b"\n") + b"\n\n"


FAULTY = {
    path.stem: faulty_part(path)
    for path in sorted(MALFORMED.iterdir())
    if not WHOLE.match(path.name)
}


def test_faulty_sentences_of_all_kinds_are_here() -> None:
    assert len(FAULTY) > 60


def bare(block: bytes) -> list[bytes]:
    """The lines of a sentence without HEAD and DEPREL."""
    rows = [line.split(b"\t") for line in block.rstrip(b"\n").split(b"\n")]
    return [b"\t".join(row[:6] + row[8:]) for row in rows]


def check_parsed(before: list[bytes], faulty: set[int], after: bytes) -> None:
    """The faulty sentences of a file are as they were, byte for byte, and all others have trees."""
    blocks, place = [], 0
    for number, block in enumerate(before):
        if number in faulty:
            assert after[place : place + len(block)] == block
            place += len(block)
            continue
        end = after.index(b"\n\n", place) + 2
        blocks.append(after[place:end])
        assert bare(blocks[-1]) == bare(block)
        heads = [row.split(b"\t")[6] for row in blocks[-1].split(b"\n") if row[:1].isdigit()]
        assert heads.count(b"0") == 1
        place = end
    assert place == len(after)


@pytest.mark.parametrize("name", sorted(FAULTY))
def test_a_faulty_sentence_of_every_kind_is_copied_and_listed(
    folder: Path, vdgi: Vdgi, name: str, wording: Wording
) -> None:
    parts = [part.encode() for part in GOOD]
    parts[5:5] = [FAULTY[name]]
    Path("a.conllu").write_bytes(b"".join(parts))
    result = vdgi("parse", "universal", "a.conllu", "-o", "out.conllu", "--skip-faulty")
    after = Path("out.conllu").read_bytes()
    if name in NO_FAULT:
        assert result.status == 0
        check_parsed(parts, set(), after)
        return
    assert result.status == 3, result.err
    check_parsed(parts, {5}, after)
    first = b"".join(parts[:5]).count(b"\n") + 1
    lines = [int(line) for line in re.findall(r"a\.conllu:(\d+): ", result.err)]
    assert len(lines) == 1
    assert first <= lines[0] <= first + FAULTY[name].count(b"\n")
    wording.lines(result.err, "copied")
    Path("out.conllu").unlink()
    assert vdgi("parse", "universal", "a.conllu", "-o", "out.conllu").status == 3
    assert not Path("out.conllu").exists()


def with_faults(seed: int) -> tuple[list[bytes], set[int]]:
    """Good sentences with some faulty ones of any kind among them, and the places of these."""
    numbers = random.Random(seed)
    parts, faulty = [], set()
    for _ in range(60):
        if numbers.random() < 0.15:
            faulty.add(len(parts))
            parts.append(FAULTY[numbers.choice(sorted({*FAULTY} - NO_FAULT))])
        else:
            parts.append(numbers.choice(GOOD).encode())
    return ([GOOD[0].encode(), *parts], {place + 1 for place in faulty})


@pytest.mark.parametrize("seed", range(20))
def test_many_faulty_sentences_are_copied_whatever_the_jobs(
    folder: Path, vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(conllu_blocks, "WINDOW", 2000)
    parts, faulty = with_faults(seed)
    Path("a.conllu").write_bytes(b"".join(parts))
    jobs = str(1 + seed % 2)
    result = vdgi(
        "parse", "universal", "a.conllu", "-o", "out.conllu", "--skip-faulty", "--jobs", jobs
    )
    assert result.status == (3 if faulty else 0)
    check_parsed(parts, faulty, Path("out.conllu").read_bytes())
    assert len(re.findall(r"a\.conllu:\d+: ", result.err)) == len(faulty)


def test_heads_that_are_kept_are_checked_and_tags_are_found_for_the_others_only(
    folder: Path, vdgi: Vdgi, wording: Wording
) -> None:
    tiny.write(Path("tagged.conllu"), 30)
    vdgi.good("tag", "train", "tagged.conllu", "-o", "my.tagger")
    without_tags = re.sub(r"(?m)^(\d+\t[^\t]*\t[^\t]*)\t[^\t]*", r"\1\t_", GOOD[1])
    cycle = "1\ta\t_\t_\t_\t_\t2\tdep\t_\t_\n2\tb\t_\t_\t_\t_\t1\tdep\t_\t_\n\n"
    odd = without_tags.encode().replace(b"1\t", b"1\t\xff", 1)
    parts = [
        GOOD[0].encode(),
        cycle.encode(),
        without_tags.encode(),
        odd,
        GOOD[2].encode(),
        odd,
        cycle.encode(),
    ]
    Path("a.conllu").write_bytes(b"".join(parts))
    options = ["--tagger", "my.tagger", "--keep-heads", "--skip-faulty", "--confidence"]
    result = vdgi("parse", "universal", "a.conllu", "-o", "out.conllu", *options)
    after = Path("out.conllu").read_bytes().split(b"\n\n")
    assert result.status == 3
    wording.lines(result.err, "copied")
    assert [after[k] + b"\n\n" for k in (1, 3, 5, 6)] == [cycle.encode(), odd, odd, cycle.encode()]
    assert all(row.split(b"\t")[3] != b"_" for row in after[2].split(b"\n") if row[:1].isdigit())


def test_sound_files_are_parsed_as_without_the_option(folder: Path, vdgi: Vdgi) -> None:
    tiny.write(Path("a.conllu"), 30)
    for number, option in enumerate((["--skip-faulty"], [])):
        vdgi.good("parse", "universal", "a.conllu", "-o", f"{number}.conllu", *option)
    assert Path("0.conllu").read_bytes() == Path("1.conllu").read_bytes()


def test_a_file_of_which_every_sentence_is_faulty_is_refused(folder: Path, vdgi: Vdgi) -> None:
    Path("a.conllu").write_bytes(FAULTY["columns-nine"] * 3)
    result = vdgi("parse", "universal", "a.conllu", "-o", "out.conllu", "--skip-faulty")
    assert (result.status, Path("out.conllu").exists()) == (3, False)


@pytest.mark.parametrize(
    "content", ["# a\n1\tx\t_\tX\t_\t_\t_\t_\t_\t_\n\n".encode("utf-16"), b"\x1f\x8bxyz\n", b""]
)
def test_what_is_no_text_is_refused_as_a_whole(folder: Path, vdgi: Vdgi, content: bytes) -> None:
    Path("a.conllu").write_bytes(content)
    result = vdgi("parse", "universal", "a.conllu", "-o", "out.conllu", "--skip-faulty")
    assert (result.status, Path("out.conllu").exists()) == (3, False)
