"""A program that has imported DyNet before, with options of its own; and DyNet's options on the
command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shell import Vdgi
from wording import Wording

SCRIPT = """
import sys
{before}
import dynet_vdgi as vdgi
text = [vdgi.Sentence(("y", "gath", "fach"), ("DET", "NOUN", "ADJ"))] * 12
settings = {{"train": {{"epochs": 2}}, "parser": {{"hidden_dim": 8, "word_dim": 8}}}}
parser = vdgi.train(text, "paper", settings=settings)
sys.stdout.buffer.write(b"".join(each.tobytes() for _, each in sorted(parser.model.parameters.items())))
"""


def parameters(before: str) -> bytes:
    """The bytes of the parameters that are learnt after some lines of another program."""
    script = SCRIPT.format(before=before)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_weight_decay_of_another_program_changes_nothing() -> None:
    options = "import dynet_config; dynet_config.set(mem=64, random_seed=3, autobatch=0, weight_decay={}); import dynet"
    assert parameters(options.format(0.5)) == parameters(options.format(0)) != b""


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--train", "x.conllu", "--out", "run", "--dynet-mem", "512"],
        ["train", "--train", "x.conllu", "--out", "run", "--dynet-mem=512"],
        ["train", "--train", "x.conllu", "--out", "run", "--dynet-seed", "1"],
        ["train", "--train", "x", "--out", "run", "--dynet-weight-decay", "1"],
        ["parse", "universal", "x.conllu", "--dynet-gpus", "1"],
        ["--dynet-mem", "512", "check", "x.conllu"],
        ["parse", "universal", "x.conllu", "--dynet-viz"],
    ],
)
def test_options_of_dynet_are_told_what_to_say_instead(
    vdgi: Vdgi, folder: Path, arguments: list[str], wording: Wording
) -> None:
    status, _, err = vdgi(*arguments)
    assert status == 2
    wording.check(err)
    wording.check(err)
    assert "did you mean" not in err
