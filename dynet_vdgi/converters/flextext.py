"""FLExText, the XML of FieldWorks Language Explorer (FLEx), also as SayMore and ELAN write it."""

from __future__ import annotations

from collections.abc import Iterator

from dynet_vdgi.converters.interlinear import (
    GlossedWord,
    Losses,
    Utterance,
    comment_key,
    is_mark,
    words_of_text,
)
from dynet_vdgi.converters.morphs import Morph, add_morphs
from dynet_vdgi.converters.sources import ForeignFile
from dynet_vdgi.converters.xml_tree import Node, parse
from dynet_vdgi.errors import DataError

_OF_TEXTS = {"title", "title-abbreviation", "source", "comment"}

_OF_MORPHS = {"txt", "cf", "gls", "msa", "hn", "variantTypes"}

_COMMENTS = {"gls": "text", "lit": "literal", "note": "note"}


def read(source: ForeignFile, losses: Losses) -> Iterator[Utterance]:
    """The phrases of all texts, in their order.

    Raises: DataError, with the line: no sound XML, or no FLExText.
    """
    root = parse(source)
    texts = [root] if root.tag == "interlinear-text" else root.named("interlinear-text")
    if not texts:
        hint = "in FLEx: Texts & Words, File, Export Interlinear, FLExText"
        raise DataError(
            source.name, root.line, f"<{root.tag}> without <interlinear-text>: no FLExText", hint
        )
    for text in texts:
        yield from _text(text, losses)


def _text(text: Node, losses: Losses) -> Iterator[Utterance]:
    media = {node.get("guid"): node.get("location") for node in text.below("media")}
    title = next(
        (item.text for kind in ("title", "title-abbreviation") for item in _items(text, kind)), ""
    )
    about = [
        ("meta::" + comment_key(item.get("type"), item.get("lang")), item.text)
        for item in text.named("item")
        if item.text and item.get("type") in _OF_TEXTS
    ]
    begins: str | None = title
    for paragraph in list(text.below("paragraph")) or [text]:
        is_first = True
        for phrase in paragraph.below("phrase"):
            utterance = _phrase(phrase, media, losses)
            if not utterance.words:
                losses.add("phrases without words: left out, with their translations", phrase.line)
                continue
            utterance.begins_paragraph = is_first
            if begins is not None:
                utterance.document = begins
                utterance.comments = about + utterance.comments
            begins, is_first = None, False
            yield utterance


def _items(node: Node, kind: str) -> list[Node]:
    """The items of this type that have a text."""
    return [item for item in node.named("item") if item.get("type") == kind and item.text]


def _phrase(phrase: Node, media: dict[str, str], losses: Losses) -> Utterance:
    utterance = Utterance([], phrase.line)
    add = utterance.comments.append
    if phrase.get("speaker"):
        add(("speaker", phrase.get("speaker")))
    if sound := media.get(phrase.get("media-file")):
        add(("sound_url", sound))
    begin, end = phrase.get("begin-time-offset"), phrase.get("end-time-offset")
    if begin or end:
        add(("sent_timecode", f"{begin or '_'}, {end or '_'}"))
    baseline: list[str] = []
    for item in phrase.named("item"):
        kind, language = item.get("type"), item.get("lang")
        if kind == "segnum":
            utterance.name = item.text
        elif kind in ("txt", "text"):
            baseline.append(item.text)
        else:
            add((comment_key(_COMMENTS.get(kind, kind) or "item", language), item.text))
    utterance.words = list(_words(phrase, losses))
    utterance.text = next(filter(None, baseline), "")
    if not utterance.words and utterance.text:
        losses.add(
            "phrases without word division: divided at blanks and marks",
            phrase.line,
            repr(utterance.text),
        )
        utterance.words, utterance.text = words_of_text(utterance.text, phrase.line), ""
    return utterance


def _words(node: Node, losses: Losses) -> Iterator[GlossedWord]:
    for child in node.children:
        if child.tag == "words":
            yield from _words(child, losses)
        elif child.tag == "phrase":
            losses.add("phrases inside phrases: their words follow those before", child.line)
            yield from _words(child, losses)
        elif child.tag == "word" and (child.named("words") or child.named("word")):
            losses.add("words that consist of words: these are taken", child.line)
            yield from _words(child, losses)
        elif child.tag == "word":
            yield from _word(child, losses)
        elif child.tag == "scrMilestone":
            losses.add("chapter and verse numbers: left out", child.line)


def _word(node: Node, losses: Losses) -> Iterator[GlossedWord]:
    """The word of an element; several if it is punctuation with blanks; none if it is empty."""
    if marks := _items(node, "punct"):
        for mark in marks[0].text.split():
            yield GlossedWord(mark, line=node.line)
        return
    forms = _items(node, "txt")
    form = forms[0].text if forms else node.text
    if not form:
        losses.add("words without a form: left out", node.line)
        return
    word = GlossedWord(form, line=node.line)
    if is_mark(form):
        word.tag = "PUNCT"
    for other in forms[1:]:
        word.notes.append((comment_key("Form", other.get("lang")), other.text))
    glosses = sorted(_items(node, "gls"), key=lambda item: item.get("lang") != "en")
    for n, gloss in enumerate(glosses):
        word.notes.append((comment_key("Gloss", gloss.get("lang")) if n else "Gloss", gloss.text))
    if tags := _items(node, "pos"):
        word.tag = tags[0].text
    for item in node.named("item"):
        if item.get("type") not in ("txt", "gls", "pos"):
            losses.add(
                f"items of words of the type {item.get('type')!r}: left out",
                item.line,
                repr(item.text),
            )
    if node.get("morphemes") or node.named("morphemes"):
        add_morphs(word, [_morph(morph, losses) for morph in node.below("morph")], losses)
    yield word


def _morph(node: Node, losses: Losses) -> Morph:
    texts = {kind: items[0].text for kind in _OF_MORPHS if (items := _items(node, kind))}
    if any(len(_items(node, kind)) > 1 for kind in _OF_MORPHS):
        losses.add("morphs in a second language or script: the first is taken", node.line)
    for item in node.named("item"):
        if item.get("type") not in _OF_MORPHS:
            losses.add(
                f"items of morphs of the type {item.get('type')!r}: left out",
                item.line,
                repr(item.text),
            )
    return Morph(
        texts.get("txt") or texts.get("cf", ""),
        texts.get("gls", ""),
        texts.get("cf", ""),
        texts.get("msa", ""),
        node.get("type"),
    )
