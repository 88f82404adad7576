"""The parser as a component of spaCy pipelines. spaCy loads this module; nothing else imports it.

    nlp = spacy.blank("fr")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("vdgi", config={"model": "runs/my", "tagger": "my.tagger"})

It sets heads and relations, and with a tagger POS, TAG, MORPH and LEMMA as far as the tagger has
learnt them. White-space tokens depend on the word before them. As in spaCy's own parsers, roots
have the relation ROOT. The files are read with the first document; a saved pipeline has them
inside, as one model file, and reads no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.tokens import Doc, Token

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError, UsageError
from dynet_vdgi.models import model_file
from dynet_vdgi.parser.parser import Parser, load
from dynet_vdgi.settings.settings import MODEL_NAME

UNKNOWN = "_"


def make(nlp: Language, name: str, model: str, tagger: str, retag: bool, text: str) -> Component:
    """The component of these settings."""
    return Component(model, tagger, retag, text)


@dataclass
class Component:
    """Parses documents, those of a batch together; "" stands for none.

    Args:
        model: a model file, the folder of a run, or "universal".
        tagger: the file of a tagger, for words without POS, instead of the model's own.
        retag: replace the tags that words have.
        text: CoNLL-U, for the parser "universal" to measure; otherwise it measures each batch of
            documents.
    """

    model: str
    tagger: str
    retag: bool
    text: str

    @cached_property
    def parser(self) -> Parser:
        """Raises: ModelError, a file cannot be used; UsageError, a setting is missing or would have
        no effect."""
        if not self.model:
            raise UsageError('no model: nlp.add_pipe("vdgi", config={"model": "my.vdgi"})')
        parser = load(self.model, tagger=self.tagger or None)
        if self.retag and parser.steps.tagger is None:
            raise UsageError(
                "retag without a tagger has no effect: name a tagger, or leave retag out"
            )
        if self.text and not parser.needs_text:
            raise UsageError(
                f"text={self.text!r} has no effect: {self.model} was trained on a text of its own"
            )
        return parser.adapted(self.text) if self.text else parser

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """A model file with parser, measures and tagger. Raises: as `parser`."""
        return self.parser.to_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Component:
        """Takes over what `to_bytes` gave. Raises: ModelError, it is something else."""
        self.parser = Parser(model_file.load("the bytes of the pipeline", data))
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Writes the model file of `to_bytes` into a folder. Raises: as `parser`."""
        Path(path).mkdir(exist_ok=True)
        self.parser.save(Path(path, MODEL_NAME))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Component:
        """Takes over what `to_disk` wrote. Raises: ModelError, it is missing or damaged."""
        try:
            self.parser = load(Path(path, MODEL_NAME))
        except ModelError as error:
            raise ModelError(
                f"{error}; copy the whole folder of the pipeline, or save it again"
            ) from None
        return self

    def __call__(self, doc: Doc) -> Doc:
        """The document with its trees. Raises: UsageError, as `pipe`."""
        return next(self.pipe([doc]))

    def pipe(self, docs: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """The documents with their trees. Raises: UsageError, one has no ends of sentences, or no
        tags."""
        rest = iter(docs)
        while batch := list(islice(rest, max(1, batch_size))):
            places = [list(_sentences(doc)) for doc in batch]
            sentences = [_sentence(words) for words in chain.from_iterable(places)]
            if (tagger := self.parser.steps.tagger) is not None:
                sentences = tagger.predict(sentences, retag=self.retag)
                for words, sentence in zip(chain.from_iterable(places), sentences):
                    _set_tags(words, sentence)
            trees = self.parser.pipe(map(self._sentence_with_tags, sentences))
            for doc, words_of_sentences in zip(batch, places):
                _set_heads(doc, [(words, next(trees)) for words in words_of_sentences])
                yield doc

    def _sentence_with_tags(self, sentence: Sentence) -> Sentence:
        """The sentence with the tags that the model reads. Raises: UsageError, a word has none."""
        column = "pos_"
        if self.parser.model.settings.data.tags == "xpos":
            column, tags = "tag_", sentence.xpos or (UNKNOWN,) * len(sentence)
            sentence = replace(sentence, tags=tags, upos=sentence.tags)
        if UNKNOWN in sentence.tags:
            form = sentence.forms[sentence.tags.index(UNKNOWN)]
            remedy = (
                'add a tagger before "vdgi", or name one of `vdgi tag train` as config["tagger"]'
            )
            raise UsageError(f"{form!r} has no token.{column}: {remedy}")
        return sentence


def _sentences(doc: Doc) -> Iterator[list[Token]]:
    """The words of each sentence, without white space. Raises: UsageError, nobody has found
    sentences."""
    if len(doc) > 1 and not doc.has_annotation("SENT_START"):
        raise UsageError(
            'nothing has set the ends of sentences: nlp.add_pipe("sentencizer", before="vdgi")'
        )
    for span in doc.sents if len(doc) > 1 else [doc]:
        if words := [token for token in span if not token.is_space]:
            yield words


def _sentence(words: list[Token]) -> Sentence:
    """The words with what spaCy knows of them."""
    return Sentence(
        tuple([token.text or UNKNOWN for token in words]),
        tuple([token.pos_ or UNKNOWN for token in words]),
        xpos=_column_or_none([token.tag_ for token in words]),
        lemmas=_column_or_none([token.lemma_ for token in words]),
        feats=_column_or_none([str(token.morph) for token in words]),
    )


def _column_or_none(values: list[str]) -> tuple[str, ...]:
    """A column of a sentence; () if spaCy knows no word's value."""
    column = tuple([value or UNKNOWN for value in values])
    return column if any(value != UNKNOWN for value in column) else ()


def _set_tags(words: list[Token], sentence: Sentence) -> None:
    """Puts the tags of a sentence into its words."""
    columns = (
        each or ("",) * len(words) for each in (sentence.xpos, sentence.lemmas, sentence.feats)
    )
    for token, tag, *values in zip(words, sentence.tags, *columns):
        token.pos_ = tag
        token.tag_, token.lemma_, feats = ("" if value == UNKNOWN else value for value in values)
        token.set_morph(feats)


def _set_heads(doc: Doc, trees: list[tuple[list[Token], Sentence]]) -> None:
    """Puts heads and relations into the document; they tell its sentences from then on."""
    starts = [token.is_sent_start for token in doc]
    heads, relations = np.arange(len(doc)), ["dep"] * len(doc)
    for words, tree in trees:
        for token, head, relation in zip(
            words, tree.heads or (), tree.deprels or ["dep"] * len(words)
        ):
            heads[token.i] = words[head - 1].i if head else token.i
            relations[token.i] = relation if head else "ROOT"
    for k, token in enumerate(doc):
        if token.is_space:  # in the sentence that it is in
            heads[k] += -1 if not starts[k] and k else k + 1 < len(doc) and not starts[k + 1]
    offsets = (heads - np.arange(len(doc))).view(np.uint64)
    labels = np.array([doc.vocab.strings.add(relation) for relation in relations], np.uint64)
    doc.from_array([HEAD, DEP], np.stack([offsets, labels], axis=1))


SETTINGS = {"model": "", "tagger": "", "retag": False, "text": ""}

Language.factory("vdgi", default_config=SETTINGS, assigns=["token.head", "token.dep"], func=make)
