"""The values of release.toml: what UD's checks of README.md take, and what they refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cases import rows
from releasing import VALUES
from shell import Vdgi
from wording import Wording

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.release.metadata import (
    LONGEST_SUMMARY,
    SHORTEST_SUMMARY,
    expectations,
    genres,
    values_in,
)
from dynet_vdgi.settings.bundled import resources

GENRES = """academic bible blog email fiction government grammar-examples learner-essays legal medical news nonfiction
    poetry reviews social spoken web wiki"""
"""Those of UD's check_files.pl."""

REFUSED = [*rows("release_values.txt"), ["Summary", "x" * (LONGEST_SUMMARY + 1)]]
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
    values = VALUES | {key.replace("_", " "): value for key, value in changes.items()}
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


@pytest.mark.parametrize(("key", "value"), REFUSED)
def test_a_value_that_ud_refuses_is_refused_with_its_line_and_what_is_allowed(
    tmp_path: Path, key: str, value: str, wording: Wording
) -> None:
    path = written(tmp_path / "release.toml", **{key: value})
    with pytest.raises(ConfigError) as caught:
        values_in(path)
    line = [*VALUES].index(key) + 1
    assert str(caught.value).startswith(f"{path}:{line}: {key} = ")
    wording.check(caught.value)


@pytest.mark.parametrize(("key", "value"), TAKEN)
def test_a_value_that_ud_takes_is_taken(tmp_path: Path, key: str, value: str) -> None:
    values, missing = values_in(written(tmp_path / "release.toml", **{key: value}))
    assert values == VALUES | {key: value}
    assert missing == [key] * (not value)


def test_all_faults_are_told_at_once_with_the_lines_on_which_they_begin(
    tmp_path: Path, wording: Wording
) -> None:
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
    wording.check(lines[0])
    wording.check(lines[3])


def test_thousands_of_faults_are_counted_and_the_first_are_told(tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text("".join(f'k{n} = "x"\n' for n in range(2000)), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        values_in(path)
    lines = str(caught.value).split("\n")
    assert (len(lines), lines[-2]) == (42, "and 1,960 more")


def test_the_file_that_asks_for_the_values_names_every_value_and_every_genre() -> None:
    assert [*expectations()] == [*VALUES]
    assert genres() == GENRES.split()
    assert f"{SHORTEST_SUMMARY} to {LONGEST_SUMMARY} characters" in expectations()["Summary"]
    text = (resources() / "release" / "release.toml").read_text(encoding="utf-8")
    assert text.count(' = ""') == len(VALUES)


SENTENCE = (
    "# sent_id = {0}\n# text = Dogs bark.\n1\tDogs\tdog\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\tHeadBy=anna|LabelBy=anna\n"
    "2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\tHeadBy=anna|LabelBy=anna|SpaceAfter=No\n3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\tHeadBy=anna|LabelBy=anna\n\n"
)
ARGUMENTS = ["R", "--code", "en", "--name", "Mine", "a.conllu"]


@pytest.mark.parametrize("summary", ["x" * SHORTEST_SUMMARY, "x" * LONGEST_SUMMARY, "y " * 100])
def test_status_0_means_that_ud_takes_the_readme(
    vdgi: Vdgi, folder: Path, unchecked: None, summary: str
) -> None:
    Path("a.conllu").write_text("".join(map(SENTENCE.format, range(40))), encoding="utf-8")
    assert vdgi("release", *ARGUMENTS).status == 4
    written(Path("R/not-to-release/release.toml"), Summary=summary)
    found = vdgi.good("release", *ARGUMENTS)
    assert "too small" not in found.err
    assert ud_takes(Path("R/README.md").read_text(encoding="utf-8"))


def test_a_treebank_below_the_size_that_ud_takes_at_all_is_told_so(
    vdgi: Vdgi, folder: Path, unchecked: None, wording: Wording
) -> None:
    Path("a.conllu").write_text("".join(map(SENTENCE.format, range(19))), encoding="utf-8")
    wording.lines(vdgi("release", *ARGUMENTS).err, "too small")


def test_the_licence_zero_gets_its_text(vdgi: Vdgi, folder: Path, unchecked: None) -> None:
    Path("a.conllu").write_text(SENTENCE.format(1), encoding="utf-8")
    vdgi("release", *ARGUMENTS)
    written(Path("R/not-to-release/release.toml"), License="CC0 1.0")
    vdgi.good("release", *ARGUMENTS)
    assert "creativecommons.org/publicdomain/zero/1.0/legalcode" in Path("R/LICENSE.txt").read_text(
        encoding="utf-8"
    )
