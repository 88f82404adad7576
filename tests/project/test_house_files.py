"""What maintainers rely on: the GitHub workflow, hooks of pre-commit, issue forms, the release
checklist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML, of the extra dev, is not installed")

ROOT = Path(__file__).parents[2]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def text(name: str) -> str:
    """A file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def checks_of_the_script() -> list[str]:
    """The commands that run/test.sh starts from its environment before the tests."""
    before_tests = text("run/test.sh").split("status=0")[0]
    commands = re.findall(r'^"\$VENV/bin/(.+)$', before_tests, re.MULTILINE)
    return [command.replace('"', "", 1) for command in commands]


def test_the_workflow_runs_the_script_of_contributors_under_the_oldest_and_the_newest_python() -> (
    None
):
    workflow = yaml.safe_load(text(".github/workflows/ci.yml"))
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML 1.1 reads the key `on` as true
    assert workflow["permissions"] == {"contents": "read"}
    job = workflow["jobs"]["test"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands == ["bash run/test.sh"]
    actions = [step["uses"] for step in job["steps"] if "uses" in step]
    assert actions[0].startswith("actions/checkout@")
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", action) for action in actions)
    bounds = re.search(r'python_requires=">=3\.(\d+),<3\.(\d+)"', text("setup.py"))
    assert bounds is not None
    minors = [int(version.removeprefix("3.")) for version in job["strategy"]["matrix"]["python"]]
    assert (min(minors), max(minors)) == (int(bounds[1]), int(bounds[2]) - 1)


def test_hooks_run_the_checks_of_the_script_in_its_order() -> None:
    hooks = [
        hook
        for repo in yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
        for hook in repo["hooks"]
    ]
    assert [hook["entry"].removeprefix(".venv/bin/") for hook in hooks] == checks_of_the_script()
    assert all((hook["language"], hook["pass_filenames"]) == ("system", False) for hook in hooks)
    assert len(hooks) >= 5


def test_the_checklist_of_a_release_names_files_that_agree_on_the_version() -> None:
    checklist = text("CONTRIBUTING.md").split("## Release\n")[1]
    for name in ("dynet_vdgi/_version.py", "CITATION.cff", "CHANGELOG.md"):
        assert f"`{name}`" in checklist
    version = re.search(r'__version__ = "(.+)"', text("dynet_vdgi/_version.py"))
    assert version is not None
    assert yaml.safe_load(text("CITATION.cff"))["version"] == version[1]
    heading = re.search(r"^## (.+)$", text("CHANGELOG.md"), re.MULTILINE)
    assert heading is not None
    assert version[1].removesuffix(".dev0") in heading[1]
