"""Every command on the pages of results runs today: verbs, options, plans, systems, presets,
scripts."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynet_vdgi import cli
from dynet_vdgi.experiments import plan
from dynet_vdgi.relations import label_table
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import load_settings

ROOT = Path(__file__).parents[2]
PAGES = [page for page in sorted((ROOT / "docs" / "results").glob("*.md")) if page.stem != "index"]
_PROGRAMS = ("vdgi", "python", "bash")


class ParsedError(Exception):
    """The arguments of a script were understood, and nothing else is to be done."""


def commands(text: str) -> Iterator[list[str]]:
    """The commands in blocks of a page, split as a shell does; `...` stands for more of the like."""
    joined = re.sub(r"\\\n\s*", "", text)
    fenced = re.findall(r"^```sh\n(.*?)```", joined, re.DOTALL | re.MULTILINE)
    indented = re.findall(r"^    (\S.*)$", joined, re.MULTILINE)
    for line in [line for block in fenced for line in block.splitlines()] + indented:
        words = [
            word for word in shlex.split(line.partition(" > ")[0], comments=True) if word != "..."
        ]
        if words and words[0] in _PROGRAMS:
            yield words


def mentioned(text: str) -> Iterator[list[str]]:
    """What is said of `vdgi` in the middle of a sentence: a verb, perhaps with options."""
    for line in re.findall(r"(?<!`)`(vdgi [^`\n]+)`(?!`)", text):
        yield shlex.split(line)[1:]


def options_of(parser: cli.ArgumentParser, words: list[str]) -> tuple[set[str], list[str]]:
    """The options that there are after the verbs that words begin with; and the words that follow."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) and words:
            named = words if words[0] in action.choices else [parser.default_task, *words]
            return options_of(action.choices[named[0]], named[1:])
    return set(parser._option_string_actions), words


def check_vdgi(words: list[str]) -> None:
    """Raises what is wrong with a call of `vdgi`."""
    arguments = cli.build_parser().parse_args(words)
    if words[0] == "experiment" and arguments.task == "run":
        content = plan.load_plan(plan.path_of(arguments.plan))
        plan.select(content, arguments.only)
    if words[0] == "train":
        load_settings(arguments.preset, arguments.set)


def check_script(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Raises what is wrong with a call of a script; its tables and lists exist."""
    script = ROOT / words[0]
    assert script.is_file(), words[0]
    parse = argparse.ArgumentParser.parse_args

    def only_parse(self: argparse.ArgumentParser) -> None:
        given = vars(parse(self))
        if script.stem == "knowledge" and given.get("ablate"):
            rules_path(given["ablate"])
        for name in given.get("tables") or []:
            if script.stem == "label_table":  # of labels, not of rules
                label_table.load(name)
            else:
                assert Path(rules_path(name)).is_file(), name
        assert given.get("list") is None or (ROOT / given["list"]).is_file(), given["list"]
        raise ParsedError

    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(script.parent))
        patch.setattr(sys, "argv", words)
        patch.setattr(argparse.ArgumentParser, "parse_args", only_parse)
        with pytest.raises(ParsedError):
            importlib.import_module(script.stem).main()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_are_of_today(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    found = list(commands(text))
    assert found, "a page of results needs the command that made it"
    for program, *words in found:
        if program == "vdgi":
            check_vdgi(words)
        elif program == "python":
            check_script(words, monkeypatch)
        else:
            assert (ROOT / words[0]).is_file(), words[0]
    for words in mentioned(text):
        options, rest = options_of(cli.build_parser(), words)
        assert {word.split("=")[0] for word in rest if word.startswith("--")} <= options, words
