"""The eight UD 1.4 test files, parsed from standard input: every byte but HEAD and DEPREL comes
back."""

from __future__ import annotations

import gzip
import io
import sys

import numpy as np
import pytest

from dynet_vdgi import cli
from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.vocabulary import Vocabulary
from dynet_vdgi.models import model_file
from dynet_vdgi.models.model_file import ModelFile, Provenance
from dynet_vdgi.paper.network import Network
from dynet_vdgi.rule_tables.rules import parse_rules
from dynet_vdgi.settings.presets import load_settings

LANGUAGES = ("eu", "fr")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model with random weights that knows the tags but SYM."""
    settings = load_settings("fixed-lambda", changes={"parser": {"hidden_dim": 16, "tag_dim": 8}})
    known = "ADJ ADP ADV AUX CONJ DET INTJ NOUN NUM PART PRON PROPN SCONJ VERB X"
    vocabulary = Vocabulary(tuple(known.split()))
    network = Network(vocabulary, settings.parser, np.random.default_rng(1))
    arrays = {name: 3 * value for name, value in network.parameters.arrays().items()}
    path = tmp_path_factory.mktemp("model") / "model.vdgi"
    model_file.save(
        path, ModelFile(Provenance(), settings, vocabulary, parse_rules("ROOT VERB 1"), arrays)
    )
    return path


def without_arcs(data):
    """The bytes of a CoNLL-U file with columns 7 and 8 of its words blanked."""
    lines = []
    for line in data.split(b"\n"):
        columns = line.split(b"\t")
        if len(columns) == 10 and columns[0].isdigit():
            columns[6] = columns[7] = b"?"
        lines.append(b"\t".join(columns))
    return b"\n".join(lines)


@pytest.mark.parametrize("language", LANGUAGES)
def test_only_heads_and_relations_change(data_dir, model, tmp_path, monkeypatch, language):
    every = (data_dir / "ud14" / f"{language}-ud-test.conllu").read_bytes().split(b"\n\n")
    data = b"\n\n".join([*every[:200], b""])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    out = tmp_path / "out.conllu"
    assert cli.main(["-q", "parse", str(model), "-", "-o", str(out)]) == 0
    parsed = out.read_bytes()
    assert without_arcs(parsed) == without_arcs(data)
    assert parsed != data
    # The reader accepts only trees with one root.
    assert len(list(reading.read(str(out), heads="required"))) == 200


def test_compressed_in_and_out(data_dir, model, tmp_path):
    plain = data_dir / "ud14" / "fr-ud-test.conllu"
    packed = tmp_path / "fr.conllu.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    assert (
        cli.main(["-q", "parse", str(model), str(packed), "-o", str(tmp_path / "a.conllu.gz")]) == 0
    )
    assert cli.main(["-q", "parse", str(model), str(plain), "-o", str(tmp_path / "b.conllu")]) == 0
    assert (
        gzip.decompress((tmp_path / "a.conllu.gz").read_bytes())
        == (tmp_path / "b.conllu").read_bytes()
    )
