"""What to read for a purpose, in order, with true numbers of lines; generate.py writes it into
architecture.md.

python docs/reading.py    prints the table
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "dynet_vdgi"

READERS = (
    (
        "change the paper's score",
        "paper/README.md paper/transitions.py paper/encoder.py paper/decoder.py paper/per_sentence.py paper/scores.py "
        "paper/posterior.py paper/phases.py paper/stages.py",
    ),
    (
        "see how a file becomes trees",
        "cli.py commands/parse.py parser/file_parser.py parser/steps.py conllu/blocks.py parser/block_reading.py "
        "conllu/reading.py conllu/sentence.py parser/parser.py "
        "parser/engine.py models/run_folder.py models/model_file.py settings/registry.py "
        "training/universal.py parser/universal_engine.py parser/decoding.py universal/stored.py universal/scorer.py "
        "universal/encoding.py universal/text_teacher.py universal/typology.py universal/lstm.py "
        "universal/arc_flags.py "
        "universal/relation_scores.py inference/eisner.py conllu/punctuation.py conllu/writing.py",
    ),
    (
        "see how files become a model",
        "commands/train.py training/inputs.py training/run.py training/run_steps.py "
        "training/input_reader.py training/material.py training/record.py training/recipe.py "
        "training/taught.py models/model_file.py",
    ),
    (
        "add a rule",
        "rule_tables/table.py rule_tables/part_settings.py rule_tables/rule_files.py rule_tables/parts/kinds.py "
        "rule_tables/parts/agreement.py rule_tables/prior.py",
    ),
    (
        "add a column",
        "page/text/word_columns.py page/text/sentence_state.py page/text/marked.py page/web/shown.py",
    ),
    (
        "add a tagger feature",
        "words/tagger/spelling_templates.py words/tagger/spelling.py words/tagger/crf.py words/tagger/tagger.py",
    ),
)
"""For each purpose, the files below the package."""


def lines_of(name: str) -> int:
    """The number of lines of a file of the package. Raises: FileNotFoundError."""
    return len((PACKAGE / name).read_text(encoding="utf-8").splitlines())


def table() -> str:
    """The readers, what they read and how much that is, as Markdown."""
    rows = ["| to | read, in this order | lines |", "|---|---|---:|"]
    for purpose, names in READERS:
        files = names.split()
        listed = ", ".join(f"`{name}` {lines_of(name)}" for name in files)
        rows.append(f"| {purpose} | {listed} | {sum(map(lines_of, files)):,} |")
    return "\n".join(rows)


def page() -> str:
    """architecture.md, with the table of today."""
    text = (Path(__file__).parent / "architecture.md").read_text(encoding="utf-8")
    begin, end = "<!-- reading -->\n", "<!-- end -->"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}{table()}\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    print(table())
