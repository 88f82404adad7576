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
        """Writes what has changed, removes parts without sentences,
        and returns the names of both."""
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


def release_of(
    folder: Path, treebank: str, annotated: AnnotatedFiles, *, everything: bool = False
) -> TreebankRelease:
    """The release of these documents; `treebank`: such as `gd_mine`. Writes nothing.

    everything: unfinished sentences were to be taken, too, which is for the message if there is
    none.

    Raises: UsageError, the folder holds other files, or there is nothing to release; ConfigError,
    values are wrong.
    """
    file_of = {part: f"{treebank}-ud-{part}.conllu" for part in PARTS}
    _check_folder(folder, file_of.values())
    values, missing = values_in(folder / VALUES)
    old_parts: dict[str, str] = {}  # by document, as in the last release
    old_names: dict[str, list[str]] = {}  # of its sentences
    for part in PARTS:
        for document, names in names_in(folder / file_of[part]).items():
            old_parts[document], old_names[document] = part, names
    documents = {}
    for document in [*old_names, *annotated.documents]:
        if document in annotated.documents:
            documents[document] = annotated.documents[document]
    if not documents:
        raise UsageError(_why_nothing(annotated, everything))
    name_sentences(documents, old_names)
    part_of = split(_word_counts(documents), old_parts)
    documents_of = {part: [name for name in documents if part_of[name] == part] for part in PARTS}
    sentences_of: dict[str, list[ReleasedSentence]] = {part: [] for part in PARTS}
    for part in PARTS:
        for document in documents_of[part]:
            sentences_of[part] += documents[document]
    texts = {part: [one.text for one in sentences_of[part]] for part in PARTS}
    sizes = {part: size_of(texts[part]) for part in PARTS}

    # The values first: by their file, a release that was cut short is known as one.
    contents = {}
    for name in (VALUES, CONTRIBUTING):
        contents[name] = _content(folder / name) or _content(PAPERS / Path(name).name)
    for part in PARTS:
        contents[file_of[part]] = "".join("\n".join([*lines, "", ""]) for lines in texts[part])
    contents["README.md"] = _readme(
        sizes=sizes,
        documents=documents_of,
        confirmed=annotated.confirmed,
        agreements=_agreements(documents),
        values=values,
        sections=SECTIONS,
        marks=MARKS,
    )
    contents["stats.xml"] = stats_xml([lines for part in PARTS for lines in texts[part]], sizes)
    contents["LICENSE.txt"] = _licence_text(values["License"], folder)
    if values["License"] and not contents["LICENSE.txt"]:
        missing.append("the text of the licence in LICENSE.txt")

    places = {}
    for part in PARTS:
        if sentences_of[part]:
            places[file_of[part]] = [place for one in sentences_of[part] for place in one.places]
    gone = sorted(old_names.keys() - documents.keys())
    renamed = []
    for sentences in documents.values():
        renamed += [one for one in sentences if re.search(r"[\s/]", one.written_name)]
    return TreebankRelease(folder, contents, places, sizes, missing, gone, renamed)


def _word_counts(documents: Mapping[str, Sequence[ReleasedSentence]]) -> dict[str, int]:
    """The number of words of each document."""
    counts = {}
    for name, sentences in documents.items():
        counts[name] = size_of([one.text for one in sentences])["words"]
    return counts


def _agreements(
    documents: Mapping[str, Sequence[ReleasedSentence]],
) -> list[list[tuple[str, Pairings]]]:
    """The agreement of two annotators for each annotated file that has come from two."""
    paths = dict.fromkeys(one.path for sentences in documents.values() for one in sentences)
    agreements = [_agreement(path) for path in paths]
    return [figures for figures in agreements if figures]


def _readme(**content: Any) -> str:
    """README.md, from its template."""
    import jinja2

    environment = jinja2.Environment(
        trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(_content(PAPERS / "README.md.j2")).render(content)


def _licence_text(licence: str, folder: Path) -> str:
    """LICENSE.txt: as somebody else has written it, or for a licence of Creative Commons its name
    and address; "" for others."""
    text = _content(folder / "LICENSE.txt")
    match = _CREATIVE.fullmatch(licence)
    if text and not text.startswith(_BEGINS):
        return text
    if not match:
        return ""
    name, address = "Zero 1.0", "publicdomain/zero/1.0"
    if match[1]:
        name, address = f"{match[1]} {match[2]}", f"licenses/{match[1]}/{match[2]}"
    address = address.lower()
    return f"{_BEGINS} {name}, whose text is at\nhttps://creativecommons.org/{address}/legalcode\n"


def _check_folder(folder: Path, conllu: Iterable[str]) -> None:
    """Raises: UsageError, there is something in the folder that is not a release's, or no regular
    file."""
    if os.path.lexists(folder) and not folder.exists():
        raise UsageError(f"{folder} is a link that leads nowhere: name a folder")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: name a folder")
    values_folder = Path(VALUES).parent.name
    there: set[str] = set()
    try:
        if folder.is_dir():
            there = {name for name in os.listdir(folder) if name[0] != "."}
        is_release = os.path.lexists(folder / VALUES)
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}") from None
    usual = [*conllu, "README.md", "LICENSE.txt", CONTRIBUTING, "stats.xml"]
    if foreign := sorted(there - {*(usual if is_release else []), values_folder}):
        remedy = "move it away" if is_release else f"move it away, or put its {VALUES} back"
        raise UsageError(
            f"{folder} holds what is no release of this treebank: {', '.join(foreign)} ({remedy})"
        )
    path = folder / values_folder
    if os.path.lexists(path) and not stat.S_ISDIR(os.lstat(path).st_mode):
        raise UsageError(f"{path} is no folder (move it away)")
    for path in (folder / name for name in (*usual, VALUES)):
        if not os.path.lexists(path) or stat.S_ISREG(mode := os.lstat(path).st_mode):
            continue
        what = "no regular file"
        if stat.S_ISLNK(mode):
            what = "a link, and what it leads to is not replaced"
        raise UsageError(f"{path} is {what} (move it away)")


def _why_nothing(annotated: AnnotatedFiles, everything: bool) -> str:
    """Why there is nothing to release, and what to do."""
    n_fit = annotated.left_out - annotated.unfit.total()
    if not everything and n_fit:
        remedy = f"--all takes the {count(n_fit, 'tree')}"
        return f"no sentence is finished, so there is nothing to release ({remedy})"
    lacking = [f"{number:,} without {what}" for what, number in annotated.unfit.most_common()]
    remedies = {
        "heads": "vdgi parse makes trees",
        "tags": "vdgi parse --tagger, or vdgi tag, gives tags",
        "a tree": "vdgi check says where",
        "relations": "vdgi parse gives relations",
    }
    what = next(iter(annotated.unfit), "")
    hint = f" ({remedies[what]}, and vdgi annotate corrects them)" if what else ""
    which = "has tags and a whole tree"
    if not everything:
        which = f"is finished, or {which}"
    return f"no sentence {which}: {', '.join(lacking) or 'there is none'}{hint}"


def _agreement(path: str) -> list[tuple[str, Pairings]]:
    """Figures about the two files of `vdgi annotate --beside` that a file comes from, if these are
    beside it."""
    try:
        wanted = json.loads(files.read_text(path + ".decisions").partition("\n")[0])["beside"]
    except (DataError, ValueError, LookupError, TypeError):  # it does not come from there
        return []
    by_digest = {}
    for other in sorted(Path(path).parent.glob("*.conllu")):
        by_digest[files.sha256(other)] = other
    if not {*wanted} <= by_digest.keys():
        return []
    counts = agreement(TwoFiles.read(*(by_digest[digest] for digest in wanted))).counts
    return [(TITLES[name], pairings) for name, pairings in counts.items() if pairings.words]


def _content(path: Path) -> str:
    """The text of a file; "" if it is not there. Raises: UsageError, it cannot be read."""
    try:
        return path.read_bytes().decode(errors="replace") if path.exists() else ""
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
