"""The folder of a release: its split so far, the values that only people know, and its files.

Templates, and the TOML file of these values, are in resources/release. Only files that change are written.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dynet_vdgi.annotation.marked import MARKS
from dynet_vdgi.data import files
from dynet_vdgi.errors import ConfigError, DataError, UsageError
from dynet_vdgi.evaluation.agreement import TITLES, Pairings, TwoFiles, agreement
from dynet_vdgi.release.documents import AnnotatedFiles, name_sentences, names_in
from dynet_vdgi.release.split import PARTS, split
from dynet_vdgi.settings.config import resources
from dynet_vdgi.settings.presets import read_toml
from dynet_vdgi.system.names import of_these

VALUES = "not-to-release/release.toml"
"""In the folder, where UD lets a treebank have files of its own."""

PAPERS, CONTRIBUTING = resources() / "release", "CONTRIBUTING.md"

_CREATIVE = re.compile(r"CC (BY(?:-NC)?(?:-SA|-ND)?) ([0-9.]+)")
_BEGINS = "The treebank has the licence Creative Commons"


@dataclass(frozen=True)
class TreebankRelease:
    """The files of a release by name, and for each line of a CoNLL-U file its place in an annotated file."""

    folder: Path
    files: Mapping[str, str]
    places: Mapping[str, Sequence[tuple[str, int]]]
    sizes: Mapping[str, Mapping[str, int]]  # by part
    missing: Sequence[str]  # values that people have to fill in
    gone: Sequence[str]  # documents of the last release that no file has

    def write(self) -> list[str]:
        """Writes what has changed, removes parts without sentences, and returns the names of both."""
        with files.writing(self.folder):
            (self.folder / VALUES).parent.mkdir(parents=True, exist_ok=True)
        changed = [name for name, content in self.files.items() if content != _content(self.folder / name)]
        for name in changed:
            if not self.files[name]:
                (self.folder / name).unlink()
                continue
            with files.atomic_writer(self.folder / name) as handle:
                handle.write(self.files[name])
        return changed


def prepared(folder: Path, treebank: str, found: AnnotatedFiles) -> TreebankRelease:
    """The release of these documents; `treebank`: such as `gd_mine`. Writes nothing.

    Raises: UsageError, the folder holds other files, or nothing is finished; ConfigError, a value is wrong.
    """
    import jinja2

    own = {part: f"{treebank}-ud-{part}.conllu" for part in PARTS}
    there = {path.name for path in folder.iterdir() if path.name[0] != "."} if folder.is_dir() else set[str]()
    usual = {*own.values(), "README.md", "LICENSE.txt", CONTRIBUTING, "stats.xml", Path(VALUES).parent.name}
    if foreign := sorted(there - (usual if (folder / VALUES).exists() else {Path(VALUES).parent.name})):
        raise UsageError(f"{folder} holds what is no release of this treebank: {', '.join(foreign)} (move it away)")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: name a folder")
    values, missing = values_in(folder / VALUES)
    released = {part: names_in(folder / name) for part, name in own.items()}
    earlier = {document: names for its in released.values() for document, names in its.items()}
    documents = {name: found.documents[name] for name in [*earlier, *found.documents] if name in found.documents}
    if not documents:
        raise UsageError("no sentence is finished, so there is nothing to release (--all takes every tree)")
    name_sentences(documents, earlier)
    lengths = {name: _size([one.text for one in its])["words"] for name, its in documents.items()}
    parts = split(lengths, {document: part for part, its in released.items() for document in its})
    names = {part: [name for name in documents if parts[name] == part] for part in PARTS}
    sentences = {part: [one for name in its for one in documents[name]] for part, its in names.items()}
    texts = {part: [one.text for one in its] for part, its in sentences.items()}
    sizes = {part: _size(its) for part, its in texts.items()}
    paths = dict.fromkeys(one.path for its in documents.values() for one in its)
    whole = [lines for its in texts.values() for lines in its]
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    readme, stats = (environment.from_string(_content(PAPERS / f"{name}.j2")) for name in ("README.md", "stats.xml"))
    # The values first: by their file, a release that was cut short is known as one.
    contents = {name: _content(folder / name) or _content(PAPERS / Path(name).name) for name in (VALUES, CONTRIBUTING)}
    contents |= {own[part]: "".join("\n".join([*lines, "", ""]) for lines in its) for part, its in texts.items()}
    about = {"confirmed": found.confirmed, "agreements": [its for path in paths if (its := _agreement(path))]}
    contents["README.md"] = readme.render(values=values, sizes=sizes, documents=names, marks=MARKS, **about)
    contents["stats.xml"] = stats.render(sizes={"total": _size(whole), **sizes}, **_counts(whole))
    licence, text = _CREATIVE.fullmatch(values["License"]), _content(folder / "LICENSE.txt")
    text = "" if text.startswith(_BEGINS) else text  # which somebody else has written
    if licence and not text:
        address = f"https://creativecommons.org/licenses/{licence[1].lower()}/{licence[2]}/legalcode"
        text = f"{_BEGINS} {licence[1]} {licence[2]}, whose text is at\n{address}\n"
    elif values["License"] and not text:
        missing.append("the text of the licence in LICENSE.txt")
    contents["LICENSE.txt"] = text
    places = {own[part]: [place for one in its for place in one.places] for part, its in sentences.items() if its}
    return TreebankRelease(folder, contents, places, sizes, missing, sorted(earlier.keys() - lengths.keys()))


def values_in(path: Path) -> tuple[dict[str, str], list[str]]:
    """The values of a TOML file, "" where there is none, and which are missing. Raises: ConfigError, one is wrong."""
    expected = dict(re.findall(r'^"?([\w ]+?)"? = ""  # (.*)$', _content(PAPERS / "release.toml"), re.MULTILINE))
    given = read_toml(path, "values of the release") if path.exists() else {}
    for key, value in given.items():
        if key not in expected:
            raise ConfigError(f"{path}: there is no value {key!r}{of_these(key, expected)}")
        among = expected[key].removeprefix("one of: ").split(" | ")
        if not isinstance(value, str) or (value and len(among) > 1 and value.strip() not in among):
            raise ConfigError(f"{path}: {key} = {value!r:.60} (expected: {expected[key]})")
    values = {key: str(given.get(key, "")).strip() for key in expected}
    return values, [key for key, value in values.items() if not value]


def _agreement(path: str) -> list[tuple[str, Pairings]]:
    """Figures about the two files of `vdgi annotate --beside` that a file comes from, if these are beside it."""
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
    return path.read_bytes().decode(errors="replace") if path.exists() else ""


def _size(sentences: Sequence[Sequence[str]]) -> dict[str, int]:
    """The numbers of sentences, tokens, words and fused, which are the tokens of several words."""
    numbers = [line.partition("\t")[0] for lines in sentences for line in lines if line[0] != "#"]
    spans = [number.split("-") for number in numbers if "-" in number]
    words = sum(map(str.isdigit, numbers))
    tokens = words - sum(int(last) - int(first) for first, last in spans)
    return {"sentences": len(sentences), "tokens": tokens, "words": words, "fused": len(spans)}


def _counts(sentences: Iterable[Sequence[str]]) -> dict[str, dict[str, Counter[str]]]:
    """What stats.xml counts: `counts` by kind, lemmas by tag, forms by feature, and tags by feature."""
    found = {kind: defaultdict[str, Counter[str]](Counter) for kind in ("counts", "tags", "feats", "tags_of")}
    for row in (line.split("\t") for lines in sentences for line in lines if line[0] != "#"):
        pairs = [("counts", "fusions", row[1])] * ("-" in row[0])
        if row[0].isdigit():
            pairs = [("counts", "forms", row[1]), ("counts", "deps", row[7]), ("tags", row[3], row[2])]
            pairs += [("counts", "lemmas", row[2])] * (row[2] != "_")
            for feat in row[5].split("|") if row[5] != "_" else ():
                pairs += [("feats", feat, row[1]), ("tags_of", feat, row[3])]
        for kind, key, value in pairs:
            found[kind][key][value] += 1
    return {kind: {key: _merged(counts) for key, counts in its.items()} for kind, its in found.items()}


def _merged(counts: Counter[str]) -> Counter[str]:
    """The counts, those of Capitals under the small letters where these occur, too; equal ones by their letters."""
    found = Counter[str]()
    for text in sorted(counts):
        found[text.lower() if text.lower() in counts else text] += counts[text]
    return found
