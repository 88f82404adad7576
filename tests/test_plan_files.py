"""Where the files of a plan are looked for: named ones, and UD releases as they are unpacked."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import tiny
from shell import Vdgi, last_line

from dynet_vdgi.errors import UsageError
from dynet_vdgi.experiments.plan import Treebank
from dynet_vdgi.experiments.plan_files import PlanFolders, SourceFiles

FRENCH = Treebank(
    name="fr",
    published="UD1.4-French",
    releases=("UD_French/fr", "UD_French-GSD/fr_gsd"),
    train=("own/train.conllu",),
    test=("own/test.conllu",),
    dev=("own/dev.conllu",),
)


def release(folder: str, prefix: str, *parts: str) -> None:
    """Files of a treebank as UD releases it; parts such as `train.conllu`."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for part in parts or ("train.conllu", "dev.conllu", "test.conllu"):
        path = Path(folder, f"{prefix}-ud-{part}")
        if part.endswith(".gz"):
            path.write_bytes(gzip.compress(tiny.treebank().encode(), mtime=0))
        else:
            tiny.write(path)


def found(treebank: Treebank = FRENCH, *more: str) -> SourceFiles:
    return PlanFolders(("",)).treebank(treebank, *more)


def test_a_release_beside_others(folder: Path) -> None:
    release("UD_French-GSD", "fr_gsd")
    assert found().train == ("UD_French-GSD/fr_gsd-ud-train.conllu",)
    release("UD_French-Sequoia", "fr_sequoia")
    release("UD_French", "fr")
    assert found() == SourceFiles(
        train=("UD_French/fr-ud-train.conllu",),
        test=("UD_French/fr-ud-test.conllu",),
        dev=("UD_French/fr-ud-dev.conllu",),
    )


def test_the_release_that_the_published_figures_are_of(folder: Path) -> None:
    release("ud-treebanks-v2.9/UD_French-GSD", "fr_gsd")
    assert found().test == ("ud-treebanks-v2.9/UD_French-GSD/fr_gsd-ud-test.conllu",)
    release("ud-treebanks-v2.10/UD_French-GSD", "fr_gsd")
    assert found().test == ("ud-treebanks-v2.10/UD_French-GSD/fr_gsd-ud-test.conllu",)
    for version in ("1.3", "1.4", "2.1"):
        release(f"ud-treebanks-v{version}/UD_French", "fr")
    assert found().test == ("ud-treebanks-v1.4/UD_French/fr-ud-test.conllu",)


def test_a_release_in_several_parts_and_compressed(folder: Path) -> None:
    parts = ("train-a.conllu.gz", "train-b.conllu.gz", "test.conllu.gz")
    release("UD_French", "fr", *parts)
    files = found()
    assert files.train == tuple(f"UD_French/fr-ud-{part}" for part in parts[:2])
    assert files.test == ("UD_French/fr-ud-test.conllu.gz",)
    assert files.dev == ()


def test_all_files_are_of_one_source(folder: Path) -> None:
    """UD 2.0 came without test sets: they are not joined with the training text of another release."""
    release("UD_French", "fr", "train.conllu", "dev.conllu")
    release("own", "x", "test.conllu")
    with pytest.raises(UsageError, match="no files of treebank 'fr'"):
        found()
    for name in ("train", "test"):
        tiny.write(Path("own", f"{name}.conllu"))
    assert found() == SourceFiles(train=("own/train.conllu",), test=("own/test.conllu",))
    with pytest.raises(UsageError, match=r"no such file: '?own/dev\.conllu"):
        found(FRENCH, "dev")


def test_a_named_file_may_be_compressed(folder: Path) -> None:
    Path("a.conllu.gz").write_bytes(gzip.compress(tiny.treebank().encode(), mtime=0))
    named = Treebank(name="x", train=("a.conllu",), test=("a.conllu",))
    assert found(named).test == ("a.conllu.gz",)


def test_a_missing_treebank_is_told_with_all_that_was_looked_for(folder: Path, vdgi: Vdgi) -> None:
    Path("data").mkdir()
    command = ("experiment", "paper-ud", "--data", "data", "--out", "out", "--only", "fr", "best")
    status, out, err = vdgi(*command)
    assert (status, out) == (2, "")
    assert last_line(err) == (
        "treebank 'fr', system 'best': no files of treebank 'fr': looked for "
        "UD_French/fr-ud-train.conllu and -test, or UD_French-GSD/fr_gsd-ud-train.conllu and -test, or "
        "ud14_train_len15/fr-ud-train-nopunct-len15.conllu and ud14/fr-ud-test.conllu (or .gz), "
        "in data and in ud-treebanks-v* there; --data names the folder"
    )


def test_the_plan_of_the_paper_takes_a_release(folder: Path, vdgi: Vdgi) -> None:
    release("data/ud-treebanks-v1.4/UD_French", "fr")
    release("data/ud-treebanks-v1.4/UD_Basque", "eu")
    command = ("experiment", "paper-ud", "--data", "data", "--out", "out", "--seeds", "1", "--dry-run")
    listed = vdgi.good(*command, "--only", "fr", "eu", "best").out
    assert listed == "".join(
        f"{name}: new\n" for name in ("eu/baselines", "fr/baselines", "eu/best/1", "fr/best/1")
    )
