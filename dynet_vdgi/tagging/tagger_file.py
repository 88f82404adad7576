"""Files of taggers: a zip of plain data, never code, as model files are.

`meta.json` names the format; `tags.json` holds the tags and the rules of lemmas; `weights.npz` the arrays.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dynet_vdgi._version import __version__
from dynet_vdgi.errors import ModelError
from dynet_vdgi.runs.model_archive import Archive, npz, write
from dynet_vdgi.tagging.bundles import Bundles
from dynet_vdgi.tagging.crf import Crf
from dynet_vdgi.tagging.tagger_state import TaggerState, feats_parts, plain_parts
from dynet_vdgi.tagging.type_means import TypeMeans

FORMAT = 1
KIND = "tagger"


class Meta(Struct, frozen=True, kw_only=True):
    """What the file is."""

    kind: str
    format: int
    version: str = ""
    n_words: int = 0
    jackknifed: float | None = None


class TagTexts(Struct, frozen=True, kw_only=True):
    """Everything but numbers."""

    tags: list[str]
    bundles: list[tuple[str, str]]
    xpos: list[tuple[str, str]]
    rules: list[tuple[str, str]]
    lemmas: dict[str, str]


def save(path: str | Path, learnt: TaggerState) -> None:
    """Writes a tagger atomically."""
    meta = Meta(
        kind=KIND,
        format=FORMAT,
        version=__version__,
        n_words=learnt.n_words,
        jackknifed=learnt.jackknifed,
    )
    texts = TagTexts(
        tags=learnt.tags,
        bundles=learnt.bundles,
        xpos=learnt.xpos,
        rules=learnt.rules,
        lemmas=learnt.lemmas,
    )
    arrays = {
        **learnt.first.arrays("first/"),
        **learnt.means.arrays("means/"),
        **learnt.second.arrays("second/"),
        **learnt.of_feats.arrays("feats/"),
        **learnt.of_xpos.arrays("xpos/"),
        **learnt.of_rules.arrays("rules/"),
    }
    entries = {
        "meta.json": msgspec.json.encode(meta),
        "tags.json": msgspec.json.encode(texts),
        "weights.npz": npz(arrays),
    }
    write(path, entries)


def load(path: str | Path, content: bytes | None = None) -> TaggerState:
    """The tagger in a file, which has this content if it is inside a model.

    Raises: ModelError, there is none, it is damaged, or of a newer version.
    """
    try:
        with Archive(path, content) as archive:
            return _read(archive)
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file of a tagger") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot read the tagger: {error.strerror or error}") from None
    except zipfile.BadZipFile:
        raise ModelError(f"{path}: not a file of a tagger (not a zip archive, or damaged)") from None
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    except Exception as error:  # damaged, the parsers of zip, JSON and NPZ raise all sorts of errors
        raise ModelError(f"{path}: the tagger is damaged ({str(error) or type(error).__name__})") from None


def _read(archive: Archive) -> TaggerState:
    if "tags.json" not in archive.names:
        raise ModelError("not a file of a tagger (a parser's, perhaps?)")
    meta = archive.content("meta.json", Meta)
    if meta.kind != KIND or meta.format > FORMAT:
        raise ModelError(
            f"a {meta.kind} of format {meta.format}; this program reads taggers of format {FORMAT}: update it"
        )
    texts = archive.content("tags.json", TagTexts)
    _check(texts)
    arrays: dict[str, Any] = archive.arrays("weights.npz")
    n_tags = len(texts.tags)
    fields = [Crf.from_arrays(arrays, prefix) for prefix in ("first/", "second/")]
    if any(field.n_labels != n_tags for field in fields):
        raise ModelError(f"no tagger: weights are not of {n_tags} tags")
    return TaggerState(
        tags=texts.tags,
        bundles=texts.bundles,
        xpos=texts.xpos,
        rules=texts.rules,
        lemmas=texts.lemmas,
        first=fields[0],
        means=TypeMeans.from_arrays(arrays, "means/", n_tags),
        second=fields[1],
        of_feats=Bundles.from_arrays(arrays, "feats/", feats_parts(texts.bundles, texts.tags)),
        of_xpos=Bundles.from_arrays(arrays, "xpos/", plain_parts(texts.xpos, texts.tags)),
        of_rules=Bundles.from_arrays(arrays, "rules/", plain_parts(texts.rules, texts.tags)),
        jackknifed=meta.jackknifed,
        n_words=meta.n_words,
    )


def _check(texts: TagTexts) -> None:
    """Raises: ModelError, learning does not make such tags."""
    known = set(texts.tags)
    if not texts.tags or texts.tags != sorted(known):
        raise ModelError("the tagger is damaged: its tags are not sorted, or there are none")
    if {tag for tag, _ in texts.bundles} != known:
        raise ModelError("the tagger is damaged: its FEATS are not those of its tags")
    for pairs in (texts.bundles, texts.xpos, texts.rules):
        if pairs != sorted(set(pairs)) or not {tag for tag, _ in pairs} <= known:
            raise ModelError("the tagger is damaged: FEATS, XPOS or rules are not sorted by tag")
    columns = [*texts.tags, *(value for pairs in (texts.bundles, texts.xpos) for _, value in pairs)]
    columns += [rule for _, rule in texts.rules] + list(texts.lemmas.values())
    for text in columns:
        if any(letter in text for letter in "\t\n\r\0"):
            raise ModelError(f"the tagger is damaged: {text!r} cannot stand in CoNLL-U")
    if not all(columns):
        raise ModelError("the tagger is damaged: a tag is empty")
