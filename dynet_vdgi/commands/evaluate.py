"""Score parses against gold trees, or compare two annotations.

The first line says what was scored, because figures under different protocols cannot be compared.
By sentence length follow the directed accuracy (DDA, the share of words with the right head), the
undirected one (UDA) and that of roots. If both files have relations (DEPREL, not only root and
dep), so do the share of words whose head and relation are right (LAS, labelled attachment score)
and that of right relations, without subtypes. DDA and LAS have 95 % intervals, and each parse after
the first its difference from the first, with a p value: a bootstrap over the test sentences, which
does not cover the variation between training runs.

--baselines adds parsers that learn nothing: left and right branching, random transitions (mean of
10 draws), and the rules alone (mean of 5, ties broken at random). To see what a model adds to its
own rules, name it with --rules. --published sets all beside the figures of Li et al. (2019), and
warns if GOLD is of UD 2: theirs are of UD 1.4. Under --protocol every_word, DDA and LAS equal UAS
and LAS of the official UD scorer (CoNLL 2018).

  vdgi evaluate gold.conllu parsed.conllu --max-len 10,15,40 --by tag,rule,distance,length
  vdgi evaluate gold.conllu ours.conllu theirs.conllu --baselines --rules runs/my
  vdgi evaluate gold.conllu 'runs/*/parsed.conllu' --json

--raw scores parses of raw text, whose sentences and tokens are not the gold ones: F1 of tokens,
sentences, words, tags, lemmas and heads as in the CoNLL 2018 shared task. Both files must hold the
same characters, and heads that form trees. UAS and LAS leave out words without HEAD in GOLD, and
are - if none has one. Where multiword tokens of both files overlap without being equal, the task's
own script may align other words: its scores of words and tags then differ, in our trials by at most
.2 points.

  vdgi evaluate --raw gold.conllu from-raw-text.conllu

--agreement compares two annotations of the same characters: F1 of tokens and words as under --raw,
then agreement, Cohen's kappa and confusions over the words for which both files have a value: UPOS,
XPOS, FEATS, lemma, head (UAS, unlabelled attachment score), relation, head and relation (LAS).
Relations are compared without subtypes and, if there are any, once more with them. Last come the
sentences in which most words differ.

  vdgi evaluate --agreement anna.conllu ben.conllu --no-punct --worst 50
"""

from __future__ import annotations

import argparse
import json

from dynet_vdgi.commands import add_ignore_feats, one_file
from dynet_vdgi.commands.options import Options
from dynet_vdgi.conllu import protocols
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import plain, printable_text

*_FIRST, _LAST = protocols.SCORING_PROTOCOLS

WORST, CONFUSIONS = 5, 10
"""Lines of a list under --agreement."""


def add_arguments(add: Options) -> None:
    add("GOLD", "CoNLL-U file with gold trees, or one annotation; - is standard input")
    add(
        "[PARSE...]",
        "CoNLL-U files with parses of the same sentences, or another annotation",
        dest="parses",
    )
    add("--max-len N,N", "length limits", default="10,15,40")
    add("--protocol NAME", f"{', '.join(_FIRST)} or {_LAST}", default="standard")
    add("--by WHAT,WHAT", "also break down by tag, rule, pair, distance or length")
    rules = (
        "rules for --by rule and --baselines: a model or run folder, a rule file, "
        "or a name such as ud"
    )
    add("--rules MODEL", f"{rules} (default: best)")
    add("--baselines", "also score parsers that learn nothing")
    add("--published LANG", "also print the paper's figures of this language")
    add("--bootstrap N", "draws for intervals and p values; 0: none", default=10_000, least=0)
    add("--json", "all figures as JSON, accuracies from 0 to 1")
    add("--raw", "score parses of raw text: Tokens, Sentences, Words, UPOS, ..., LAS")
    add("--agreement", "compare GOLD, an annotation, with another one")
    add(
        "--worst N",
        f"with --agreement: most different sentences to list (default: {WORST})",
        least=0,
    )
    add(
        "--confusions N",
        f"with --agreement: confusions to list per column (default: {CONFUSIONS})",
        least=0,
    )
    add("--no-punct", "with --agreement: leave out words that are PUNCT in either file")
    add_ignore_feats(add)


def run(arguments: argparse.Namespace) -> None:
    if not arguments.parses and not arguments.baselines:
        raise UsageError("nothing to score: name a parse, or ask for --baselines")
    file_checks.check_read_once([arguments.gold, *arguments.parses])
    gold = one_file(arguments.gold, "GOLD")
    if arguments.agreement:
        _compare(gold, arguments)
    elif arguments.raw:
        from dynet_vdgi.evaluation import raw_scores

        scores_of_files = raw_scores.score_files(gold, files.expand(arguments.parses))
        if arguments.json:
            of_files = {
                name: raw_scores.to_dict(scores) for name, scores in scores_of_files.items()
            }
            print(json.dumps({"gold": gold, "parses": of_files}, indent=1))
        else:
            print(plain(raw_scores.shown(scores_of_files)))
    else:
        _score(gold, arguments)


def _score(gold: str, arguments: argparse.Namespace) -> None:
    from dynet_vdgi.evaluation import comparison, rules_only
    from dynet_vdgi.evaluation.file_scores import score_files
    from dynet_vdgi.evaluation.published import DATASETS
    from dynet_vdgi.experiments.tables import paper_tables
    from dynet_vdgi.models.run_folder import DEFAULT_RULES, rules_named

    try:
        max_lens = sorted({int(part) for part in arguments.max_len.split(",") if part.strip()})
    except ValueError:
        max_lens = [0]
    if any(limit < 1 for limit in max_lens):
        raise UsageError(
            f"--max-len {arguments.max_len}: expected numbers of words such as 10,15,40"
        )
    by = [name.strip() for name in (arguments.by or "").split(",") if name.strip()]
    language = arguments.published
    if language and language not in DATASETS:
        raise UsageError(f"--published {language}: the paper has {', '.join(DATASETS)}")
    used = rules_named(arguments.rules or DEFAULT_RULES)
    evaluations = score_files(
        gold,
        files.expand(arguments.parses),
        rules=used.rules,
        protocol=arguments.protocol,
        max_lens=[*max_lens, None],
        by=by,
        baselines=arguments.baselines,
        tags=used.tags,
    )
    if arguments.baselines and not arguments.json:
        evaluations[f"rules only: {used.name.removesuffix('.txt')}"] = evaluations.pop(
            rules_only.RULES_ONLY
        )
    comparisons = comparison.comparisons(evaluations, arguments.bootstrap)
    if arguments.json:
        content = comparison.to_dict(evaluations, comparisons)
        print(json.dumps({"gold": gold, "rules": used.name, **content}, indent=1))
        return
    published = paper_tables(evaluations, language, gold) if language else ()
    print(plain("\n\n".join([comparison.format_all(evaluations, by, comparisons), *published])))


def _compare(one: str, arguments: argparse.Namespace) -> None:
    """Prints the agreement of two annotations."""
    from dynet_vdgi.evaluation.agreement import agreement
    from dynet_vdgi.evaluation.two_files import TwoFiles

    if len(arguments.parses) != 1:
        raise UsageError("--agreement compares two files: vdgi evaluate --agreement A B")
    comparison = agreement(
        TwoFiles.read(one, arguments.parses[0]), punctuation=not arguments.no_punct
    )
    worst = WORST if arguments.worst is None else arguments.worst
    confusions = CONFUSIONS if arguments.confusions is None else arguments.confusions
    if arguments.json:
        print(json.dumps(comparison.to_dict(worst, confusions), indent=1, ensure_ascii=False))
    else:
        print(printable_text(comparison.shown(worst, confusions)))
