"""ELAN's EAF: annotations on tiers, some with times, others below annotations of another tier."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

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
from dynet_vdgi.converters.tiers import (
    MORPHS,
    NAME,
    OUTER,
    TEXT,
    WORDS,
    Annotation,
    Tier,
    assign,
    language_of,
)
from dynet_vdgi.converters.xml_tree import Node, parse
from dynet_vdgi.errors import DataError

DEEPEST = 30
"""Tiers below each other."""

Times = Mapping[str, tuple[float | None, bool]]
"""By time slot: its time, or the one between its neighbours, and whether the file gives it."""


def read(
    source: ForeignFile, losses: Losses, language: str, roles: Mapping[str, str]
) -> Iterator[Utterance]:
    """The sentences of all speakers in the order of their times.

    language: of translations whose tiers do not say theirs. roles: of tiers or types of tiers, by
    name.

    Raises: DataError, with the line: no sound XML, no EAF, tiers in a circle, two tiers or
    annotations of one name, nothing that is a text.
    """
    root = parse(source)
    if root.tag != "ANNOTATION_DOCUMENT":
        raise DataError(source.name, root.line, f"<{root.tag}>: no EAF", "save it in ELAN")
    times = _times(root)
    kinds = {
        node.get("LINGUISTIC_TYPE_ID"): node.get("CONSTRAINTS")
        for node in root.named("LINGUISTIC_TYPE")
    }
    tiers: dict[str, Tier] = {}
    for node in root.named("TIER"):
        key = node.get("TIER_ID")
        if key in tiers:
            message = f"a second tier is called {key[:40]!r}"
            raise DataError(source.name, node.line, message, "give each a TIER_ID of its own")
        tiers[key] = _tier(node, kinds, times, losses)
    _check_keys(tiers, source.name)
    assign(tiers, _tiers_in_order(tiers, source.name), roles, losses)
    _adopt(tiers)
    order = _tiers_in_order(tiers, source.name)
    below = _annotations_below(tiers, losses)
    units = [tier for tier in order if _is_unit(tier, tiers)]
    if not any(tier.annotations for tier in units):
        names = ", ".join(repr(key) for key in list(tiers)[:8]) or "none"
        hint = f"name it: --tier text=TIER; there are: {names}"
        raise DataError(source.name, None, "no tier with sentences", hint)
    _add_unread(order, units, losses)
    sound = next(
        (node.get("RELATIVE_MEDIA_URL") or node.get("MEDIA_URL") for node in _media(root)), ""
    )
    sentences = [(one, tier) for tier in units for one in _annotations_in_order(tier.annotations)]
    if all(one.begin is not None for one, _ in sentences):
        sentences.sort(key=lambda each: each[0].begin or 0.0)
    _count_overlaps(sentences, losses)
    for one, tier in sentences:
        utterance = _utterance(one, tier, tiers, below, language, losses)
        if not utterance.words:
            losses.add("annotations without words: left out, with what is below them", one.line)
            continue
        if sound:
            utterance.comments.append(("sound_url", sound))
        yield utterance


def names_in(source: ForeignFile) -> set[str]:
    """The names of tiers, with and without the speaker, and of their types. Raises: DataError, no
    sound XML."""
    tiers = parse(source).named("TIER")
    names = {node.get(key) for node in tiers for key in ("TIER_ID", "LINGUISTIC_TYPE_REF")}
    return names | {name.partition("@")[0] for name in names}


def _media(root: Node) -> Iterator[Node]:
    for header in root.named("HEADER"):
        yield from header.named("MEDIA_DESCRIPTOR")


def _times(root: Node) -> Times:
    """The times of all slots; those without one lie evenly between their neighbours."""
    slots = [slot for order in root.named("TIME_ORDER") for slot in order.named("TIME_SLOT")]
    values = [_number(slot.get("TIME_VALUE")) for slot in slots]
    given = [n for n, value in enumerate(values) if value is not None]
    times: dict[str, tuple[float | None, bool]] = {}
    for n, (slot, value) in enumerate(zip(slots, values)):
        is_given = value is not None
        if value is None and given:
            place = bisect_right(given, n)
            before, after = given[max(place - 1, 0)], given[min(place, len(given) - 1)]
            first, last = values[before] or 0.0, values[after] or 0.0
            value = first
            if after > before:
                value += (last - first) * (n - before) / (after - before)
        times[slot.get("TIME_SLOT_ID")] = value, is_given
    return times


def _number(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def _tier(node: Node, kinds: Mapping[str, str], times: Times, losses: Losses) -> Tier:
    key, kind = node.get("TIER_ID"), node.get("LINGUISTIC_TYPE_REF")
    speaker = node.get("PARTICIPANT") or key.partition("@")[2]
    tier = Tier(
        key,
        kind,
        node.get("PARENT_REF"),
        speaker,
        node.get("LANG_REF"),
        kinds.get(kind, ""),
        node.line,
    )
    for annotation in node.named("ANNOTATION"):
        for one in annotation.children:
            value = next((child.text for child in one.named("ANNOTATION_VALUE")), "")
            begin, is_begin = times.get(one.get("TIME_SLOT_REF1"), (None, False))
            end, is_end = times.get(one.get("TIME_SLOT_REF2"), (None, False))
            if one.tag == "ALIGNABLE_ANNOTATION" and not (is_begin and is_end):
                losses.add(
                    "annotations without both of their times: placed between their neighbours",
                    one.line,
                )
            if begin is not None and end is not None and end < begin:
                losses.add("annotations that end before they begin", one.line)
            tier.annotations.append(
                Annotation(
                    one.get("ANNOTATION_ID"),
                    value,
                    one.line,
                    begin,
                    end,
                    is_begin and is_end,
                    one.get("ANNOTATION_REF"),
                    one.get("PREVIOUS_ANNOTATION"),
                )
            )
    return tier


def _tiers_in_order(tiers: Mapping[str, Tier], name: str) -> list[Tier]:
    """The tiers, parents first. Raises: DataError, one is below itself, or too many are below each
    other."""
    depths: dict[str, int] = {}
    for tier in tiers.values():
        depth, above = 0, tier
        while above.parent in tiers:
            depth, above = depth + 1, tiers[above.parent]
            if depth > DEEPEST:
                message = (
                    f"tier {tier.key[:40]!r} is below itself, or below more than {DEEPEST} others"
                )
                raise DataError(name, tier.line, message, "mend PARENT_REF")
        depths[tier.key] = depth
    return sorted(tiers.values(), key=lambda tier: depths[tier.key])


def _adopt(tiers: Mapping[str, Tier]) -> None:
    """Puts tiers of words, translations and notes that stand alone below the text
    of their speaker."""
    roots = [tier for tier in tiers.values() if tier.parent not in tiers]
    texts = [tier for tier in roots if tier.role in (TEXT, NAME)]
    for tier in roots:
        if tier.role in (TEXT, NAME, OUTER, ""):
            continue
        same = [text for text in texts if text.speaker == tier.speaker] or (
            texts if len(texts) == 1 else []
        )
        if len(same) == 1:
            tier.parent = same[0].key


def _is_unit(tier: Tier, tiers: Mapping[str, Tier]) -> bool:
    """Whether the annotations of a tier are sentences: nothing but whole texts and paragraphs is
    above it."""
    above = tiers.get(tier.parent)
    while above is not None and above.role == OUTER:
        above = tiers.get(above.parent)
    return above is None and tier.role in (TEXT, NAME, WORDS)


Below = Mapping[str, Mapping[str, Sequence[Annotation]]]
"""By annotation and tier: the annotations below it, in order."""


def _check_keys(tiers: Mapping[str, Tier], name: str) -> None:
    """Raises: DataError, two annotations have one ANNOTATION_ID: one could be below itself, or
    below many."""
    met: set[str] = set()
    for tier in tiers.values():
        for one in tier.annotations:
            if one.key and one.key in met:
                message = f"a second annotation is called {one.key[:40]!r}"
                raise DataError(name, one.line, message, "give each an ANNOTATION_ID of its own")
            met.add(one.key)


def _annotations_below(tiers: Mapping[str, Tier], losses: Losses) -> Below:
    below: dict[str, dict[str, list[Annotation]]] = defaultdict(lambda: defaultdict(list))
    for tier in tiers.values():
        parent = tiers.get(tier.parent)
        if parent is None:
            continue
        keys = {one.key for one in parent.annotations}
        timed = sorted(
            [one for one in parent.annotations if one.begin is not None],
            key=lambda one: one.begin or 0.0,
        )
        begins = [one.begin or 0.0 for one in timed]
        for one in tier.annotations:
            key = one.parent if one.parent in keys else ""
            if not one.parent and one.begin is not None and one.end is not None and timed:
                middle = (one.begin + one.end) / 2
                place = bisect_right(begins, middle) - 1
                if place >= 0 and middle <= (timed[place].end or 0.0):
                    key = timed[place].key
            if key:
                below[key][tier.key].append(one)
            else:
                losses.add("annotations below no annotation: left out", one.line, repr(one.value))
    return {
        key: {name: _annotations_in_order(ones) for name, ones in each.items()}
        for key, each in below.items()
    }


def _annotations_in_order(annotations: Sequence[Annotation]) -> list[Annotation]:
    """Annotations by their times or, without,
    each after the one that it names as its previous one."""
    if all(one.begin is not None for one in annotations):
        return sorted(annotations, key=lambda one: one.begin or 0.0)
    keys = {one.key for one in annotations}
    after: dict[str, list[Annotation]] = defaultdict(list)
    for one in annotations:
        after[one.previous if one.previous in keys else ""].append(one)
    ordered: list[Annotation] = []
    waiting = after.pop("", [])[::-1]
    while waiting:
        one = waiting.pop()
        ordered.append(one)
        waiting += after.pop(one.key, [])[::-1]
    # whose previous ones form a circle
    return ordered + [one for ones in after.values() for one in ones]


def _add_unread(order: Sequence[Tier], units: Sequence[Tier], losses: Losses) -> None:
    """Counts the annotations of tiers that have no role,
    or nothing above them that is a sentence."""
    read = {tier.key for tier in units}
    for tier in order:  # parents first
        if tier.parent in read and tier.role:
            read.add(tier.key)
        if tier.key not in read and tier.role != OUTER and tier.annotations:
            what = (
                f"annotations of the tier {tier.key!r}: not read (--tier ROLE=TIER says what it is)"
            )
            losses.add(what, tier.line, number=len(tier.annotations))


def _count_overlaps(sentences: Sequence[tuple[Annotation, Tier]], losses: Losses) -> None:
    latest, last = 0.0, ""
    for one, tier in sentences:
        if one.begin is not None and one.begin < latest and tier.key != last:
            losses.add(
                "sentences that overlap with another speaker's: one after the other", one.line
            )
        if (one.end or 0.0) > latest:
            latest, last = one.end or 0.0, tier.key


def _descendants(
    key: str, role: str, tiers: Mapping[str, Tier], below: Below
) -> Iterator[tuple[Annotation, Tier]]:
    """The annotations of tiers with this role below an annotation, at any depth."""
    for name, ones in below.get(key, {}).items():
        tier = tiers[name]
        for one in ones:
            if tier.role == role:
                yield one, tier
            else:
                yield from _descendants(one.key, role, tiers, below)


def _value(key: str, role: str, tiers: Mapping[str, Tier], below: Below) -> str:
    """The first value of a role directly below an annotation; "" for none."""
    for name, ones in below.get(key, {}).items():
        if tiers[name].role == role:
            for one in ones:
                if one.value:
                    return one.value
    return ""


def _first_value(
    one: Annotation, tier: Tier, role: str, tiers: Mapping[str, Tier], below: Below
) -> str:
    """The value of an annotation if its tier has a role, else the first one with this role below
    it; "" for none."""
    if tier.role == role:
        return one.value
    values = [other.value for other, _ in _descendants(one.key, role, tiers, below)]
    return next(filter(None, values), "")


def _utterance(
    one: Annotation,
    tier: Tier,
    tiers: Mapping[str, Tier],
    below: Below,
    language: str,
    losses: Losses,
) -> Utterance:
    utterance = Utterance([], one.line)
    add = utterance.comments.append
    if tier.speaker:
        add(("speaker", tier.speaker))
    if one.is_timed:
        add(("sent_timecode", f"{one.begin:.0f}, {one.end:.0f}"))
    for role, key in (("translation", "text"), ("literal", "literal"), ("note", "note")):
        for other, other_tier in _descendants(one.key, role, tiers, below):
            code = "" if role == "note" else language_of(other_tier, language)
            add((comment_key(key, code), other.value))
    utterance.name = _first_value(one, tier, NAME, tiers, below)
    utterance.text = _first_value(one, tier, TEXT, tiers, below)
    words_with_tiers = (
        [(one, tier)] if tier.role == WORDS else list(_descendants(one.key, WORDS, tiers, below))
    )
    if {other_tier.key for _, other_tier in words_with_tiers} != {
        other_tier.key for _, other_tier in words_with_tiers[:1]
    }:
        losses.add("sentences with words on several tiers: the first tier is taken", one.line)
        words_with_tiers = [each for each in words_with_tiers if each[1] is words_with_tiers[0][1]]
    words = [_word(word, tiers, below, losses) for word, _ in words_with_tiers if word.value]
    if len(words) < len(words_with_tiers):
        losses.add(
            "words without a form: left out", one.line, number=len(words_with_tiers) - len(words)
        )
    if words:
        _add_parallel(words, one.key, tiers, below, losses)
    elif utterance.text:
        losses.add(
            "sentences without word division: divided at blanks and marks",
            one.line,
            repr(utterance.text),
        )
        words, utterance.text = words_of_text(utterance.text, one.line), ""
    utterance.words = words
    return utterance


def _word(one: Annotation, tiers: Mapping[str, Tier], below: Below, losses: Losses) -> GlossedWord:
    word = GlossedWord(one.value, line=one.line)
    word.lemma = _value(one.key, "lemma", tiers, below) or "_"
    word.tag = _value(one.key, "pos", tiers, below) or ("PUNCT" if is_mark(one.value) else "_")
    if gloss := _value(one.key, "gloss", tiers, below):
        word.notes.append(("Gloss", gloss))
    if one.is_timed:
        word.notes += [("AlignBegin", f"{one.begin:.0f}"), ("AlignEnd", f"{one.end:.0f}")]
    morphs = []
    for morph, _ in _descendants(one.key, MORPHS, tiers, below):
        gloss, lemma, tag = (
            _value(morph.key, role, tiers, below) for role in ("gloss", "lemma", "pos")
        )
        morphs.append(Morph(morph.value, gloss, lemma, tag))
    add_morphs(word, morphs, losses)
    return word


def _add_parallel(
    words: Sequence[GlossedWord], key: str, tiers: Mapping[str, Tier], below: Below, losses: Losses
) -> None:
    """Adds lemmas, tags and glosses from tiers beside the words',
    if they have one for each word."""
    for name, ones in below.get(key, {}).items():
        role = tiers[name].role
        if role not in ("lemma", "pos", "gloss"):
            continue
        if len(ones) != len(words):
            what = (
                f"annotations of the tier {name!r} beside the words, but not one for each: left out"
            )
            losses.add(what, ones[0].line, number=len(ones))
            continue
        for word, one in zip(words, ones):
            if role == "lemma" and word.lemma == "_" and one.value:
                word.lemma = one.value
            elif role == "pos" and word.tag == "_" and one.value:
                word.tag = one.value
            elif (
                role == "gloss" and one.value and not any(note == "Gloss" for note, _ in word.notes)
            ):
                word.notes.append(("Gloss", one.value))
