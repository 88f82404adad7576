"""The tokeniser and the tagger of a run: given as files, or learnt from the words with tags."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from dynet_vdgi.conllu import blocks as conllu_blocks
from dynet_vdgi.conllu import raw_documents, raw_text, reading
from dynet_vdgi.conllu.blocks import Block, blocks_in
from dynet_vdgi.conllu.repeated import without_superseded
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.writing import block_of
from dynet_vdgi.errors import UsageError
from dynet_vdgi.models import archive
from dynet_vdgi.parser.steps import MEMORY, StepFile, Steps, contents
from dynet_vdgi.system.messages import count
from dynet_vdgi.training.inputs import Inputs, InputText, file_names, memory_sentences

logger = logging.getLogger("dynet_vdgi")

HERE = "learnt in this run"
"""Stands for the file of a step that there is none of."""


def steps_of(inputs: Inputs) -> Steps:
    """The steps of a run: those that are given, and with raw text those that it learns.

    Raises: ModelError, one cannot be used; UsageError, one is missing, or there are no tags to
    learn from; DataError, a file is malformed.
    """
    paths = {"tokeniser": inputs.tokeniser, "tagger": inputs.tagger}
    given = {name: StepFile(str(paths[name]), content) for name, content in contents(paths).items()}
    steps = Steps(given, lines=inputs.lines)
    if inputs.raw is not None:
        steps = _with_learnt(steps, inputs, inputs.raw)
    steps.check([*inputs.text_names, *inputs.raw_names])
    return steps


def _with_learnt(steps: Steps, inputs: Inputs, raw: InputText) -> Steps:
    """The steps with those that are not given: they learn from texts and trees, and from raw
    text."""
    tagged = [text for text in (*inputs.texts.values(), inputs.trees) if text]
    if not tagged and len(steps.files) < len(archive.STEPS):
        raise UsageError("--raw needs tagged sentences: name some with --train, or with --trees")
    if "tokeniser" not in steps.files:
        content = _tokeniser(tagged)
        steps = replace(steps, files={**steps.files, "tokeniser": StepFile(HERE, content)})
    if "tagger" not in steps.files:
        content = _tagger(tagged, raw, steps)
        steps = replace(steps, files={**steps.files, "tagger": StepFile(HERE, content)})
    return steps


def _tokeniser(tagged: Sequence[InputText]) -> bytes:
    """A tokeniser's file. Raises: UsageError, there is raw text only."""
    from dynet_vdgi.words.tokeniser import tokeniser_file

    blocks = without_superseded([[*_blocks(text)] for text in tagged], words_of)
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


def _blocks(text: InputText) -> Iterator[Block]:
    """The sentences that have words."""
    for name in file_names(text):
        if not raw_text.is_named(name):
            yield from conllu_blocks.blocks(name)
    if sentences := memory_sentences(text):
        yield from blocks_in("".join(map(block_of, sentences)), MEMORY)


def words_of(block: Block) -> tuple[str, ...]:
    """The forms of a sentence's words."""
    return tuple(
        line.split("\t", 2)[1] for line in block.lines if line.partition("\t")[0].isdecimal()
    )


def _tagger(texts: Sequence[InputText], raw: InputText, steps: Steps) -> bytes:
    """A tagger's file; `steps` has a tokeniser. Raises: UsageError, no word has UPOS."""
    from dynet_vdgi.words.tagger.tagger import Tagger, universal_tags

    groups = without_superseded(
        [[*_with_given_tags(text, steps)] for text in texts], lambda sentence: sentence.forms
    )
    sentences = [sentence for group in groups for sentence in group]
    tagged = [sentence for sentence in sentences if set(universal_tags(sentence)) != {"_"}]
    rest = [sentence for sentence in sentences if set(universal_tags(sentence)) == {"_"}]
    rest += _with_given_tags(raw, steps)
    tagger = Tagger().fit(tagged, rest)
    n_raw = sum(map(len, [*tagged, *rest])) - tagger.n_words
    with_tags, without = count(tagger.n_words, "word"), count(n_raw, "word")
    logger.info("tagger: learnt from %s with tags, %s without", with_tags, without)
    return tagger.to_bytes()


def _with_given_tags(text: InputText, steps: Steps) -> Iterator[Sentence]:
    """The sentences with the tags they have, before anything is tagged."""
    yield from reading.checked_sentences(steps.blocks(file_names(text)), "ignored", reading.KNOWN)
    yield from memory_sentences(text)
