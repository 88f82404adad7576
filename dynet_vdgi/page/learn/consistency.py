"""Words of a treebank that contradict the rest of it: head, relation, tag, features or lemma.

The parser and the labeller of a few trees, learnt from the other part of the sentences, tell how
probable heads and relations are; counts of the other words tell it of the rest: of the same form
between such tags, of the same form and, unless it is the lemma, of the same ending. A value is the
more suspicious the less probable it is here, compared with its share of all words. Probabilities of
different columns are not comparable, so words are ranked by each, and what their ranks weigh is
added up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.places import Place
from dynet_vdgi.conllu.punctuation import without_punctuation
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import UsageError
from dynet_vdgi.page.learn.arc_lessons import Course, knowledge_of
from dynet_vdgi.page.text.sentence_state import NO_VALUE
from dynet_vdgi.relations.label_table import load as load_labels
from dynet_vdgi.relations.labeller import Labeller
from dynet_vdgi.words.tagger.lemmas import apply_rule, rule_of

PARTS = 2
"""Each part of the sentences is parsed by what the others have taught."""

WEIGHTS = {"tag": 1, "features": 1, "lemma": 1, "head": 2, "relation": 2}
RANKS_ADDED = 20
"""A word counts as the sum of weight / (rank + RANKS_ADDED) over its columns; chosen on Basque-BDT
and Italian-ParTUT."""

LEAST_PROBABILITY, LEAST_UNSUSPICIOUS = 1e-9, 0.5
"""Probabilities below the first count as it; from the second on, nothing is suspicious."""

Contexts = Sequence[Hashable]
"""What surrounds a word, from the coarsest to the finest."""

Columns = dict[str, tuple[str, Contexts]]
"""The value of each column of a word, with its contexts."""


def inconsistent_words(names: Sequence[str], course: Course | None = None) -> list[Place]:
    """The words of files, as one treebank, whose annotation is improbable, the most suspicious
    first.

    Raises: UsageError, there is no sentence of 2 to 40 words to learn from; DataError.
    """
    numbered: list[tuple[int, Sentence]] = []  # by their numbers in their files
    for name in names:
        numbered += enumerate(reading.read(name, heads="partial"), 1)
    words = []  # by sentence and place from 0
    for k, (_, sentence) in enumerate(numbered):
        words += [(k, w) for w, tag in enumerate(sentence.tags) if tag != "PUNCT"]
    columns = [_columns(numbered[k][1], w) for k, w in words]
    parsed = _parsed([sentence for _, sentence in numbered], course or Course.of())
    weighed: dict[int, list[tuple[float, int, Place]]] = defaultdict(list)
    for column, weight in WEIGHTS.items():
        kinds = [
            (of_word["tag"][0] if column == "features" else "", of_word[column][0])
            for of_word in columns
        ]
        shares, n_of_tag = Counter(kinds), Counter(tag for tag, _ in kinds)
        items = [of_word[column] for of_word in columns]
        scores = []
        for at, (p, other, times) in enumerate(chances(items, column == "lemma")):
            (k, w), (tag, value) = words[at], kinds[at]
            number, sentence = numbered[k]
            share = shares[tag, value] / n_of_tag[tag]
            if column in ("head", "relation"):
                p, guess, n_words = parsed.get((k, w), NOT_PARSED)[column]
                share = 1 / n_words if column == "head" else share
                other = ", ".join(filter(None, (other, guess and f"parsed {guess}")))
            elif column == "lemma" and sentence.lemmas:
                value, share = sentence.lemmas[w], 1.0
                other = (
                    apply_rule(other, sentence.forms[w]) if other not in ("", NO_VALUE) else other
                )
            if p < LEAST_UNSUSPICIOUS:
                place = Place.of(sentence, number, w + 1, f"{column} {value}", other, times)
                scores.append((share / max(p, LEAST_PROBABILITY), at, place))
        scores.sort(key=lambda score: -score[0])
        for rank, (_, at, place) in enumerate(scores):
            weighed[at].append((weight / (rank + RANKS_ADDED), -rank, place))
    most_suspicious_first = sorted(
        weighed.values(), key=lambda of_word: -sum(part for part, *_ in of_word)
    )
    return [max(of_word, key=lambda one: one[1])[-1] for of_word in most_suspicious_first]


def _columns(sentence: Sentence, w: int) -> Columns:
    """The value of each column of a word, counted from 0, with its contexts."""
    forms, tags = ("", *sentence.forms, ""), ("", *sentence.tags, "")
    lemmas, feats = sentence.lemmas or sentence.forms, sentence.feats
    form, tag, lemma = forms[w + 1].lower(), tags[w + 1], lemmas[w]
    head = sentence.heads[w] if sentence.heads else -1
    relation = sentence.deprels[w] if sentence.deprels else NO_VALUE
    above, head_lemma = (tags[head], lemmas[head - 1]) if head > 0 else ("ROOT", "")
    ends = [form[-n:] for n in (1, 2, 3, 4)]
    of_feats = "", tag, (tag, relation), *((tag, end) for end in ends[:3]), (tag, ends[1], relation)
    side = f"{above} {'before' if head <= w else 'after'}" if head > 0 else above
    ngram = forms[w].lower(), form, forms[w + 2].lower()
    return {
        "head": (side, (tag, (tag, relation), (tag, lemma), ngram)),
        "relation": (relation, ((tag, side), (tag, lemma, side), (tag, lemma, side, head_lemma))),
        "tag": (tag, ("", (tags[w], tags[w + 2]), *ends, form, (form, tags[w], tags[w + 2]))),
        "features": (
            feats[w] if feats else NO_VALUE,
            (*of_feats, (tag, form), (tag, form, relation)),
        ),
        "lemma": (
            rule_of(forms[w + 1], lemma) if sentence.lemmas and lemma != NO_VALUE else NO_VALUE,
            ((tag, form),),
        ),
    }


def chances(
    items: Sequence[tuple[str, Contexts]], is_open: bool = False
) -> list[tuple[float, str, str]]:
    """How probable each value is by all others in its contexts, finer ones smoothed by coarser
    ones.

    `is_open`: there are more values than those seen, and a word met once has none that is
    improbable. With the most frequent other value where the word is most alike, and how often the
    two are there.

    >>> chances([("a", [0]), ("a", [0]), ("a", [0]), ("b", [0])])[2:]
    [(0.6, 'b', '3 : 1'), (0.2, 'a', '1 : 3')]
    """
    counts: dict[Hashable, Counter[str]] = defaultdict(Counter)
    for value, contexts in items:
        for level in enumerate(contexts):
            counts[level][value] += 1
    usual = {level: (values.total(), values.most_common(2)) for level, values in counts.items()}
    n_values = len({value for value, _ in items})
    probable = []
    for value, contexts in items:
        p, other, times = 0.5 if is_open else 1 / n_values, "", ""
        for level in enumerate(contexts):
            values, (total, best) = counts[level], usual[level]
            p = (values[value] - 1 + len(values) * p) / (total - 1 + len(values))
            rest = [pair for pair in best if pair[0] != value]
            if rest:
                other, times = rest[0][0], f"{values[value]} : {rest[0][1]}"
        probable.append((p, other, times))
    return probable


Parsed = dict[str, tuple[float, str, int]]
"""Of head and relation of a word: the probability, the parser's own choice if it is another one,
and the number of words that could be the head."""

NOT_PARSED: Parsed = {"head": (1.0, "", 1), "relation": (1.0, "", 1)}


def _parsed(sentences: Sequence[Sentence], course: Course) -> dict[tuple[int, int], Parsed]:
    """What is parsed of the words with heads, by sentence and place from 0."""
    pairs = [without_punctuation(sentence) for sentence in sentences]
    trees = [tree for tree, _ in pairs]
    knowledge = knowledge_of(trees, course)
    if knowledge is None:
        raise UsageError("there is no sentence of 2 to 40 words to learn from")
    parsed: dict[tuple[int, int], Parsed] = {}
    for part in range(PARTS):
        others = [tree for k, tree in enumerate(trees) if k % PARTS != part and len(tree) > 1]
        numbers = [k for k in range(part, len(trees), PARTS) if len(trees[k])]
        crf = course.settings.learner().crf.fit(others, knowledge.base)
        labeller = Labeller(load_labels(), log_p=knowledge.base.log_p)
        labeller.fit(others, verb_order=knowledge.prior.text.verb_order)
        rows = iter(labeller.chances([trees[k] for k in numbers]))
        column_of = {name: y for y, name in enumerate(labeller.names)}
        for k, marginals in zip(numbers, crf.marginals([trees[k] for k in numbers])):
            tree, places = pairs[k]
            relations = tree.deprels or (NO_VALUE,) * len(tree)
            for d, (head, relation) in enumerate(zip(tree.heads or (), relations)):
                row, best = next(rows), int(marginals[:, d].argmax())
                if head < 0:
                    continue
                p_relation = float(row[column_of[relation]]) if relation in column_of else 0.0
                best_head = f"{places[best - 1]} {tree.forms[best - 1]}" if best else "0 ROOT"
                label = labeller.names[int(row.argmax())]
                parsed[k, places[d] - 1] = {
                    "head": (
                        float(marginals[head, d]),
                        best_head if best != head else "",
                        len(tree),
                    ),
                    "relation": (
                        p_relation if head else 1.0,
                        label if label != relation else "",
                        len(tree),
                    ),
                }
    return parsed
