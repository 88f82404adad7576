"""The inputs of a run: raw text, files or sentences; how they are read, and messages about gold
trees."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from dynet_vdgi.conllu import blocks as conllu_blocks
from dynet_vdgi.conllu import raw_documents, raw_text, reading
from dynet_vdgi.conllu.blocks import Block, blocks_in
from dynet_vdgi.conllu.repeated import superseded
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.writing import unchanged
from dynet_vdgi.errors import UsageError
from dynet_vdgi.models import archive
from dynet_vdgi.parser.steps import MEMORY, StepFile, Steps
from dynet_vdgi.system.messages import count
from dynet_vdgi.training.inputs import Given, Inputs

logger = logging.getLogger("dynet_vdgi")

HERE = "learnt in this run"
"""Stands for the file of a step that there is none of."""


def with_learnt(steps: Steps, inputs: Inputs) -> Steps:
    """The steps of a run; a step that is not given learns from its texts and trees, and from its
    raw text.

    Raises: UsageError, there are no tags to learn from; DataError, a file is malformed.
    """
    known = [given for given in (*inputs.texts.values(), inputs.trees) if given]
    if not known and len(steps.files) < len(("tokeniser", "tagger")):
        raise UsageError("--raw needs tagged sentences: name some with --train, or with --trees")
    if "tokeniser" not in steps.files:
        content = _tokeniser(known)
        steps = replace(steps, files={**steps.files, "tokeniser": StepFile(HERE, content)})
    if "tagger" not in steps.files:
        content = _tagger(known, inputs.raw or Given(), steps)
        steps = replace(steps, files={**steps.files, "tagger": StepFile(HERE, content)})
    return steps


def _tokeniser(known: Sequence[Given]) -> bytes:
    """A tokeniser's file. Raises: UsageError, there is raw text only."""
    from dynet_vdgi.words.tokeniser import tokeniser_file

    blocks = superseded([[*_blocks(given)] for given in known], words_of)
    documents = [
        document
        for group in blocks
        for _, of_file in groupby(group, lambda block: block.path)
        for document in raw_documents.documents_of(of_file)
    ]
    if not documents:
        raise UsageError("--raw needs tagged sentences, in CoNLL-U, with --train or --trees")
    n_sentences = sum(len(document.sentences) for document in documents)
    logger.info("tokeniser: learnt from %s", count(n_sentences, "sentence"))
    made = tokeniser_file.Made(sentences=n_sentences)
    return archive.packed(tokeniser_file.members(tokeniser_file.learn(documents), made))


def _blocks(given: Given) -> Iterator[Block]:
    for name in given.names:
        if not raw_text.is_named(name):
            yield from conllu_blocks.blocks(name)
    if given.sentences:
        yield from blocks_in("".join(map(unchanged, given.sentences)), MEMORY)


def words_of(block: Block) -> tuple[str, ...]:
    """The forms of a sentence's words."""
    return tuple(
        line.split("\t", 2)[1] for line in block.lines if line.partition("\t")[0].isdecimal()
    )


def _tagger(known: Sequence[Given], raw: Given, steps: Steps) -> bytes:
    """A tagger's file; `steps` has a tokeniser. Raises: UsageError, no word has UPOS."""
    from dynet_vdgi.words.tagger.tagger import Tagger, universal_tags

    groups = superseded(
        [[*_known_tags(given, steps)] for given in known], lambda sentence: sentence.forms
    )
    sentences = [sentence for group in groups for sentence in group]
    tagged = [sentence for sentence in sentences if set(universal_tags(sentence)) != {"_"}]
    rest = [sentence for sentence in sentences if set(universal_tags(sentence)) == {"_"}]
    rest += _known_tags(raw, steps)
    tagger = Tagger().fit(tagged, rest)
    n_raw = sum(map(len, [*tagged, *rest])) - tagger.n_words
    with_tags, without = count(tagger.n_words, "word"), count(n_raw, "word")
    logger.info("tagger: learnt from %s with tags, %s without", with_tags, without)
    return tagger.to_bytes()


def _known_tags(given: Given, steps: Steps) -> Iterator[Sentence]:
    """The sentences with the tags they have, before anything is tagged."""
    yield from reading.checked(steps.blocks(given.names), "ignored", reading.KNOWN)
    yield from given.sentences
