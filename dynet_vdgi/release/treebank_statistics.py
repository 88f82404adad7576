"""What stats.xml says of a treebank: sizes, and what occurs how often, as UD's own tool counts it.

Forms and lemmas can hold what XML cannot; there a replacement character stands for it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from dynet_vdgi.settings.bundled import resources

_NOT_IN_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def stats_xml(sentences: Sequence[Sequence[str]], sizes: Mapping[str, Mapping[str, int]]) -> str:
    """The file, which is well-formed whatever the lines of the sentences hold; `sizes`: by part."""
    import jinja2

    environment = jinja2.Environment(
        trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {
        "in_text": _xml_text,
        "as_attribute": _xml_attribute,
        "in_comment": _xml_comment,
    }
    template = (resources() / "release" / "stats.xml.j2").read_text(encoding="utf-8")
    counts: dict[str, Any] = counts_of(sentences)
    return environment.from_string(template).render(
        sizes={"total": size_of(sentences), **sizes}, **counts
    )


def _xml_text(text: str) -> str:
    return escape(_NOT_IN_XML.sub("\ufffd", text))


def _xml_attribute(text: str) -> str:
    """The text in quotation marks."""
    return quoteattr(_NOT_IN_XML.sub("\ufffd", text))


def _xml_comment(text: str) -> str:
    """Two hyphens would end the comment."""
    return re.sub("-(?=-)", "- ", _NOT_IN_XML.sub("\ufffd", text))


def _rows(sentences: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """The columns of all lines but comments."""
    for lines in sentences:
        for line in lines:
            if line[0] != "#":
                yield line.split("\t")


def size_of(sentences: Sequence[Sequence[str]]) -> dict[str, int]:
    """The numbers of sentences, tokens, words and fused, which are the tokens of several words."""
    numbers = [row[0] for row in _rows(sentences)]
    spans = [number.split("-") for number in numbers if "-" in number]
    words = sum(number.isdigit() for number in numbers)
    tokens = words - sum(int(last) - int(first) for first, last in spans)
    return {"sentences": len(sentences), "tokens": tokens, "words": words, "fused": len(spans)}


def counts_of(sentences: Iterable[Sequence[str]]) -> dict[str, dict[str, Counter[str]]]:
    """What stats.xml counts: `counts` by kind, lemmas by tag, forms by feature, and tags by
    feature."""
    counts_by_kind = {
        kind: defaultdict[str, Counter[str]](Counter)
        for kind in ("counts", "tags", "feats", "tags_of")
    }
    for row in _rows(sentences):
        pairs = [("counts", "fusions", row[1])] * ("-" in row[0])
        if row[0].isdigit():
            pairs = [
                ("counts", "forms", row[1]),
                ("counts", "deps", row[7]),
                ("tags", row[3], row[2]),
            ]
            pairs += [("counts", "lemmas", row[2])] * (row[2] != "_")
            for feat in row[5].split("|") if row[5] != "_" else ():
                pairs += [("feats", feat, row[1]), ("tags_of", feat, row[3])]
        for kind, key, value in pairs:
            counts_by_kind[kind][key][value] += 1
    merged = {}
    for kind, counts_by_key in counts_by_kind.items():
        merged[kind] = {key: _merged_counts(counts) for key, counts in counts_by_key.items()}
    return merged


def _merged_counts(counts: Counter[str]) -> Counter[str]:
    """The counts, those of Capitals under the small letters where these occur, too; equal ones by
    their letters."""
    merged = Counter[str]()
    for text in sorted(counts):
        merged[text.lower() if text.lower() in counts else text] += counts[text]
    return merged
