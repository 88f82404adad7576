"""Model files: what is saved comes back, and nothing else is ever taken for a model."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from shell import Vdgi, last_line, training_arguments
from tiny import same_arrays
from wording import Wording

from dynet_vdgi.conllu.vocabulary import Vocabulary
from dynet_vdgi.errors import ModelError
from dynet_vdgi.models import archive as archive_module
from dynet_vdgi.models import model_file
from dynet_vdgi.models.model_file import Amount, DataFile, ModelFile, Provenance
from dynet_vdgi.rule_tables.rules import parse_rules

_MEMBERS = (
    "meta.json settings.toml vocabulary.json rules.txt parameters.npz training.npz progress.json"
)
MEMBERS = tuple(_MEMBERS.split())
RULES = "# mine\nNOUN = NOUN PROPN\nROOT VERB 0.5\nVERB NOUN 1e-3\n"


def a_model() -> ModelFile:
    rng = np.random.default_rng(0)
    return ModelFile(
        provenance=Provenance(
            version="0.2.0",
            data=(DataFile("train", "š.conllu", 64 * "0"),),
            languages={"fr": Amount(3, 17)},
            gold_trees=("dev: choice of the model",),
            dev_dda=0.1 + 0.2,
        ),
        settings=tiny.settings({"rules": "meine Regeln/ä.txt", "train": {"lr": 1 / 3}}),
        vocabulary=Vocabulary(("ADJ", "NOUN", "VERB"), ("und", "das", "Über"), lowercase=False),
        rules=parse_rules(RULES),
        parameters={
            "encoder/bias": np.array([0.0, -0.0, 1e-45, 3e38], dtype=np.float32),
            "encoder/tags": rng.normal(size=(4, 6)).astype(np.float32),
        },
        training={
            "updates": np.array(17),
            "value:encoder/bias": rng.normal(size=4).astype(np.float32),
        },
        progress={"update": 17, "seed": 1, "best_score": 0.1 + 0.2},
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    model_file.save(tmp_path / "model.vdgi", a_model())
    return tmp_path / "model.vdgi"


def rewritten(path: Path, **changes: bytes | None) -> Path:
    """A copy with some members replaced, or left out (None); the checksums are right."""
    with zipfile.ZipFile(path) as archive:
        members: dict[str, bytes | None] = {name: archive.read(name) for name in archive.namelist()}
    members.update({name.replace("_", "."): content for name, content in changes.items()})
    copy = path.with_name("changed.vdgi")
    with zipfile.ZipFile(copy, "w") as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)
    return copy


def message_of(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        model_file.load(path, training=True)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message[len(f"{path}: ") :]


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


# There and back


def test_everything_comes_back(saved: Path) -> None:
    model, loaded = a_model(), model_file.load(saved, training=True)
    assert loaded.provenance == model.provenance
    assert loaded.meta == model.meta
    assert loaded.settings == model.settings
    assert loaded.vocabulary == model.vocabulary
    assert loaded.rules == model.rules
    assert loaded.rules.text == RULES
    assert loaded.progress == model.progress
    assert same_arrays(loaded.parameters, model.parameters)
    assert same_arrays(loaded.training, model.training)


def test_saved_again_the_bytes_are_the_same(saved: Path) -> None:
    before = saved.read_bytes()
    model_file.save(saved, model_file.load(saved, training=True))
    assert saved.read_bytes() == before
    model_file.save(saved, a_model())
    assert hashlib.sha256(saved.read_bytes()).digest() == hashlib.sha256(before).digest()


@pytest.mark.parametrize("kind", ["neural", "perceptron"])
def test_equal_runs_make_equal_files(
    kind: str, vdgi: Vdgi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    made = []
    for name in "ab":
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        arguments = training_arguments("run")
        vdgi.good(*(arguments if kind == "neural" else arguments[:5]))
        made.append(Path("run", "model.vdgi").read_bytes())
    assert made[0] == made[1]
    assert model_file.load(Path("run", "model.vdgi")).meta["created"] == "1970-01-02T00:00:00Z"


@pytest.mark.parametrize(
    "epoch", ["99999999999999999999", "253402300800", "-1", "1.5", "yesterday", "\u0663"]
)
def test_a_time_that_cannot_be_written_is_refused_before_training(
    vdgi: Vdgi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epoch: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    monkeypatch.chdir(tmp_path)
    found = vdgi(*training_arguments("run")[:5])
    message = f"SOURCE_DATE_EPOCH={epoch!r} in the environment (expected: seconds since 1970"
    assert (found.status, message in found.err) == (4, True), found.err
    assert not Path("run", "model.vdgi").exists()


def test_the_last_second_of_the_year_9999_is_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(model_file.LAST_SECOND))
    assert model_file.Provenance.now().created == "9999-12-31T23:59:59Z"


def test_it_is_a_zip_of_plain_data_without_pickles(saved: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        assert archive.testzip() is None
        assert tuple(archive.namelist()) == MEMBERS
        contents = {name: archive.read(name) for name in archive.namelist()}
    assert json.loads(contents["meta.json"])["data"][0]["name"] == "š.conllu"
    assert "š.conllu".encode() in contents["meta.json"]  # readable without this program
    assert contents["rules.txt"].decode() == RULES
    for name in ("parameters.npz", "training.npz"):
        with zipfile.ZipFile(io.BytesIO(contents[name])) as archive:
            for member in archive.namelist():
                content = archive.read(member)
                assert content.startswith(b"\x93NUMPY")
                assert b"|O" not in content[:128]
                with pytest.raises((pickle.UnpicklingError, ValueError, EOFError)):
                    pickle.loads(content)


KINDS = "none, dmv, universal, rf, convex-mst, hdp-dep, lc-dmv"


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ("[parser]\nunknown = 0.03\n", "no key 'parser.unknown'"),
        (
            '[teacher]\nkind = "ndmv"\nepochs = 3\n',
            f"'teacher.kind' must be one of {KINDS}, not 'ndmv'; did you mean 'dmv'?",
        ),
        (
            '[teacher]\nkind = "hdp-dmv"\nshare = 0.9\n',
            f"'teacher.kind' must be one of {KINDS}, not 'hdp-dmv'; did you mean 'hdp-dep'?",
        ),
    ],
)
def test_a_model_with_settings_that_are_gone_says_how_to_make_it_again(
    saved: Path, vdgi: Vdgi, section: str, reason: str, wording: Wording
) -> None:
    meta = {
        "format": 3,
        "version": "0.2",
        "recipe": "taught",
        "command": ["vdgi", "train", "--train", "a b"],
    }
    old = rewritten(
        saved,
        meta_json=json.dumps(meta).encode(),
        settings_toml=f'recipe = "taught"\n{section}'.encode(),
    )
    message = message_of(old)
    wording.check(message)
    assert vdgi("info", old) == (4, "", f"{old}: {message}\n")


# Writing is all or nothing


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_ends_half_way_leaves_the_old_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    before = saved.read_bytes()
    original, calls = zipfile.ZipFile.writestr, []

    def failing(archive: zipfile.ZipFile, *arguments: Any, **options: Any) -> None:
        calls.append(arguments)
        if len(calls) == 5:
            raise error
        original(archive, *arguments, **options)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", failing)
    with pytest.raises(type(error)):
        model_file.save(saved, a_model())
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.vdgi"]


# Reading anything else


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"1\tword\n", b"\x1f\x8b\x08\x00", b"\x80\x04N.", b"\0" * 1000]
)
def test_not_a_zip(tmp_path: Path, content: bytes, wording: Wording) -> None:
    path = tmp_path / "model.vdgi"
    path.write_bytes(content)
    wording.check(message_of(path))


def test_truncated_at_any_length(saved: Path) -> None:
    content = saved.read_bytes()
    for length in [*range(0, len(content), 97), *range(len(content) - 30, len(content))]:
        saved.write_bytes(content[:length])
        assert "damaged" in message_of(saved), length


def test_flipped_bits_are_noticed_or_do_not_matter(saved: Path) -> None:
    content, rng = saved.read_bytes(), random.Random(0)
    noticed = 0
    for _ in range(200):
        changed = bytearray(content)
        for _ in range(rng.choice([1, 8])):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        saved.write_bytes(changed)
        try:
            loaded = model_file.load(saved, training=True)
        except ModelError:
            noticed += 1
        else:
            assert same_arrays(loaded.parameters, a_model().parameters)
    assert noticed > 150


@pytest.mark.parametrize("name", MEMBERS)
def test_missing_member(saved: Path, name: str, wording: Wording) -> None:
    path = rewritten(saved, **{name.replace(".", "_"): None})
    message = message_of(path)
    wording.check(message)
    assert name in message


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        (
            {"format": 4},
            "model format 4 is newer than this program's (3); update dynet_vdgi to use it",
        ),
        (
            {"format": 1},
            "model format 1 is of version 0.1; train it again, or use it with version 0.1",
        ),
        (
            {"format": 2},
            "model format 2 is of version 0.1; train it again, or use it with version 0.1",
        ),
        *(
            (meta, "not a vdgi model file (its meta.json names no format)")
            for meta in ([], {}, 3, {"format": "1"}, {"format": None}, {"format": 1.5})
        ),
    ],
)
def test_other_formats(saved: Path, meta: Any, message: str) -> None:
    assert message_of(rewritten(saved, meta_json=json.dumps(meta).encode())) == message


def npy_claiming(shape: tuple[int, ...]) -> bytes:
    """An NPZ whose array is far larger, by its own account, than the file."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    buffer = io.BytesIO(npz(names=np.array(["x"])))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("a0.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    return buffer.getvalue()


DAMAGED: dict[str, Callable[[], dict[str, bytes]]] = {
    "meta: not JSON": lambda: {"meta_json": b"{"},
    "meta: not UTF-8": lambda: {"meta_json": b"\xff"},
    "meta: nested without end": lambda: {"meta_json": b"[" * 100_000},
    "vocabulary: not JSON": lambda: {"vocabulary_json": b"tags"},
    "vocabulary: a list": lambda: {"vocabulary_json": b"[]"},
    "vocabulary: null": lambda: {"vocabulary_json": b"null"},
    "vocabulary: tags are a number": lambda: {
        "vocabulary_json": b'{"tags": 1, "words": [], "lowercase": true}'
    },
    "progress: not JSON": lambda: {"progress_json": b""},
    "settings: not TOML": lambda: {"settings_toml": b"[train"},
    "settings: unknown key": lambda: {"settings_toml": b"[train]\nspeed = 1\n"},
    "settings: out of bounds": lambda: {"settings_toml": b"[train]\nepochs = -1\n"},
    "settings: not UTF-8": lambda: {"settings_toml": b"\xff"},
    "rules: empty": lambda: {"rules_txt": b""},
    "rules: malformed": lambda: {"rules_txt": b"ROOT VERB\n"},
    "arrays: empty": lambda: {"parameters_npz": b""},
    "arrays: not a zip": lambda: {"parameters_npz": b"weights"},
    "arrays: a pickle": lambda: {"parameters_npz": pickle.dumps([1, 2])},
    "arrays: one, not several": lambda: {"parameters_npz": single_npy()},
    "arrays: no names": lambda: {"parameters_npz": npz(a0=np.zeros(3))},
    "arrays: names are not a list": lambda: {
        "parameters_npz": npz(names=np.array(1), a0=np.zeros(3))
    },
    "arrays: one too few": lambda: {
        "parameters_npz": npz(names=np.array(["x", "y"]), a0=np.zeros(3))
    },
    "arrays: cut": lambda: {"parameters_npz": npz(names=np.array(["x"]), a0=np.zeros(300))[:-500]},
    "arrays: too large": lambda: {"parameters_npz": npy_claiming((10**9, 10**9))},
    "vocabulary: nested": lambda: {"vocabulary_json": vocabulary(tags=[["NOUN"]])},
    "vocabulary: a dictionary": lambda: {"vocabulary_json": vocabulary(words={"a": 1})},
    "vocabulary: a tag twice": lambda: {"vocabulary_json": vocabulary(tags=["NOUN", "NOUN"])},
    "vocabulary: too few classes": lambda: {
        "vocabulary_json": vocabulary(words=["a"], classes=[0])
    },
    "meta: languages are a list": lambda: {
        "meta_json": b'{"format": 3, "recipe": "taught", "languages": [1]}'
    },
    "meta: a command of numbers": lambda: {
        "meta_json": b'{"format": 3, "recipe": "taught", "command": [1]}'
    },
    "progress: a list": lambda: {"progress_json": b'{"update": [1]}'},
    "arrays: texts": lambda: {"parameters_npz": npz(names=np.array(["x"]), a0=np.array(["y"]))},
    "arrays: dates": lambda: {
        "parameters_npz": npz(names=np.array(["x"]), a0=np.zeros(3, "M8[s]"))
    },
    "arrays: records": lambda: {
        "parameters_npz": npz(names=np.array(["x"]), a0=np.zeros(3, "f4,i4"))
    },
    "arrays: not a number": lambda: {
        "parameters_npz": npz(names=np.array(["x"]), a0=np.array([np.nan]))
    },
    "arrays: infinite": lambda: {"training_npz": npz(names=np.array(["x"]), a0=np.array([np.inf]))},
    "arrays: bytes that are none": lambda: {"parameters_npz": npz_with("a0.npy", b"3 numbers")},
    "training: a pickle": lambda: {"training_npz": pickle.dumps({})},
}


def vocabulary(**changes: Any) -> bytes:
    return json.dumps({**a_model().vocabulary.to_json(), **changes}).encode()


def npz_with(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO(npz(names=np.array(["x"])))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def single_npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_member(saved: Path, what: str) -> None:
    assert "damaged" in message_of(rewritten(saved, **DAMAGED[what]()))


@pytest.mark.parametrize("member", ["parameters.npz", "vocabulary.json", "inside"])
def test_what_unpacks_to_far_more_is_refused_before(
    saved: Path, member: str, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr(archive_module, "ALWAYS_FAIR", 100_000)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, names=np.array(["x"]), a0=np.zeros(100_000))
    path = rewritten(saved, parameters_npz=buffer.getvalue())
    if member != "inside":
        with (
            zipfile.ZipFile(saved) as whole,
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for name in whole.namelist():
                archive.writestr(name, bytes(1_000_000) if name == member else whole.read(name))
    wording.check(message_of(path))
    monkeypatch.setenv("VDGI_LIMITS", "model=1000")
    wording.check(message_of(path))


class Evil:
    """Leaves a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("member", ["parameters_npz", "training_npz"])
def test_objects_in_arrays_are_refused_and_never_run(
    saved: Path, tmp_path: Path, member: str, wording: Wording
) -> None:
    trap = tmp_path / "trap"
    content = npz(names=np.array(["x"]), a0=np.array([Evil(trap)], dtype=object))
    wording.check(message_of(rewritten(saved, **{member: content})))
    assert not trap.exists()


@pytest.mark.parametrize(
    "command",
    [
        "info MODEL",
        "parse MODEL train.conllu",
        "check train.conllu --rules run",
    ],
)
@pytest.mark.parametrize("is_pipe", [True, False])
def test_a_device_or_a_pipe_is_no_model(
    command: str, is_pipe: bool, vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    tiny.write(Path("train.conllu"))
    Path("run").mkdir()
    os.mkfifo("pipe")
    Path("run/model.vdgi").symlink_to("../pipe" if is_pipe else "/dev/zero")
    for name in ("run", "pipe" if is_pipe else "/dev/zero"):
        status, _, err = vdgi(*command.replace("MODEL", name).split())
        assert status == 4
        wording.check(last_line(err))
