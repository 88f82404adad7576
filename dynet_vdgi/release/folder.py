"""The folder of a release: its split so far, and its files.

Templates, and the TOML file of the values that only people know, are in resources/release. Only
files that change are written, and only regular files are read and replaced: no link, pipe or
device, which may be anything elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.evaluation.agreement import TITLES, Pairings, agreement
from dynet_vdgi.evaluation.two_files import TwoFiles
from dynet_vdgi.page.text.sentence_state import MARKS
from dynet_vdgi.release.documents import AnnotatedFiles, ReleasedSentence, name_sentences, names_in
from dynet_vdgi.release.metadata import SECTIONS, values_in
from dynet_vdgi.release.split import PARTS, split
from dynet_vdgi.release.treebank_statistics import size_of, stats_xml
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.system import files
from dynet_vdgi.system.messages import count

VALUES = "not-to-release/release.toml"
"""In the folder, where UD lets a treebank have files of its own."""

PAPERS, CONTRIBUTING = resources() / "release", "CONTRIBUTING.md"

_CREATIVE = re.compile(r"CC (BY(?:-NC)?(?:-SA|-ND)?) ([0-9.]+)|CC0 1\.0")

_BEGINS = "The treebank has the licence Creative Commons"


@dataclass(frozen=True)
class TreebankRelease:
    """The files of a release by name, and for each line of a CoNLL-U file its place in an annotated
    file."""

    folder: Path
    files: Mapping[str, str]
    places: Mapping[str, Sequence[tuple[str, int]]]
    sizes: Mapping[str, Mapping[str, int]]  # by part
    missing: Sequence[str]  # values that people have to fill in
    gone: Sequence[str]  # documents of the last release that no file has
    renamed: Sequence[ReleasedSentence]  # whose sent_id UD would not take

    def write(self) -> list[str]:
        """Writes what has changed, removes parts without sentences, and returns the names of both."""
        with files.writing(self.folder):
            (self.folder / VALUES).parent.mkdir(parents=True, exist_ok=True)
        changed = [
            name for name, content in self.files.items() if content != _content(self.folder / name)
        ]
        for name in changed:
            if not self.files[name]:
                (self.folder / name).unlink()
                continue
            with files.atomic_writer(self.folder / name) as handle:
                handle.write(self.files[name])
        return changed


def prepared(
    folder: Path, treebank: str, found: AnnotatedFiles, *, everything: bool = False
) -> TreebankRelease:
    """The release of these documents; `treebank`: such as `gd_mine`. Writes nothing.

    everything: unfinished sentences were to be taken, too, which is for the message if there is
    none.

    Raises: UsageError, the folder holds other files, or there is nothing to release; ConfigError,
    values are wrong.
    """
    import jinja2

    own = {part: f"{treebank}-ud-{part}.conllu" for part in PARTS}
    _check_folder(folder, own.values())
    values, missing = values_in(folder / VALUES)
    released = {part: names_in(folder / name) for part, name in own.items()}
    earlier = {document: names for its in released.values() for document, names in its.items()}
    documents = {
        name: found.documents[name]
        for name in [*earlier, *found.documents]
        if name in found.documents
    }
    if not documents:
        raise UsageError(_why_nothing(found, everything))
    name_sentences(documents, earlier)
    lengths = {name: size_of([one.text for one in its])["words"] for name, its in documents.items()}
    parts = split(lengths, {document: part for part, its in released.items() for document in its})
    names = {part: [name for name in documents if parts[name] == part] for part in PARTS}
    sentences = {
        part: [one for name in its for one in documents[name]] for part, its in names.items()
    }
    texts = {part: [one.text for one in its] for part, its in sentences.items()}
    sizes = {part: size_of(its) for part, its in texts.items()}
    paths = dict.fromkeys(one.path for its in documents.values() for one in its)
    whole = [lines for its in texts.values() for lines in its]
    environment = jinja2.Environment(
        trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined
    )
    readme = environment.from_string(_content(PAPERS / "README.md.j2"))
    # The values first: by their file, a release that was cut short is known as one.
    contents = {
        name: _content(folder / name) or _content(PAPERS / Path(name).name)
        for name in (VALUES, CONTRIBUTING)
    }
    contents |= {
        own[part]: "".join("\n".join([*lines, "", ""]) for lines in its)
        for part, its in texts.items()
    }
    about: dict[str, Any] = {
        "confirmed": found.confirmed,
        "agreements": [its for path in paths if (its := _agreement(path))],
    }
    about |= {"values": values, "sections": SECTIONS, "marks": MARKS}
    contents["README.md"] = readme.render(sizes=sizes, documents=names, **about)
    contents["stats.xml"] = stats_xml(whole, sizes)
    licence, text = _CREATIVE.fullmatch(values["License"]), _content(folder / "LICENSE.txt")
    text = "" if text.startswith(_BEGINS) else text  # which somebody else has written
    if licence and not text:
        name, address = f"{licence[1]} {licence[2]}", f"licenses/{licence[1]}/{licence[2]}"
        if not licence[1]:
            name, address = "Zero 1.0", "publicdomain/zero/1.0"
        text = f"{_BEGINS} {name}, whose text is at\nhttps://creativecommons.org/{address.lower()}/legalcode\n"
    elif values["License"] and not text:
        missing.append("the text of the licence in LICENSE.txt")
    contents["LICENSE.txt"] = text
    places = {
        own[part]: [place for one in its for place in one.places]
        for part, its in sentences.items()
        if its
    }
    gone = sorted(earlier.keys() - lengths.keys())
    every = [one for its in documents.values() for one in its]
    renamed = [one for one in every if re.search(r"[\s/]", one.written_name)]
    return TreebankRelease(folder, contents, places, sizes, missing, gone, renamed)


def _check_folder(folder: Path, conllu: Iterable[str]) -> None:
    """Raises: UsageError, there is something in the folder that is not a release's, or no regular
    file."""
    if os.path.lexists(folder) and not folder.exists():
        raise UsageError(f"{folder} is a link that leads nowhere: name a folder")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: name a folder")
    beside = Path(VALUES).parent.name
    try:
        there = (
            {name for name in os.listdir(folder) if name[0] != "."}
            if folder.is_dir()
            else set[str]()
        )
        is_release = os.path.lexists(folder / VALUES)
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}") from None
    usual = [*conllu, "README.md", "LICENSE.txt", CONTRIBUTING, "stats.xml"]
    if foreign := sorted(there - {*(usual if is_release else []), beside}):
        remedy = "move it away" if is_release else f"move it away, or put its {VALUES} back"
        raise UsageError(
            f"{folder} holds what is no release of this treebank: {', '.join(foreign)} ({remedy})"
        )
    if os.path.lexists(folder / beside) and not stat.S_ISDIR(os.lstat(folder / beside).st_mode):
        raise UsageError(f"{folder / beside} is no folder (move it away)")
    for path in (folder / name for name in (*usual, VALUES)):
        if os.path.lexists(path) and not stat.S_ISREG(mode := os.lstat(path).st_mode):
            what = (
                "a link, and what it leads to is not replaced"
                if stat.S_ISLNK(mode)
                else "no regular file"
            )
            raise UsageError(f"{path} is {what} (move it away)")


def _why_nothing(found: AnnotatedFiles, everything: bool) -> str:
    """Why there is nothing to release, and what to do."""
    n_fit = found.left_out - found.unfit.total()
    if not everything and n_fit:
        return f"no sentence is finished, so there is nothing to release (--all takes the {count(n_fit, 'tree')})"
    lacking = [f"{number:,} without {what}" for what, number in found.unfit.most_common()]
    remedies = {
        "heads": "vdgi parse makes trees",
        "tags": "vdgi parse --tagger, or vdgi tag, gives tags",
    }
    remedies |= {"a tree": "vdgi check says where", "relations": "vdgi parse gives relations"}
    what = next(iter(found.unfit), "")
    hint = f" ({remedies[what]}, and vdgi annotate corrects them)" if what else ""
    which = (
        "has tags and a whole tree" if everything else "is finished, or has tags and a whole tree"
    )
    return f"no sentence {which}: {', '.join(lacking) or 'there is none'}{hint}"


def _agreement(path: str) -> list[tuple[str, Pairings]]:
    """Figures about the two files of `vdgi annotate --beside` that a file comes from, if these are
    beside it."""
    try:
        wanted = json.loads(files.read_text(path + ".decisions").partition("\n")[0])["beside"]
    except (DataError, ValueError, LookupError, TypeError):  # it does not come from there
        return []
    beside = {files.sha256(other): other for other in sorted(Path(path).parent.glob("*.conllu"))}
    if not {*wanted} <= beside.keys():
        return []
    counts = agreement(TwoFiles.read(*(beside[digest] for digest in wanted))).counts
    return [(TITLES[name], its) for name, its in counts.items() if its.words]


def _content(path: Path) -> str:
    """The text of a file; "" if it is not there. Raises: UsageError, it cannot be read."""
    try:
        return path.read_bytes().decode(errors="replace") if path.exists() else ""
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
