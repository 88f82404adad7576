"""Files of taggers: a zip of plain data, never code, as model files are.

`meta.json` names the format; `tags.json` holds the tags and the rules of lemmas; `weights.npz` the
arrays; `text.json`, perhaps, the text that was learnt from.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dynet_vdgi._version import __version__
from dynet_vdgi.conllu.faults import is_feats, quoted
from dynet_vdgi.errors import ModelError
from dynet_vdgi.models.archive import Archive, npz, opened
from dynet_vdgi.system.messages import count
from dynet_vdgi.words.tagger.bundles import Bundles
from dynet_vdgi.words.tagger.crf import Crf
from dynet_vdgi.words.tagger.lemmas import is_lemma
from dynet_vdgi.words.tagger.retagger import LearningText
from dynet_vdgi.words.tagger.state import TaggerState, feats_parts, plain_parts
from dynet_vdgi.words.tagger.type_means import TypeMeans

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


def members(learnt: TaggerState) -> dict[str, bytes]:
    """What a tagger's file holds, for `archive.write`."""
    meta = Meta(
        kind=KIND,
        format=FORMAT,
        version=__version__,
        n_words=learnt.n_words,
        jackknifed=learnt.jackknifed,
    )
    texts = TagTexts(**{name: getattr(learnt, name) for name in TagTexts.__struct_fields__})
    arrays = {
        **learnt.first.arrays("first/"),
        **learnt.means.arrays("means/"),
        **learnt.second.arrays("second/"),
        **learnt.of_feats.arrays("feats/"),
        **learnt.of_xpos.arrays("xpos/"),
        **learnt.of_rules.arrays("rules/"),
    }
    text = {} if learnt.text is None else {"text.json": msgspec.json.encode(learnt.text)}
    return {
        "meta.json": msgspec.json.encode(meta),
        "tags.json": msgspec.json.encode(texts),
        "weights.npz": npz(arrays),
        **text,
    }


def load(path: str | Path, content: bytes | None = None) -> TaggerState:
    """The tagger in a file, which has this content if it is inside a model.

    Raises: ModelError, there is none, it is damaged, or of a newer version.
    """
    with opened(path, KIND, content) as archive:
        archive.check_step(KIND)
        if "tags.json" not in archive.names:
            raise ModelError("not a vdgi tagger (it has no tags.json); make one: vdgi tag train")
        meta = archive.content("meta.json", Meta)
        if meta.kind != KIND or meta.format > FORMAT:
            description = f"a {meta.kind} of format {meta.format}"
            raise ModelError(
                f"{description}; this program reads taggers of format {FORMAT}: update it"
            )
        texts = archive.content("tags.json", TagTexts)
        arrays: dict[str, Any] = archive.arrays("weights.npz")
        text = archive.content("text.json", LearningText) if "text.json" in archive.names else None
    _check(texts)
    fields = [Crf.from_arrays(arrays, prefix) for prefix in ("first/", "second/")]
    if any(field.n_labels != len(texts.tags) for field in fields):
        raise ModelError(f"no tagger: weights are not of {len(texts.tags)} tags")
    return TaggerState(
        **{name: getattr(texts, name) for name in TagTexts.__struct_fields__},
        first=fields[0],
        means=TypeMeans.from_arrays(arrays, "means/", len(texts.tags)),
        second=fields[1],
        of_feats=Bundles.from_arrays(arrays, "feats/", feats_parts(texts.bundles, texts.tags)),
        of_xpos=Bundles.from_arrays(arrays, "xpos/", plain_parts(texts.xpos, texts.tags)),
        of_rules=Bundles.from_arrays(arrays, "rules/", plain_parts(texts.rules, texts.tags)),
        jackknifed=meta.jackknifed,
        n_words=meta.n_words,
        text=text,
    )


def describe(archive: Archive) -> list[tuple[str, str]]:
    """What the file of a tagger is, for people, as pairs of name and text. Raises: ModelError,
    damaged."""
    meta, texts = archive.content("meta.json", Meta), archive.content("tags.json", TagTexts)
    columns = {"FEATS": texts.bundles, "XPOS": texts.xpos}
    others = [name for name, pairs in columns.items() if any(value != "_" for _, value in pairs)]
    others += ["lemmas"] if texts.rules or texts.lemmas else []
    of_upos = (
        "not measured"
        if meta.jackknifed is None
        else f"{100 * meta.jackknifed:.1f} % in sentences kept back"
    )
    return [
        ("kind", f"{KIND}, for --tagger and vdgi tag"),
        ("made by", f"dynet_vdgi {meta.version}"),
        ("learnt from", f"{count(meta.n_words, 'word')} with tags"),
        ("right UPOS", of_upos),
        ("tags", " ".join(texts.tags)),
        ("also gives", ", ".join(others) or "nothing else"),
    ]


def _check(texts: TagTexts) -> None:
    tags = set(texts.tags)
    if not texts.tags or texts.tags != sorted(tags):
        raise ModelError("the tagger is damaged: its tags are not sorted, or there are none")
    if {tag for tag, _ in texts.bundles} != tags:
        raise ModelError("the tagger is damaged: its FEATS are not those of its tags")
    for pairs in (texts.bundles, texts.xpos, texts.rules):
        if pairs != sorted(set(pairs)) or not {tag for tag, _ in pairs} <= tags:
            raise ModelError("the tagger is damaged: FEATS, XPOS or rules are not sorted by tag")
    values = (*texts.tags, *(value for pairs in (texts.bundles, texts.xpos) for _, value in pairs))
    odd = [value for value in values if not value or any(c.isspace() or c == "\0" for c in value)]
    odd += [feats for _, feats in texts.bundles if not is_feats(feats)]
    odd += [lemma for lemma in texts.lemmas.values() if not is_lemma(lemma)]
    if odd:
        raise ModelError(f"the tagger is damaged: CoNLL-U cannot hold {quoted(odd[0])}")
    if not all(rule for _, rule in texts.rules):
        raise ModelError("the tagger is damaged: a rule is empty")
