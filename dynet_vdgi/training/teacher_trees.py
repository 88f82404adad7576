"""A teacher's trees of other text than it learnt from, without a student: so systems of
other papers are scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.filtering import prepare
from dynet_vdgi.conllu.protocols import protocol_of
from dynet_vdgi.conllu.punctuation import restore_punctuation, without_punctuation
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.settings import DataSettings
from dynet_vdgi.training.taught import TaughtSettings, teacher_of_kind
from dynet_vdgi.unsupervised.teacher import Teacher


def teacher_of_text(files: Iterable[str], settings: TaughtSettings) -> Teacher:
    """The teacher that has learnt from the sentences of files, whose heads are not read.

    The rule table is measured in all of them; the teacher takes the sentences that are short
    enough for `teacher.max_len`.

    Raises: DataError, a file cannot be read.
    """
    data = settings.data
    protocol = replace(protocol_of(data.protocol), projective_only=False)
    text = (
        sentence
        for path in files
        for sentence in reading.read(path, heads="ignored", tags=data.tags)
    )
    sentences = [each.ignoring(data.ignore) for each in prepare(text, protocol).sentences]
    prior = Prior.of_text(load_rules(rules_path(settings.rules)), sentences)
    return teacher_of_kind(settings.teacher, settings.seed).fit(sentences, prior)


def trees_of(teacher: Teacher, sentences: Sequence[Sentence], data: DataSettings) -> list[Sentence]:
    """The sentences with the teacher's heads; words that the protocol removes are attached to
    them."""
    removed_tags = protocol_of(data.protocol).removed_tags
    bare = [without_punctuation(replace(each, heads=None), removed_tags) for each in sentences]
    words = [sentence.ignoring(data.ignore) for sentence, _ in bare if len(sentence)]
    trees = iter(teacher.heads(words))
    return [
        replace(
            whole,
            heads=restore_punctuation(next(trees) if places else (), places, whole.forms),
            deprels=(),
        )
        for whole, (_, places) in zip(sentences, bare)
    ]
