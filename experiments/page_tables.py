"""Tables of the pages of docs/results and docs/expect.md, each from committed rows of single runs."""

from __future__ import annotations

import csv
import re
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

import replication
from result_rows import DDA, RESULTS, Row, average, chosen, mean, means, rows
from result_tables import by_language, by_number, knowledge_table, languages_by_number, tag_table

from dynet_vdgi.evaluation import published
from dynet_vdgi.experiments import tables
from dynet_vdgi.system.text_tables import TextTable

NUMBERS = "1", "3", "10", "30", "100", "300", "1000"
"""Of trees."""


def shown(table: TextTable) -> str:
    """A table of a page, whose cells are Markdown already."""
    return table.markdown(escaped=False)


def percent(share: float | str) -> str:
    """A share in per cent, with one decimal."""
    return f"{100 * float(share):.1f}"


def off(some: Sequence[Row]) -> float:
    """The mean distance of expected and right shares, in points."""
    return 100 * sum(abs(float(row["expected"]) - float(row["right"])) for row in some) / len(some)


def expected_of_check() -> str:
    """Expected and right shares of the languages that nothing was chosen on."""
    lines = []
    for row in chosen("expect.csv", set="check"):
        difference = 100 * (float(row["expected"]) - float(row["right"]))
        shares = percent(row["expected"]), percent(row["right"])
        lines.append([row["treebank"], row["words"], *shares, f"{difference:+.1f}"])
    return shown(TextTable(["language", "words", "expected", "right", "off by"], lines))


def expected_of_branches() -> str:
    """How far predictions are off, by branch, where the parser had not seen the branch."""
    left_out = chosen("expect.csv", set="left out")
    lines = []
    for branch in sorted({row["branch"] for row in left_out}):
        of_branch = [row for row in left_out if row["branch"] == branch]
        n_treebanks = len({row["treebank"] for row in of_branch})
        lines.append([branch, str(n_treebanks), str(len(of_branch)), f"{off(of_branch):.1f}"])
    return shown(TextTable(["branch", "treebanks", "parses", "off by"], lines))


def expected_of_tags() -> str:
    """Heads right with guessed tags, and how many were expected, by the number of tagged sentences."""
    all_rows = chosen("expect.csv", set="guessed tags")
    with_gold_tags = [row for row in all_rows if not row["tagged"]]
    lines = []
    for tagged in dict.fromkeys(row["tagged"] for row in all_rows if row["tagged"]):
        guessed = [row for row in all_rows if row["tagged"] == tagged]
        shares = []
        for some, column in (
            (guessed, "tags"),
            (with_gold_tags, "right"),
            (guessed, "right"),
            (guessed, "expected"),
        ):
            shares.append(percent(sum(float(row[column]) for row in some) / len(some)))
        lines.append([tagged, *shares, f"{off(guessed):.1f}"])
    heading = [
        "tagged",
        "tags, estimated",
        "heads, gold tags",
        "heads, guessed tags",
        "expected",
        "off by",
    ]
    return shown(TextTable(heading, lines, left=0))


def heads_of_guesses() -> str:
    """UAS, LAS, UPOS and UPOS with FEATS by the number of tagged sentences and what is done with
    guessed tags."""
    made = rows("guessed-tags.csv")
    lines = []
    for tagged, system in dict.fromkeys((row["tagged"], row["system"]) for row in made):
        some = chosen("guessed-tags.csv", tagged=tagged, system=system)
        lines.append(
            [tagged, system, *(average(some, column) for column in ("uas", "las", "upos", "both"))]
        )
    return shown(
        TextTable(["tagged", "tags", "UAS", "LAS", "UPOS", "UPOS and FEATS"], lines, left=2)
    )


def retagged() -> str:
    """UPOS without and with the retagger by language, and the means of UPOS with all FEATS."""
    made = rows("retagger.csv")
    languages = list(dict.fromkeys(row["language"] for row in made))
    lines = []
    for tagged in dict.fromkeys(row["tagged"] for row in made):
        for system in ("crf", "retagged"):
            some = chosen("retagger.csv", tagged=tagged, system=system)
            of_languages = [f"{float(row['UPOS']):.1f}" for row in some]
            lines.append(
                [system, tagged, average(some, "UPOS"), average(some, "both"), *of_languages]
            )
    return shown(TextTable(["", "tagged", "UPOS", "and FEATS", *languages], lines))


_PLACES = ("first 50", "first 100", "first 200", "as many as errors", "random")


def planted() -> str:
    """Shares of planted errors among the first places: by kind in the mean of the treebanks, and by
    treebank."""
    made = rows("consistency.csv")
    kinds, languages = (
        list(dict.fromkeys(row[name] for row in made)) for name in ("kind", "language")
    )
    groups = [(kind, chosen("consistency.csv", kind=kind)) for kind in kinds[1:]]
    groups += [(code, chosen("consistency.csv", language=code, kind="all")) for code in languages]
    groups.append(("mean", chosen("consistency.csv", kind="all")))
    lines = []
    for name, some in groups:
        shares = [100 * sum(float(row[column]) for row in some) / len(some) for column in _PLACES]
        lines.append([name, *(f"{share:.0f}" for share in shares)])
    return shown(TextTable(["", *_PLACES], lines))


def planted_found(column: str) -> str:
    """The mean share of the planted errors, in percent."""
    shares = [float(row[column]) for row in chosen("consistency.csv", kind="all")]
    return f"{100 * sum(shares) / len(shares):.0f}"


def keys() -> str:
    """Keys a sentence from plain text, before and after, by what they are for; and what is left, in
    percent."""
    made = rows("annotate-keys.csv")
    kinds = [name for name in made[0] if name not in ("language", "page", "sentence", "words")]
    lines, at_first = [], dict[str, float]()
    for language, page in dict.fromkeys((row["language"], row["page"]) for row in made):
        some = chosen("annotate-keys.csv", language=language, page=page)
        by_kind = [sum(int(row[kind]) for row in some) / len(some) for kind in kinds]
        before = at_first.setdefault(language, sum(by_kind))
        cells = [f"{each:.1f}" for each in (*by_kind, sum(by_kind))]
        lines.append(
            [f"{language}, {page}", str(len(some)), *cells, f"{100 * sum(by_kind) / before:.0f}"]
        )
    return shown(TextTable(["", "sentences", *kinds, "keys", "%"], lines))


def changes() -> str:
    """Heads and labels that an annotator changes, in per cent of those of a parse that never
    learns."""
    made = rows("annotate-universal.csv")
    languages = list(dict.fromkeys(row["language"] for row in made))
    lines = []
    for name, column, whole in (
        ("heads", "heads", "never"),
        ("heads, the rest of a sentence is not parsed again", "once", "never"),
        ("labels", "labels", "never_labels"),
    ):
        shares = []
        for language in languages:
            some = chosen("annotate-universal.csv", language=language)
            shares.append(
                100 * sum(int(row[column]) for row in some) / sum(int(row[whole]) for row in some)
            )
        lines.append([name, *(f"{share:.1f}" for share in (statistics.fmean(shares), *shares))])
    return shown(TextTable(["% of never learning", "mean", *languages], lines))


def changes_by_fifty() -> str:
    """Changes a sentence for each fifty sentences, means of the languages."""
    made = rows("annotate-universal.csv")
    spans = list(dict.fromkeys((row["first"], row["last"]) for row in made))
    lines = []
    for name, column in (
        ("heads", "heads"),
        ("heads, the rest of a sentence is not parsed again", "once"),
        ("heads, never learning", "never"),
        ("labels", "labels"),
        ("labels, never learning", "never_labels"),
    ):
        cells = []
        for first, last in spans:
            some = chosen("annotate-universal.csv", first=first, last=last)
            cells.append(f"{sum(int(row[column]) for row in some) / len(some) / 50:.2f}")
        lines.append([name, *cells])
    return shown(
        TextTable(["changes a sentence", *(f"{first}-{last}" for first, last in spans)], lines)
    )


def beside_udpipe(k: int) -> str:
    """UDPipe and the learner of few trees, each from the same k trees."""
    lines = []
    for language in (row["language"] for row in chosen("few-trees-udpipe.csv", k=str(k))):
        both = [
            mean(name, DDA, language=language, k=str(k))
            for name in ("few-trees-udpipe.csv", "few-trees-universal.csv")
        ]
        lines.append([language, *both])
    return shown(TextTable([f"k = {k}", "UDPipe", "from a universal parser"], lines))


def weak_languages() -> str:
    """DDA and LAS of languages of which few heads are right without trees; each is the mean of
    three draws of trees."""
    made = rows("few-trees-weak.csv")
    lines = []
    for language in [*dict.fromkeys(row["language"] for row in made), ""]:
        cells = []
        for columns in (DDA, ("las",)):
            for k in ("0", "10", "50"):
                some = [row for row in made if row["k"] == k and language in ("", row["language"])]
                cells.append(means(some, columns))
        lines.append([language or "mean", *cells])
    return shown(TextTable(["", "no tree", "10", "50", "LAS, no tree", "10", "50"], lines))


def best_by_language(name: str, decoder: str) -> Callable[[], str]:
    """DDA of the systems of best.csv in a set of treebanks, of teachers or of students."""

    def make() -> str:
        some = [
            row
            for row in rows("best.csv")
            if row["set"] == name and row["decoder"] in (decoder, "prior")
        ]
        return shown(knowledge_table(name, some))

    return make


def plan_of_best() -> str:
    """The plan paper-ud for `best`, and the baselines: tables by length, as `vdgi experiment table`
    prints them."""
    some = replication.of_systems(
        "best", "rules only", "left branching", "right branching", "random"
    )
    parts = []
    for table in tables.overview(some):
        parts += [table.title, table.markdown()]
    return "\n\n".join([*parts, replication.made_by(some)])


def _best(name: str) -> list[Row]:
    return [
        {**row, "dda15": row["short"], "dda40": row["long"]}
        for row in chosen("best.csv", set=name, system="best", scored="test", decoder="student")
    ]


def universal_of_check() -> str:
    """The eleven languages that nothing was chosen on."""
    systems = {
        "`best`, student, no gold tree": _best("check"),
        "shipped model": chosen("universal.csv", set="check", system="shipped"),
        "one network, branches of these left out": chosen(
            "universal.csv", set="check", system="strict"
        ),
    }
    return shown(by_language("check", systems))


def universal_of_choose() -> str:
    """The sixteen, with their branches left out."""
    table_share = "branch left out + .15 table"
    systems = {
        "`best`, student, no gold tree": _best("choose"),
        "one network, own branch left out": chosen(
            "universal.csv", set="choose", system="branch left out"
        ),
        "that network with .15 of the rule table": chosen(
            "universal.csv", set="choose", system=table_share
        ),
    }
    return shown(by_language("choose", systems))


def universal_seeds() -> str:
    """Three seeds on the sixteen, and the mean of the three networks."""
    lines = []
    for name, system in (
        ("networks", "branch left out"),
        ("with .15 of the rule table", "branch left out + .15 table"),
    ):
        of_seeds = [
            chosen("universal-seeds.csv", system=system, seed=seed) for seed in ("1", "2", "3")
        ]
        together = chosen("universal-seeds.csv", system=f"mean of three, {system}")
        cells = [
            means(some, DDA) for some in (*of_seeds, list(chain.from_iterable(of_seeds)), together)
        ]
        lines.append([name, *cells])
    heading = [
        "sixteen of `choose`, own branch left out",
        "seed 1",
        "seed 2",
        "seed 3",
        "mean",
        "the three together",
    ]
    return shown(TextTable(heading, lines))


def universal_relatives() -> str:
    """The sixteen, each left out, but not its branch."""
    return shown(
        by_language(
            "choose",
            {"own language left out": chosen("universal-seeds.csv", system="language left out")},
        )
    )


def universal_of_v1() -> str:
    """The eight treebanks of UD 1.4."""
    systems = {
        "one network, own branch left out": chosen(
            "universal.csv", set="v1", system="branch left out"
        )
    }
    return shown(by_language("the eight of the paper", systems))


def fast_students(n_sentences: int) -> Callable[[], str]:
    """The exact parser, its teacher and two students, with so many sentences of text."""

    def make() -> str:
        systems = {}
        for system, label in (
            ("exact", "exact"),
            ("taught", "taught"),
            ("universal-fast", "`universal-fast`"),
            ("words", "words"),
        ):
            systems[label] = chosen("fast-student.csv", text=str(n_sentences), system=system)
        return shown(by_language(f"{n_sentences:,} sentences of text", systems))

    return make


def few_trees_means() -> str:
    """DDA, LAS, relations, calibration and time by the number of trees, means of the sixteen."""
    made = rows("few-trees-universal.csv")
    fast = [
        {**row, "dda15": row["fast15"], "dda40": row["fast40"]} for row in made if row["fast15"]
    ]
    table = by_number(
        "mean of the sixteen",
        {"from a universal parser": made, "the same, `--fast`": fast},
        NUMBERS,
    )
    lines = list(table.rows)
    for name, column in (
        ("LAS, <=40", "las"),
        ("relations right on gold heads", "labels"),
        ("calibration error of `HeadConf=`", "ece"),
        ("learning, CPU s on a crowded machine", "learning_s"),
    ):
        lines += by_number("", {name: made}, NUMBERS, [column]).rows
    return shown(TextTable(table.heading, lines))


def few_trees_languages() -> str:
    """DDA of each language by the number of trees."""
    return shown(languages_by_number(rows("few-trees-universal.csv"), NUMBERS))


def few_trees_relations() -> str:
    """LAS and relations of a labeller that starts from the table, or from the universal parser."""
    made = rows("few-trees-relations.csv")
    numbers = numbers_of(made)
    lines: list[Sequence[str]] = []
    for name, column in (
        ("LAS, <=40, from the table", "table_las"),
        ("LAS, <=40, from the universal parser", "las"),
        ("relations right on gold heads, from the table", "table_labels"),
        ("relations right on gold heads, from the universal parser", "labels"),
    ):
        table = by_number("mean of the sixteen", {name: made}, numbers, [column])
        lines += table.rows
    return shown(TextTable(table.heading, lines))


def front_means() -> str:
    """All systems of the front page by the number of trees, means of the sixteen."""
    made = rows("front-page.csv")
    systems = {
        name: chosen("front-page.csv", system=name)
        for name in dict.fromkeys(row["system"] for row in made)
    }
    return shown(by_number("mean of the sixteen", systems, numbers_of(made)))


def front_languages(system: str) -> Callable[[], str]:
    """One system of the front page by language."""
    some = chosen("front-page.csv", system=system)
    return lambda: shown(languages_by_number(some, numbers_of(some)))


def numbers_of(some: Sequence[Row]) -> list[str]:
    """The numbers of trees of some rows, in order."""
    return sorted({row["k"] for row in some}, key=int)


def labels(name: str) -> Callable[[], str]:
    """Relations of gold arcs that the table `ud2` gives, in a set of treebanks; F1 of subjects and
    objects."""

    def make() -> str:
        made = chosen("labels.csv", set=name, table="ud2")
        lines = []
        for label, column in (
            ("relations right", "right"),
            ("F1 of nsubj", "nsubj"),
            ("F1 of obj", "obj"),
        ):
            lines.append(
                [label, average(made, column), *(f"{float(row[column]):.1f}" for row in made)]
            )
        return shown(TextTable([name, "mean", *(row["language"] for row in made)], lines))

    return make


def renamed_relations() -> str:
    """Relations right on gold heads, where those of the trees have other names."""
    made = rows("own-relations.csv")
    names = list(dict.fromkeys(row["names"] for row in made))
    lines = []
    for language in dict.fromkeys(row["language"] for row in made):
        some = [chosen("own-relations.csv", language=language, names=name) for name in names]
        lines.append([language, *(average(each, "right") for each in some)])
    return shown(TextTable(["", *names], lines))


def raw_trees() -> str:
    """F1 from raw text to trees."""
    made = rows("raw-trees.csv")
    lines = [["–" if cell == "nan" else cell for cell in row.values()] for row in made]
    return shown(TextTable(list(made[0]), lines, left=2))


def raw_features() -> str:
    """UAS and LAS with and without predicted features, and F1 of these."""
    systems = {
        f"`{name}`": chosen("raw-features.csv", system=name) for name in ("tags", "no features")
    }
    table = by_language("UAS/LAS", systems, ("UAS", "LAS"))
    features = by_language("", {"UFeats": chosen("raw-features.csv", system="tags")}, ["UFeats"])
    return shown(TextTable(table.heading, [*table.rows, *features.rows]))


def tags(name: str, columns: Sequence[str]) -> Callable[[], str]:
    """Accuracies of tags, a table for each column."""
    return lambda: "\n\n".join(shown(tag_table(rows(name), column)) for column in columns)


def of_words(name: str, figure: Callable[[str], str]) -> Callable[[], str]:
    """A table of words, such as what differs from the paper; `{NAME}` in its file is a figure."""

    def make() -> str:
        with open(RESULTS / name, encoding="utf-8", newline="") as lines:
            heading, *body = csv.reader(lines)
        filled = [
            [re.sub(r"\{([\w.-]+)\}", lambda match: figure(match[1]), cell) for cell in row]
            for row in body
        ]
        return shown(TextTable(heading, filled, left=len(heading)))

    return make


_SECOND = "replication-second-stage.csv"


def second_stage(made: Sequence[Row], seeds: Sequence[str]) -> str:
    """Settings of the paper's two stages: DDA after the first; after the second, what that gains, with
    its standard error over runs; |lambda| at the end of both; KL and effective samples of gamma."""
    languages = list(dict.fromkeys(row["language"] for row in made))
    lines = []
    for setting in dict.fromkeys(row["setting"] for row in made):
        own = [row for row in made if row["setting"] == setting and row["seed"] in seeds]
        if len({(row["language"], row["seed"]) for row in own}) < len(languages) * len(seeds):
            continue
        after = [second_stage_mean(own, "dda_2", [name]) for name in languages]
        of_lambda = []
        for stage in ("1", "2"):
            norms = [float(row[f"lambda_{stage}"]) for row in own]
            of_lambda.append(f"{statistics.fmean(norms):.2f} ({min(norms):.2f})")
        kl = [float(row["kl_2"]) for row in own]
        lines.append(
            [
                setting,
                second_stage_mean(own, "dda_1"),
                second_stage_mean(own, "dda_2"),
                second_stage_gain(own, with_error=True),
                *after,
                *of_lambda,
                f"{statistics.fmean(kl):.3f} ({min(kl):.3f})",
                average(own, "ess_2"),
            ]
        )
    heading = ["", "first", "second", "gain ± error", *languages]
    return shown(TextTable([*heading, "\\|λ\\| 1", "\\|λ\\| 2", "KL 2", "ESS 2"], lines))


def second_stages(seeds: str) -> str:
    """That table of the committed rows, for these seeds."""
    made = rows(_SECOND)
    commits = sorted({row["commit"] for row in made if row["seed"] in seeds})
    spent = average([row for row in made if row["seed"] in seeds], "cpu_s")
    below = f"Seeds {', '.join(seeds)}, commit {', '.join(commits)}; {spent} CPU seconds a run."
    return f"{second_stage(made, seeds)}\n\n{below}"


def gain_of(setting: str, seeds: str) -> str:
    """What a second stage gains over its first, in these seeds."""
    return second_stage_gain(
        [row for row in chosen(_SECOND, setting=setting) if row["seed"] in seeds]
    )


def second_stage_difference(setting: str, other: str, column: str) -> str:
    """How far DDA after the second stage of one setting is above a column of another, run by run, with
    its standard error, in the runs that both have."""
    cells = []
    for length in (replication.SHORT, replication.LONG):
        ours, theirs = (
            {
                (row["language"], row["seed"]): float(row[of])
                for row in chosen(_SECOND, setting=name, length=length)
            }
            for name, of in ((setting, "dda_2"), (other, column))
        )
        gains = [ours[run] - theirs[run] for run in ours if run in theirs]
        error = statistics.stdev(gains) / len(gains) ** 0.5
        cells.append(f"{statistics.fmean(gains):+.1f} ± {error:.1f}")
    return "/".join(cells)


def second_stage_mean(some: Sequence[Row], column: str, languages: Sequence[str] = ()) -> str:
    """The mean of a column, up to 15 / up to 40 words."""
    chosen_rows = [row for row in some if not languages or row["language"] in languages]
    of_lengths = (
        [row for row in chosen_rows if row["length"] == length]
        for length in (replication.SHORT, replication.LONG)
    )
    return "/".join(average(each, column) for each in of_lengths)


def second_stage_gain(some: Sequence[Row], *, with_error: bool = False) -> str:
    """DDA after the second stage less that after the first, in points."""
    cells = []
    for length in (replication.SHORT, replication.LONG):
        own = [row for row in some if row["length"] == length]
        gains = [float(row["dda_2"]) - float(row["dda_1"]) for row in own]
        error = f" ± {statistics.stdev(gains) / len(gains) ** 0.5:.1f}" if with_error else ""
        cells.append(f"{statistics.fmean(gains):+.1f}{error}")
    return "/".join(cells)


def others_on_the_eight() -> str:
    """DDA on the eight treebanks of UD 1.4 of systems that are in no table of the paper: `best`, and
    neural DMVs as published."""
    datasets = [
        "UD1.4-Average",
        *(published.DATASETS[language] for language in replication.LANGUAGES),
    ]
    there = [each for each in published.read() if each.dataset in datasets and each.metric == "DDA"]
    of_the_paper = {each.model for each in there if each.table == "Li2019-T6"}
    lines = []
    for model in dict.fromkeys(each.model for each in there):
        if model in of_the_paper:
            continue
        cells = {(each.dataset, each.length): each.mean for each in there if each.model == model}
        pairs = [
            [cells.get((name, length)) for length in (replication.SHORT, replication.LONG)]
            for name in datasets
        ]
        lines.append([f"*published:* {published.same_model(model)}", *map(_pair, pairs)])
    pairs = []
    for language in (tables.AVERAGE, *replication.LANGUAGES):
        cell_of = partial(
            tables.figure,
            replication.of_systems("best"),
            language,
            languages=replication.LANGUAGES,
        )
        both = [cell_of(length) for length in (replication.SHORT, replication.LONG)]
        pairs.append([each and each.mean for each in both])
    lines.append(["`best`", *map(_pair, pairs)])
    lines.sort(key=lambda line: -float(line[1].partition("/")[0]))
    return shown(TextTable(["system", "average", *replication.LANGUAGES], lines))


def _pair(both: Sequence[float | None]) -> str:
    return "/".join("–" if each is None else f"{each:.1f}" for each in both)
