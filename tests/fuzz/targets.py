"""What is fed with changed files: a reader for every kind of file, and sound files to begin with."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dynet_vdgi import model_file, presets
from dynet_vdgi.bundled import resources
from dynet_vdgi.data import brown, conllu, embeddings, penn
from dynet_vdgi.data.conllu_writing import unchanged
from dynet_vdgi.data.head_rules import load as load_heads
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.experiments import plan
from dynet_vdgi.grammar.facts import load_facts
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.labels.label_table import LabelTable
from dynet_vdgi.parsing.parser import How, Parser
from fuzz import mutations

HERE = Path(__file__).parent
TESTS = HERE.parent

TAGGED = [
    Sentence(("a", "b", "c", "d"), ("DET", "NOUN", "VERB", "ADP"), (2, 3, 0, 3)),
    Sentence(("e", "f", "g"), ("PRON", "AUX", "NOUN"), (3, 3, 0)),
]


@dataclass(frozen=True)
class Target:
    """A kind of file: sound ones, how they are changed, and what reads them."""

    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    ending: str = ".txt"
    mutate: Callable[[bytes, random.Random], bytes] = mutations.text


def _ignore(fault: VdgiError) -> None:
    """Faults and repairs are what is expected."""


def _conllu(path: Path) -> None:
    policies: tuple[conllu.Heads, ...] = ("optional", "partial")
    for heads in policies:
        for tags in ("upos", "xpos"):
            for sentence in conllu.read(path, heads=heads, tags=tags, on_error=_ignore, on_repair=_ignore):
                if heads == "optional":
                    unchanged(sentence)


def _rules(path: Path) -> None:
    Prior.of_text(load_rules(path), TAGGED).potentials(TAGGED[0])


def _penn(path: Path) -> None:
    heads = load_heads("collins")
    for tree in penn.read(path):
        penn.conllu_block(list(tree.words()), penn.heads(tree, heads), "1", ())


def _model(path: Path) -> None:
    model = model_file.load(path, training=True)
    parser = Parser(model)
    sentences = [Sentence(s.forms, s.tags) for s in TAGGED]
    parser.parse_all(sentences)
    if model.provenance.kind != "neural":
        for how in (How(confidence=True), How(exact=True)):
            with suppress(VdgiError):
                parser.parse_all(sentences, how)


def _files(*patterns: str) -> Callable[[], list[bytes]]:
    def read() -> list[bytes]:
        return [path.read_bytes() for pattern in patterns for path in sorted(_found(pattern))]

    return read


def _found(pattern: str) -> Iterator[Path]:
    for folder in (resources(), TESTS):
        yield from folder.glob(pattern)


def _beginning(*patterns: str) -> Callable[[], list[bytes]]:
    return lambda: [content[:3000] for content in _files(*patterns)()]


MODELS: list[bytes] = []
"""Model files to change; made by who calls, since that takes a while."""

TARGETS: dict[str, Target] = {
    "conllu": Target(_beginning("demo/demo-ud-test.conllu", "malformed/*.conllu"), _conllu, ".conllu"),
    "rules": Target(_files("rules/best.txt", "rules/ud.txt", "rules/wsj.txt"), _rules),
    "facts": Target(
        lambda: [b"objects = after\nadpositions = before ; cases 50\nverbs = end\n# note\n"],
        lambda path: load_facts(path, load_rules(resources() / "rules" / "best.txt")),
    ),
    "labels": Target(_files("labels/ud2.txt"), LabelTable.read),
    "presets": Target(_files("presets/*.toml"), lambda path: presets.load_settings(str(path)), ".toml"),
    "plans": Target(_files("experiments/*.toml"), plan.load, ".toml"),
    "vectors": Target(
        lambda: [
            b"2 3\na 1 2 3\nb .5 1e-3 4\n",
            b"a 1 2\nb 3 4\nc d 5 6\n",
            b"2 2\na " + bytes(8) + b"\nb " + bytes(8),
        ],
        lambda path: embeddings.load(str(path), ["a", "b"]),
    ),
    "clusters": Target(lambda: [b"0\ta\t3\n10\tb\t2\n11\tc\t1\n"], brown.read),
    "penn": Target(
        lambda: [b"( (S (NP-SBJ-1 (DT the) (NN dog)) (VP (VBZ barks) (-NONE- *T*-1)) (. .)) )\n" * 2], _penn
    ),
    "models": Target(lambda: MODELS, _model, ".vdgi", mutations.model),
}


def failures(kind: str, folder: Path, seed: int, times: int) -> Iterator[tuple[int, bytes, Exception]]:
    """What raised something else than the program's own errors: number of the change, file, error."""
    target = TARGETS[kind]
    seeds: Sequence[bytes] = target.seeds()
    path = folder / f"changed{target.ending}"
    for number in range(seed, seed + times):
        rng = random.Random(f"{kind} {number}")
        content = target.mutate(rng.choice(seeds), rng)
        path.write_bytes(content)
        try:
            target.read(path)
        except VdgiError:
            pass
        except Exception as error:
            yield number, content, error
