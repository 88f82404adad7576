"""Tag words: UPOS, FEATS, XPOS, lemmas; learn a tagger.

FILE is CoNLL-U with forms. Words without UPOS get one, and FEATS, XPOS and lemmas as far as the
tagger has learnt any; words with UPOS keep what they have, unless --retag. A tagger learns from
some tagged sentences, fifty for a start, and from more text without tags.

  vdgi tag train tagged.conllu --text more.conllu -o my.tagger
  vdgi tag my.tagger new.conllu -o new.tagged.conllu
  vdgi tag evaluate my.tagger gold.conllu
  vdgi tag list more.conllu -n 200 -o words.tsv
"""

from __future__ import annotations

import argparse
import logging
import time
from collections import Counter
from itertools import chain

from dynet_vdgi.commands import add_ignore_feats, add_output, add_tasks, model_first
from dynet_vdgi.commands.options import Options
from dynet_vdgi.conllu.corpus import read, words_in
from dynet_vdgi.conllu.repeated import without_superseded
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import count
from dynet_vdgi.system.text_tables import aligned

logger = logging.getLogger("dynet_vdgi")

_MODEL = "a tagger, made by vdgi tag train, or a run that keeps one"


def add_arguments(add: Options) -> None:
    """The tasks of `vdgi tag`; `vdgi tag MODEL FILE` is short for `vdgi tag words MODEL FILE`."""
    tasks = {
        "words": (_add_words, _words),
        "train": (_add_train, _train),
        "evaluate": (_add_evaluate, _evaluate),
        "list": (_add_list, _list),
    }
    add_tasks(add, tasks, usual="words")


def _add_words(add: Options) -> None:
    add("MODEL", _MODEL)
    add("FILE", "CoNLL-U; - is standard input")
    add("--retag", "replace the tags that there are")
    add("--confidence", "write TagConf= into MISC")
    add_ignore_feats(add)
    add_output(add)


def _words(arguments: argparse.Namespace) -> None:
    """Tag the words of a file; `words` may be left out.

    Everything else in the file stays as it is. With --confidence, the words that were tagged get
    TagConf= in MISC, the probability of their UPOS: vdgi choose --words lists the least sure ones,
    and vdgi parse and vdgi expect take into account that some tags are wrong. Without it they take
    all tags as right.

      vdgi tag my.tagger new.conllu -o new.tagged.conllu
      vdgi tag runs/my new.conllu --retag --confidence > new.tagged.conllu
    """
    from dynet_vdgi.conllu.writing import block_of
    from dynet_vdgi.models.run_folder import model_path
    from dynet_vdgi.parser.steps import loaded

    model_first(arguments.model, [arguments.file], "vdgi tag my.tagger")
    file_checks.check_output(arguments.output, [arguments.file, model_path(arguments.model)])
    tagger = loaded("tagger", arguments.model)
    n_words = n_given = 0
    with files.atomic_writer(arguments.output) as handle:
        for tagged in tagger.stream(arguments.file, retag=arguments.retag):
            n_words += len(tagged.sentence)
            n_given += tagged.n_given
            handle.write(block_of(tagged.noted if arguments.confidence else tagged.sentence))
    remark = f", {n_given} had tags and kept them (--retag replaces them)" if n_given else ""
    logger.info("%s%s", count(n_words, "word"), remark)


def _add_train(add: Options) -> None:
    add("[TAGGED...]", "CoNLL-U; - is standard input")
    add("--text FILE...", "CoNLL-U, tags do not matter")
    add("--tag-list FILE", "words with their usual tag")
    add_ignore_feats(add)
    add("-o --output FILE", "the tagger", required=True)
    add("--overwrite", "replace a tagger that exists")


def _train(arguments: argparse.Namespace) -> None:
    """Learn a tagger from tagged sentences, from text without tags, and from a list of words.

    TAGGED is CoNLL-U with UPOS, and with FEATS, XPOS and lemmas if the tagger is to learn them;
    words whose UPOS is _ count as text. The more text without tags, the better: it shows how
    untagged words are used.

    A list of words with their usual tag, as `vdgi tag list` writes it to be filled in, helps few
    tagged sentences and can replace them. A line has form, UPOS and FEATS with tabs between them, _
    where they are unknown. Punctuation and numbers need not be listed. A tagger that exists is
    replaced only with --overwrite.

      vdgi tag train tagged.conllu --text more.conllu -o my.tagger
      vdgi tag train --text more.conllu --tag-list words.tsv -o my.tagger
    """
    from dynet_vdgi.rule_tables.tag_warnings import in_lower_case
    from dynet_vdgi.words.tagger.tagger import Tagger

    tagged, text = files.expand(arguments.tagged), files.expand(arguments.text)
    listing = [arguments.tag_list] if arguments.tag_list else []
    if not tagged and not (listing and text):
        raise UsageError("nothing to learn from: give TAGGED files, or --tag-list with --text")
    file_checks.check_output(arguments.output, [*tagged, *text, *listing], ending=".tagger")
    file_checks.check_new(arguments.output, overwrite=arguments.overwrite)
    start = time.process_time()
    groups = [list(read(path, heads="ignored", tags="known")) for path in tagged]
    sentences = list(
        chain.from_iterable(without_superseded(groups, lambda sentence: sentence.forms))
    )
    raw: list[Sentence] = []
    for path in text:
        raw += read(path, heads="ignored", tags="known")
    if lines := in_lower_case(Counter(tag for each in sentences for tag in each.tags)):
        logger.warning("%s", lines)
    tagger = Tagger().fit(sentences, raw, tag_list=arguments.tag_list)
    tagger.save(arguments.output)
    n_raw = sum(len(sentence) for sentence in [*sentences, *raw]) - tagger.n_words
    numbers = count(tagger.n_words, "word"), count(n_raw, "word")
    logger.info(
        "%s with tags, %s without (%.1f CPU seconds)", *numbers, time.process_time() - start
    )
    logger.info("%s", tagger.told)


def _add_evaluate(add: Options) -> None:
    add("MODEL", _MODEL)
    add("GOLD", "CoNLL-U with gold tags; - is standard input")
    add_ignore_feats(add)


def _evaluate(arguments: argparse.Namespace) -> None:
    """Score a tagger on a file with gold tags.

    The words of GOLD are tagged as if they had no tags. The table has the words that get the gold
    UPOS, XPOS, FEATS (all of a word's), UPOS and FEATS, and lemma. Words of which GOLD does not say
    it (_) are left out: a message tells how many. FEATS _ means no features and counts, if the word
    has UPOS.

      vdgi tag evaluate my.tagger gold.conllu
    """
    from dynet_vdgi.parser.steps import loaded
    from dynet_vdgi.words.tagger.tag_scores import scores_of

    model_first(arguments.model, [arguments.gold], "vdgi tag evaluate my.tagger")
    tagger = loaded("tagger", arguments.model)
    gold = list(read(arguments.gold, heads="ignored", tags="known"))
    scores = scores_of(gold, tagger.predict(gold, retag=True))
    if not any(scores.scored.values()):
        hint = "this is a text to tag, not one to score by"
        raise DataError(
            files.shown(arguments.gold), None, "no word has UPOS, XPOS, FEATS or a lemma", hint
        )
    rows = [["", "right", "words", "%"]]
    for name, share in scores.accuracy.items():
        shown = "-" if share is None else f"{100 * share:.2f}"
        rows.append([name, str(scores.right[name]), str(scores.scored[name]), shown])
    print(aligned(rows, left=1))
    for name in ("UPOS", "lemma"):
        if missing := scores.n_words - scores.scored[name]:
            logger.info("%s of the gold file left out, without %s", count(missing, "word"), name)


def _add_list(add: Options) -> None:
    add("TEXT...", "text or CoNLL-U; - is standard input", dest="texts")
    add("-n --number N", "how many words", default=200, least=1)
    add_ignore_feats(add)
    add_output(add, "is kept, unless you say --overwrite")
    add("--overwrite", "replace a list that exists, with its tags")


def _list(arguments: argparse.Namespace) -> None:
    """List the most frequent words of a text, to fill in their tags.

    The output has a line for each word: form, _ for UPOS, _ for FEATS, count, with tabs between.
    Forms are lower-cased; punctuation and numbers are left out. TEXT is CoNLL-U (a name in .conllu)
    or plain text with spaces between words. A list that exists, which you may have filled in, is
    replaced only with --overwrite.

      vdgi tag list more.conllu -n 200 -o words.tsv
      vdgi tag train --text more.conllu --tag-list words.tsv -o my.tagger   # when the tags are filled in
    """
    from dynet_vdgi.conllu.nfc import nfc

    names = files.expand(arguments.texts)
    file_checks.check_output(arguments.output, names, ending=".tsv")
    file_checks.check_new(arguments.output, overwrite=arguments.overwrite)
    counts: Counter[str] = Counter()
    for word in chain.from_iterable(words_in(names)):
        word = nfc(word)
        if any(letter.isalpha() for letter in word):
            counts[word] += 1
    by_count = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    with files.atomic_writer(arguments.output) as handle:
        for word, number in by_count[: arguments.number]:
            handle.write(f"{word}\t_\t_\t{number}\n")
