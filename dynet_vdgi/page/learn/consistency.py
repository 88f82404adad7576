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
from dynet_vdgi.words.tagger.lemmas import applied, rule_of

PARTS = 2
"""Each part of the sentences is parsed by what the others have taught."""

WEIGHTS = {"tag": 1, "features": 1, "lemma": 1, "head": 2, "relation": 2}

RANK_OFFSET = 20
"""A word counts as the sum of weight / (rank + RANK_OFFSET) over its columns; both were chosen on
Basque-BDT and Italian-ParTUT."""

LEAST_CHANCE, MOST_CHANCE = 1e-9, 0.5
"""Probabilities: those below the least count as it, and what is more probable than the other is not
suspicious."""

Contexts = Sequence[Hashable]
"""What surrounds a word, from the coarsest to the finest."""


Opinion = tuple[float, str, int]
"""The probability of a value by the parser of a few trees, its own choice if that is another one,
and the number of values that there could be."""


def inconsistent_words(names: Sequence[str], course: Course | None = None) -> list[Place]:
    """The words of files, as one treebank, whose annotation is improbable, the most suspicious
    first.

    Raises: UsageError, there is no sentence of 2 to 40 words to learn from; DataError.
    """
    numbers, sentences = [], []
    for name in names:
        for number, sentence in enumerate(reading.read(name, heads="partial"), 1):
            numbers.append(number)
            sentences.append(sentence)
    words = []
    for k, sentence in enumerate(sentences):
        words += [(k, w) for w, tag in enumerate(sentence.tags) if tag != "PUNCT"]
    values = [_values_of(sentences[k], w) for k, w in words]
    opinions = _opinions(sentences, course or Course.of())
    suspicions: dict[int, list[tuple[float, int, Place]]] = defaultdict(list)
    for column, weight in WEIGHTS.items():
        # a column's values are compared with all, features with those of the tag
        kinds = []
        for word in values:
            kinds.append((word["tag"][0] if column == "features" else "", word[column][0]))
        n_of_kind, n_of_tag = Counter(kinds), Counter(tag for tag, _ in kinds)
        scores = []
        columns = [word[column] for word in values]
        for at, (p, other, times) in enumerate(chances(columns, column == "lemma")):
            (k, w), (tag, value) = words[at], kinds[at]
            sentence, share = sentences[k], n_of_kind[tag, value] / n_of_tag[tag]
            if column in ("head", "relation"):
                p, guess, n = opinions[k, w][column] if (k, w) in opinions else (1.0, "", 1)
                share = 1 / n if column == "head" else share
                other = ", ".join(filter(None, (other, guess and f"parsed {guess}")))
            elif column == "lemma" and sentence.lemmas:
                value, share = sentence.lemmas[w], 1.0
                if other not in ("", NO_VALUE):
                    other = applied(other, sentence.forms[w])
            if p < MOST_CHANCE:
                place = Place.of(sentence, numbers[k], w + 1, f"{column} {value}", other, times)
                scores.append((share / max(p, LEAST_CHANCE), at, place))
        scores.sort(key=lambda score: -score[0])
        for rank, (_, at, place) in enumerate(scores):
            suspicions[at].append((weight / (rank + RANK_OFFSET), -rank, place))
    by_sum = sorted(suspicions.values(), key=lambda each: -sum(part for part, *_ in each))
    return [max(each, key=lambda one: one[1])[-1] for each in by_sum]


def _values_of(sentence: Sentence, w: int) -> dict[str, tuple[str, Contexts]]:
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
    sums = {level: (values.total(), values.most_common(2)) for level, values in counts.items()}
    results, n_values = [], len({value for value, _ in items})
    for value, contexts in items:
        p, other, times = 0.5 if is_open else 1 / n_values, "", ""
        for level in enumerate(contexts):
            values, (total, best) = counts[level], sums[level]
            p = (values[value] - 1 + len(values) * p) / (total - 1 + len(values))
            others = [pair for pair in best if pair[0] != value]
            if others:
                other, times = others[0][0], f"{values[value]} : {others[0][1]}"
        results.append((p, other, times))
    return results


def _opinions(
    sentences: Sequence[Sentence], course: Course
) -> dict[tuple[int, int], dict[str, Opinion]]:
    """The opinions about head and relation of words with heads, by sentence and place from 0."""
    pairs = [without_punctuation(sentence) for sentence in sentences]
    trees = [tree for tree, _ in pairs]
    knowledge = knowledge_of(trees, course)
    if knowledge is None:
        raise UsageError("there is no sentence of 2 to 40 words to learn from")
    opinions = {}
    for part in range(PARTS):
        others = [tree for k, tree in enumerate(trees) if k % PARTS != part and len(tree) > 1]
        ids = [k for k in range(part, len(trees), PARTS) if len(trees[k])]
        crf = course.settings.learner().crf.fit(others, knowledge.base)
        labeller = Labeller(load_labels(), log_p=knowledge.base.log_p)
        labeller.fit(others, verb_order=knowledge.prior.text.verb_order)
        rows = iter(labeller.chances([trees[k] for k in ids]))
        column_of = {name: y for y, name in enumerate(labeller.names)}
        for k, marginals in zip(ids, crf.marginals([trees[k] for k in ids])):
            tree, places = pairs[k]
            relations = tree.deprels or (NO_VALUE,) * len(tree)
            for d, (head, relation) in enumerate(zip(tree.heads or (), relations)):
                row, best = next(rows), int(marginals[:, d].argmax())
                if head < 0:
                    continue
                best_head = f"{places[best - 1]} {tree.forms[best - 1]}" if best else "0 ROOT"
                best_label = labeller.names[int(row.argmax())]
                p_relation = 1.0  # of the root
                if head:
                    p_relation = float(row[column_of[relation]]) if relation in column_of else 0.0
                opinions[k, places[d] - 1] = {
                    "head": (
                        float(marginals[head, d]),
                        best_head if best != head else "",
                        len(tree),
                    ),
                    "relation": (
                        p_relation,
                        best_label if best_label != relation else "",
                        len(tree),
                    ),
                }
    return opinions
