"""Descriptions of a model file: how it was made, from which data, and what it contains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.system.messages import count
from dynet_vdgi.universal.model_table import TABLE, digest, table_of


def to_json(model: ModelFile) -> dict[str, Any]:
    """Provenance, vocabulary, rules and settings, ready for JSON."""
    return {
        **model.meta,
        "vocabulary": model.vocabulary.to_json(),
        "rules": [str(rule) for rule in model.rules.rules],
        "rules_without": model.rules.left_out,
        "table_sha256": _table_sha256(model),
        "weights": model.n_weights,
        "settings": model.settings.to_dict(),
    }


def summary(model: ModelFile) -> str:
    """One line about the parser's recipe, training data and training."""
    provenance, amount = model.provenance, model.provenance.trained_on
    learnt_from = f"{count(amount.sentences, 'sentence')}, {count(amount.words, 'word')}"
    if not amount.sentences:
        learnt_from = "no text of its own"
    languages = f" of {', '.join(provenance.languages)}" if len(provenance.languages) > 1 else ""
    preset = f", preset {provenance.preset}" if provenance.preset else ""
    trees = "; ".join(provenance.gold_trees) or "none"
    return f"{provenance.recipe} trained on {learnt_from}{languages}{preset}; gold trees: {trees}"


def facts(model: ModelFile) -> Iterator[tuple[str, str]]:
    """How the model was made, without the settings, as pairs of name and text."""
    for key, value in model.meta.items():
        if key == "data":
            yield from (
                (item["role"], f"{item['name']}  sha256 {item['sha256']}") for item in value
            )
        elif key == "languages":
            yield from (
                ("language", f"{label}: {_numbers(numbers)}") for label, numbers in value.items()
            )
        elif key == "treebanks":
            yield from (
                ("treebank", f"{label}: {_treebank(treebank)}") for label, treebank in value.items()
            )
        elif isinstance(value, dict):
            yield key, _numbers(value)
        elif isinstance(value, (list, tuple)):
            yield key, (" " if key == "command" else "; ").join(map(str, value)) or "none"
        else:
            yield key, "-" if value is None else str(value)
    for name, level in (model.text or {}).get("measures", {}).items():
        yield "measured", f"{name} {level:.2f}"
    tags, words = model.vocabulary.tags, model.vocabulary.words
    yield "vocabulary", f"{count(len(tags), 'tag')} ({' '.join(tags)}), {count(len(words), 'word')}"
    if model.rules.left_out:
        yield "rules without", ", ".join(f"[{part}]" for part in model.rules.left_out)
    yield "rules", " ".join(map(str, model.rules.rules))
    if sha256 := _table_sha256(model):
        yield "teacher", f"of a text: a DMV under the rule table in the model, sha256 {sha256}"


def _table_sha256(model: ModelFile) -> str | None:
    """The SHA-256 of a universal parser's own rule table; None: the model has none."""
    return digest(table_of(model.parameters)) if TABLE in model.parameters else None


def _treebank(treebank: Mapping[str, Any]) -> str:
    names = [treebank[name] for name in ("branch", "licence") if treebank[name]]
    return ", ".join(
        [count(treebank["trees"], "tree"), *(names or [f"mixing weight {treebank['share']:.2f}"])]
    )


def _numbers(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items())
