"""The values of release.toml: what UD's checks of README.md take, and what they refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from shell import Vdgi

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.release.metadata import (
    LONGEST_SUMMARY,
    SHORTEST_SUMMARY,
    expectations,
    genres,
    values_in,
)
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.validation import udtools

GENRES = """academic bible blog email fiction government grammar-examples learner-essays legal medical news nonfiction
    poetry reviews social spoken web wiki"""
"""Those of UD's check_files.pl."""

GOOD = {
    "Summary": "Two dogs and what they do, for the tests of a program.",
    "Introduction": "Dogs.",
    "Acknowledgments": "Dogs.",
    "Changelog": "* 2026-11-15 v2.19",
    "Data available since": "UD v2.19",
    "License": "CC BY-SA 4.0",
    "Includes text": "yes",
    "Parallel": "no",
    "Genre": "fiction",
    "Lemmas": "manual native",
    "UPOS": "manual native",
    "XPOS": "not available",
    "Features": "manual native",
    "Relations": "manual native",
    "Contributors": "Smith, Anna; Jones, Ben",
    "Contributing": "elsewhere",
    "Contact": "anna@example.org",
}

REFUSED = [
    ("Summary", "short", "5 characters are too few (expected: 40 to 497)"),
    ("Summary", "x" * 498, "498 characters are too many"),
    (
        "Summary",
        "... 1-2 sentences (see [release checklist] for README guidelines) ...",
        "the text of UD's template",
    ),
    (
        "Summary",
        "A treebank of stories that were told.\n# By whom\nBy children.",
        "UD takes it to end at a line with #",
    ),
    (
        "Data available since",
        "2.19",
        "this is no release of UD (expected: the first release with it, such as",
    ),
    ("Data available since", "UD 2.19", "this is no release of UD"),
    ("Data available since", "UD v2.19 (November 2026)", "this is no release of UD"),
    (
        "License",
        "CC-BY-SA 4.0",
        "no licence of Creative Commons in the form of UD (expected: such as: CC BY-SA 4.0",
    ),
    ("License", "CC BY-SA", "no licence of Creative Commons in the form of UD"),
    (
        "License",
        "Creative Commons Attribution 4.0",
        "no licence of Creative Commons in the form of UD",
    ),
    ("License", "CC BY-SA-NC 4.0", "no licence of Creative Commons in the form of UD"),
    ("License", "CC BY-SA 4.1", "no licence of Creative Commons in the form of UD"),
    ("License", "???", "no name of a licence"),
    ("Includes text", "Yes", "(expected: one of: yes | no)"),
    ("Parallel", "none; PUD", "small letters a to z"),
    ("Parallel", "no pud", "'no' stands alone"),
    (
        "Genre",
        "stories spoken",
        "'stories' is no genre of UD (expected: with blanks between them, of: academic bible",
    ),
    (
        "Genre",
        "news, fiction",
        "'news,' is no genre of UD; a blank stands between two, and nothing else",
    ),
    ("Genre", "news news", "a genre stands twice"),
    ("Lemmas", "by hand", "(expected: one of: manual native | converted from manual"),
    (
        "UPOS",
        "automatic",
        "(expected: one of: manual native | converted from manual | converted with corrections)",
    ),
    ("Relations", "not available", "(expected: one of: manual native"),
    ("XPOS", "none", "(expected: one of: manual native"),
    ("Features", "Manual native", "(expected: one of: manual native"),
    ("Contributors", "Maria Borg", "'Maria Borg' has no comma between last and first name"),
    (
        "Contributors",
        "Borg, Maria, Zammit, Karm",
        "'Borg, Maria, Zammit, Karm' has two commas; a semicolon stands",
    ),
    ("Contributors", "Borg, Maria;", "'' is no name"),
    ("Contributors", "Borg,", "'Borg,' has no first name"),
    ("Contributors", "Borg, maria@example.org", "is no name"),
    (
        "Contributing",
        "by e-mail",
        "(expected: one of: here | here source | elsewhere | to be adopted)",
    ),
    ("Contact", "maria", "'maria' is no e-mail address"),
    ("Contact", "maria@example", "'maria@example' is no e-mail address"),
    ("Contact", "a@example.org; b@example.org", "is no e-mail address"),
]

TAKEN = [
    ("Summary", "x" * SHORTEST_SUMMARY),
    ("Summary", "x" * LONGEST_SUMMARY),
    (
        "Summary",
        "Stories of the village,\nas they were told in *winter* (see [the page](https://example.org)).",
    ),
    ("Summary", "سوريا" * 20),
    ("Data available since", "UD v2.19"),
    ("Data available since", "UD v3.0"),
    ("License", "CC BY 4.0"),
    ("License", "CC BY-NC-SA 3.0"),
    ("License", "CC BY-NC-ND 2.5"),
    ("License", "CC0 1.0"),
    ("License", "GNU GPL 3.0"),
    ("License", "LGPL-LR"),
    ("License", "CC BY-SA 4.0 and GNU GPL 2.0"),
    ("Parallel", "pud"),
    ("Parallel", "cairo tuecl"),
    ("Genre", " ".join(GENRES.split())),
    ("Genre", "fiction\nnews"),
    ("Lemmas", "automatic with corrections"),
    ("Features", "not available"),
    ("Relations", "converted with corrections"),
    ("Contributors", "de Marneffe, Marie-Catherine"),
    ("Contributors", "Hajič, Jan; Suharto; Nguyễn, Thị Lương"),
    ("Contributing", "to be adopted"),
    ("Contact", "a.b-c+d@ling.example.ac.uk, o'neill@example.org"),
    ("Introduction", "# Sources\n\nLicense: told above.\n=== x ==="),
    ("Genre", ""),
]


def written(path: Path, **changes: str) -> Path:
    values = GOOD | {key.replace("_", " "): value for key, value in changes.items()}
    lines = [
        f'"{key}" = {json.dumps(value, ensure_ascii=False)}\n' for key, value in values.items()
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def ud_takes(readme: str) -> bool:
    """What UD's program asks of the sections and lines of README.md, written again from its
    description."""
    sections = re.split(r"^# (.*)\n", readme.partition("<pre>")[0], flags=re.MULTILINE)
    summary = dict(zip(sections[1::2], sections[2::2]))["Summary"]
    lines = dict(
        line.split(": ", 1) for line in readme.partition("<pre>")[2].split("\n") if ": " in line
    )
    return (
        40 <= len(summary) <= 500
        and re.fullmatch(r"UD v[0-9]+\.[0-9]+", lines["Data available since"]) is not None
        and {*lines["Genre"].split()} <= {*GENRES.split()}
        and "@" in lines["Contact"]
        and lines["Includes text"] in ("yes", "no")
    )


@pytest.mark.parametrize(("key", "value", "message"), REFUSED)
def test_a_value_that_ud_refuses_is_refused_with_its_line_and_what_is_allowed(
    tmp_path: Path, key: str, value: str, message: str
) -> None:
    path = written(tmp_path / "release.toml", **{key: value})
    with pytest.raises(ConfigError) as caught:
        values_in(path)
    line = [*GOOD].index(key) + 1
    assert str(caught.value).startswith(f"{path}:{line}: {key} = ")
    assert message in str(caught.value)


@pytest.mark.parametrize(("key", "value"), TAKEN)
def test_a_value_that_ud_takes_is_taken(tmp_path: Path, key: str, value: str) -> None:
    values, missing = values_in(written(tmp_path / "release.toml", **{key: value}))
    assert values == GOOD | {key: value}
    assert missing == [key] * (not value)


def test_all_faults_are_told_at_once_with_the_lines_on_which_they_begin(tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text(
        'Introduction = """\nGenre = "news"\nContact = 5\n"""\nLicence = "CC BY 4.0"\n'
        'Genre = "stories"\n"Contact" = """\nmaria"""\nUPOS = 5\nSummary = ""\n',
        encoding="utf-8",
    )
    with pytest.raises(ConfigError) as caught:
        values_in(path)
    lines = str(caught.value).split("\n")
    assert [line.split(": ")[0] for line in lines] == [
        *(f"{path}:{n}" for n in (5, 6, 7, 9)),
        str(path),
    ]
    assert "there is no value 'Licence'; did you mean 'License'?" in lines[0]
    assert lines[3].endswith(
        "UPOS = 5 (expected: one of: manual native | converted from manual | converted with corrections)"
    )


def test_thousands_of_faults_are_counted_and_the_first_are_told(tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text("".join(f'k{n} = "x"\n' for n in range(2000)), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        values_in(path)
    lines = str(caught.value).split("\n")
    assert (len(lines), lines[-2]) == (42, "and 1,960 more")


def test_the_file_that_asks_for_the_values_names_every_value_and_every_genre() -> None:
    assert [*expectations()] == [*GOOD]
    assert genres() == GENRES.split()
    assert f"{SHORTEST_SUMMARY} to {LONGEST_SUMMARY} characters" in expectations()["Summary"]
    text = (resources() / "release" / "release.toml").read_text(encoding="utf-8")
    assert text.count(' = ""') == len(GOOD)


SENTENCE = (
    "# sent_id = {0}\n# text = Dogs bark.\n1\tDogs\tdog\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\tHeadBy=anna|LabelBy=anna\n"
    "2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\tHeadBy=anna|LabelBy=anna|SpaceAfter=No\n3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\tHeadBy=anna|LabelBy=anna\n\n"
)
ARGUMENTS = ["R", "--code", "en", "--name", "Mine", "a.conllu"]


@pytest.mark.parametrize("summary", ["x" * SHORTEST_SUMMARY, "x" * LONGEST_SUMMARY, "y " * 100])
def test_status_0_means_that_ud_takes_the_readme(
    vdgi: Vdgi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, summary: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(udtools, "messages", lambda texts, language="", level="": [])
    Path("a.conllu").write_text("".join(map(SENTENCE.format, range(40))), encoding="utf-8")
    assert vdgi("release", *ARGUMENTS).status == 4
    written(Path("R/not-to-release/release.toml"), Summary=summary)
    found = vdgi.good("release", *ARGUMENTS)
    assert "too small" not in found.err
    assert ud_takes(Path("R/README.md").read_text(encoding="utf-8"))


def test_a_treebank_below_the_size_that_ud_takes_at_all_is_told_so(
    vdgi: Vdgi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(udtools, "messages", lambda texts, language="", level="": [])
    Path("a.conllu").write_text("".join(map(SENTENCE.format, range(19))), encoding="utf-8")
    message = "too small to be published: it has 19 sentences and 57 words, UD asks for 20 sentences and 100 words"
    assert message in vdgi("release", *ARGUMENTS).err


def test_the_licence_zero_gets_its_text(
    vdgi: Vdgi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(udtools, "messages", lambda texts, language="", level="": [])
    Path("a.conllu").write_text(SENTENCE.format(1), encoding="utf-8")
    vdgi("release", *ARGUMENTS)
    written(Path("R/not-to-release/release.toml"), License="CC0 1.0")
    vdgi.good("release", *ARGUMENTS)
    assert "creativecommons.org/publicdomain/zero/1.0/legalcode" in Path("R/LICENSE.txt").read_text(
        encoding="utf-8"
    )
