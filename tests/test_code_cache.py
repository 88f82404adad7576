"""Machine code is taken only from files and folders of this user's that nobody else can write to."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import pytest

from dynet_vdgi.compiled import code_cache, jit

NAME, CODE = "module.function-0123.object", b"\x7fELF and so on"
NOBODY = 65534

needs_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="chown is for root")


@pytest.fixture(params=["NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "TMPDIR", "package"])
def folder(request, tmp_path, monkeypatch):
    """Each of the folders that code is taken from, as the only one that there is."""
    place, other = tmp_path / "place", tmp_path / "file"
    place.mkdir()
    other.touch()
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(other))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(place if request.param == "TMPDIR" else other))
    is_package = request.param == "package"
    monkeypatch.setattr(
        code_cache, "__file__", str((place if is_package else other) / "compiled" / "code_cache.py")
    )
    if request.param.isupper():
        monkeypatch.setenv(request.param, str(place))
    assert code_cache.keep(NAME, CODE)
    (path,) = tmp_path.rglob(NAME)
    assert path.parent.stat().st_mode & 0o077 == 0 or path.parent == place
    assert code_cache.read(NAME) == CODE
    return path.parent


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o770, 0o720, 0o702])
def test_folders_that_others_can_write_to_are_not_used(mode, folder):
    folder.chmod(mode)
    assert code_cache.read(NAME) is None
    assert not code_cache.keep("other", CODE)
    assert [path.name for path in folder.iterdir()] == [NAME]


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_files_that_others_can_write_to_are_not_taken(mode, folder):
    (folder / NAME).chmod(mode)
    assert code_cache.read(NAME) is None


@needs_root
@pytest.mark.parametrize("is_folder", [True, False])
def test_what_belongs_to_somebody_else_is_not_taken(is_folder, folder):
    os.chown(folder if is_folder else folder / NAME, NOBODY, NOBODY)
    assert code_cache.read(NAME) is None


@needs_root
def test_code_that_somebody_else_left_in_a_shared_folder_is_not_taken(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr(code_cache, "folders", lambda: iter([shared]))
    assert code_cache.keep(NAME, CODE)
    os.chown(shared / NAME, NOBODY, NOBODY)
    for mode in (0o1777, 0o755):
        shared.chmod(mode)
        assert code_cache.read(NAME) is None


def test_only_regular_files_of_a_sane_size_are_taken(folder, monkeypatch):
    path = folder / NAME
    with monkeypatch.context() as patch:
        patch.setattr(code_cache, "MOST_BYTES", len(CODE))
        assert code_cache.read(NAME) is None
    path.rename(folder / "elsewhere")
    assert code_cache.read("elsewhere") is None  # its digest is of its name, too
    for make in (
        lambda: path.symlink_to(folder / "elsewhere"),
        lambda: path.symlink_to("/dev/zero"),
        lambda: path.symlink_to(path),
        lambda: os.mkfifo(path, 0o600),
        path.mkdir,
    ):
        make()
        assert code_cache.read(NAME) is None
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.mark.parametrize("change", [lambda b: b[:31], lambda b: b[:-1], lambda b: b + b"\0", lambda b: b""])
def test_damaged_files_are_not_taken(change, folder):
    (folder / NAME).write_bytes(change((folder / NAME).read_bytes()))
    assert code_cache.read(NAME) is None


def test_relative_names_of_folders_are_not_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folders = list(code_cache.folders())
    assert tmp_path / "home" / ".cache" / "dynet_vdgi" in folders
    assert all(folder.is_absolute() and tmp_path / "here" not in folder.parents for folder in folders)
    assert len(folders) == 3
    monkeypatch.setenv("HOME", "home")
    assert len(list(code_cache.folders())) == 2


def test_a_link_in_the_folder_for_all_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    *_, own = code_cache.folders()
    assert own.parent == tmp_path
    own.symlink_to(tmp_path)
    assert own not in list(code_cache.folders())


def test_the_user_is_told_that_nothing_can_be_kept(monkeypatch, caplog):
    monkeypatch.setattr(code_cache, "folders", lambda: iter(()))
    monkeypatch.setattr(jit, "waited", jit.PATIENCE)
    monkeypatch.setattr(jit, "_said", set())
    told = threading.Event()
    with caplog.at_level("INFO", "dynet_vdgi"), jit.announced("an example"):
        while not caplog.messages:
            told.wait(0.01)
    assert "compiling a part of an example (at every start, since no cache can be written" in caplog.text


def test_setup_names_the_numba_that_messages_name():
    setup = (Path(__file__).parents[1] / "setup.py").read_text(encoding="utf-8")
    named = re.findall(r'"(numba.*|llvmlite.*|wcwidth.*)",', setup)
    assert named == ["wcwidth>=0.2.6", jit.NUMBA, "llvmlite>=0.44,<0.51"]
