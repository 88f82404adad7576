"""What is fed with changed files: a reader for every kind of file, and sound files to begin with."""

from __future__ import annotations

import io
import json
import random
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from annotating import journal_of

from dynet_vdgi.conllu import faults, formats, penn, raw_documents, raw_text, raw_writing, reading
from dynet_vdgi.conllu.blocks import Block, items
from dynet_vdgi.conllu.head_rules import load_head_rules as load_heads
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.writing import block_of
from dynet_vdgi.converters import conversion
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.evaluation import raw_scores
from dynet_vdgi.evaluation.file_scores import score_files
from dynet_vdgi.experiments import plan, tables
from dynet_vdgi.lexicon import brown_clusters, vectors
from dynet_vdgi.models import archive, model_file
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.page.store.session import Session
from dynet_vdgi.parser.file_parser import FileParser
from dynet_vdgi.parser.parser import How, Parser, load
from dynet_vdgi.relations.label_table import LabelTable
from dynet_vdgi.rule_tables.facts import load_facts
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules
from dynet_vdgi.settings import presets
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.system import files
from dynet_vdgi.words.tagger.tag_list import TagList
from dynet_vdgi.words.tagger.tagger import Tagger
from dynet_vdgi.words.tokeniser import tokeniser_file
from dynet_vdgi.words.tokeniser.tokeniser import Tokeniser
from fuzz import mutations

TESTS = Path(__file__).parents[1]

TOO_LONG = 20
"""CPU seconds for a small file: what takes longer is as good as never done."""

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
    policies: tuple[reading.HeadPolicy, ...] = ("optional", "partial")
    for heads in policies:
        for tags in ("upos", "xpos"):
            for sentence in reading.read(
                path, heads=heads, tags=tags, on_error=_ignore, on_repair=_ignore
            ):
                if heads == "optional":
                    block_of(sentence)
    with faults.ignoring_feats():
        list(reading.read(path, on_error=_ignore, on_repair=_ignore))
    for item in items(path, undecoded=True):
        if isinstance(item, Block):
            with suppress(VdgiError):
                reading.decoded_sentence_of(item, "partial", "upos", _ignore)
            for lines in (item.lines, [line.replace("\t", " ") for line in item.lines]):
                formats.format_of(lines)


def _rules(path: Path) -> None:
    Prior.of_text(load_rules(path), TAGGED).potentials(TAGGED[0])


def _penn(path: Path) -> None:
    heads = load_heads("collins")
    for tree in penn.read(path):
        penn.conllu_block(list(tree.words()), penn.heads(tree, heads), "1", ())


def _converted(path: Path) -> None:
    """What is written must be sound, but for heads: those of a table stay as they are."""
    out = io.StringIO()
    conversion.write(str(path), out, conversion.ConversionSettings(), {})
    written = path.with_name("converted.conllu")
    written.write_text(out.getvalue(), encoding="utf-8", newline="")
    try:
        list(reading.read(written, heads="ignored", tags="known", on_repair=_ignore))
    except VdgiError as fault:
        raise AssertionError(f"unsound: {fault}") from None


def _model(path: Path) -> None:
    model = model_file.load(path, training=True)
    parser = Parser(model)
    sentences = [Sentence(s.forms, s.tags) for s in TAGGED]
    parser.parse_all(sentences)
    if model.provenance.recipe != "neural":
        for how in (How(confidence=True), How(exact=True)):
            with suppress(VdgiError):
                parser.parse_all(sentences, how)


@lru_cache(maxsize=1)
def _taggers() -> list[bytes]:
    """A tagger that has learnt everything, and one that has learnt UPOS alone."""
    demo = _start_of_demo().decode()
    with tempfile.TemporaryDirectory() as name:
        path, text = Path(name) / "a.tagger", Path(name) / "a.conllu"
        text.write_text(demo, encoding="utf-8")
        found = []
        for sentences in (text, TAGGED):
            Tagger().fit(sentences).save(path)
            found.append(path.read_bytes())
    return found


def _tagger(path: Path) -> None:
    tagger = Tagger.load(path)
    words = Sentence(("a", "dog", "New", "1990-91", "."), ("_", "NOUN", "_", "_", "_"))
    for sentence, chances, _ in tagger.stream([words, Sentence(("b",), ("_",))]):
        block_of(sentence)
        assert all(chance is None or 0 <= chance <= 1 + 1e-9 for chance in chances)


def _with_steps() -> list[bytes]:
    """A model that keeps a tokeniser and a tagger."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a.vdgi"
        path.write_bytes(MODELS[-1])
        model = model_file.load(path, training=True)
        model.steps = {"tokeniser": _tokeniser()[0], "tagger": _taggers()[0]}
        model_file.save(path, model)
        return [path.read_bytes()]


def _steps(path: Path) -> None:
    Parser(model_file.load(path)).parse_text("Ul du (du) norišand. Du\n\n adu!")


def _beside(path: Path, name: str, content: bytes) -> Path:
    """A sound file in the same folder, for what reads more than one."""
    other = path.with_name(name)
    if not other.exists():
        other.write_bytes(content)
    return other


@lru_cache(maxsize=1)
def _parser(model: Path) -> FileParser:
    return FileParser(load(model))


def _parsed(path: Path) -> None:
    with suppress(VdgiError):
        _parser(_beside(path, "sound.vdgi", MODELS[-1])).parse([str(path)], str(path) + ".out")
    with suppress(VdgiError):
        parser = replace(_parser(_beside(path, "sound.vdgi", MODELS[-1])), skips_faulty=True)
        parser.parse([str(path)], str(path) + ".out")
    _evaluated(path)


def _evaluated(path: Path) -> None:
    gold = _beside(path, "sound.conllu", _start_of_demo())
    for pair in ((gold, path), (path, path)):
        with suppress(VdgiError):
            score_files(pair[0], [pair[1]], rules=_ud_rules())
        with suppress(VdgiError):
            raw_scores.score_files(pair[0], [pair[1]])
    with suppress(VdgiError):
        raw_documents.read_documents([path])


def _start_of_demo() -> bytes:
    blocks = (resources() / "demo" / "demo-ud-test.conllu").read_bytes().split(b"\n\n")
    return b"\n\n".join(blocks[:4]) + b"\n\n"


@lru_cache(maxsize=1)
def _ud_rules() -> RuleSet:
    return load_rules(resources() / "rules" / "ud.txt")


@lru_cache(maxsize=1)
def _best_rules() -> RuleSet:
    return load_rules(resources() / "rules" / "best.txt")


MARKED = (
    b"# text = a b c\n"
    b"1\ta\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tb\t_\tNOUN\t_\t_\t_\t_\t_\t_\n"
    b"3\tc\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n"
) * 2
"""What is annotated."""


def _a_journal() -> list[bytes]:
    """Changes of two sentences, and one that was taken back."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "marked.conllu"
        path.write_bytes(MARKED)
        session = Session(path, "me")
        for index, word, head in ((0, 1, 2), (0, 2, 3), (1, 1, 3)):
            session.change(index, (session.sentences[index].edits, 0), "head", word, head)
        session.change(1, (1, 0), "label", 1, "nsubj")
        session.change(0, (2, 0), "split", 1, ["a", "b"])
        session.back("undo")
        session.save()
        session.close()
        return [session.journal.path.read_bytes()]


def _journal(path: Path) -> None:
    content = path.read_bytes()
    if zlib.crc32(content) % 4:  # the checksums would hide nearly all other faults
        with suppress(ValueError, AttributeError):
            path.write_bytes(journal_of([json.loads(line) for line in content.splitlines()]))
    marked = path.with_name(path.name.removesuffix(".journal"))
    marked.write_bytes(MARKED)
    session = Session(marked, "me")
    try:
        session.save()
    finally:
        session.close()


LOGS = [
    b"".join(json.dumps({**row, "update": 5 * k}).encode() + b"\n" for k in range(3))
    for row in (
        {"phase": "pretrain", "epoch": 0.5, "elbo_per_word": -3.5, "dev_dda": 0.5, "entropy": 1.0},
        {"phase": "teacher", "language": "", "iteration": 1, "stage": 1, "penalised": -2.5},
        {"phase": "text", "language": "a", "words": 9, "is_mirrored": False, "sides": {"ADP": 1.5}},
        {"phase": "student", "trees": 9, "agreement": 0.5, "dev_dda": None, "cpu_s": 0.5},
    )
]


def _log(path: Path) -> None:
    log = RunLog(path)
    list(log.rows())
    log.restart(5)


ROW = {
    "system": "ours",
    "language": "fr",
    "seed": 1,
    "dda": {"<=15": 50.0, "all": 40.5},
    "commit": "abc1234",
    "cpu_s": 3.5,
    "words_per_cpu_s": 900.0,
    "protocol": "standard",
    "gold_trees": "dev: choice of the model",
}


def _results(path: Path) -> None:
    """The file is the result of a run, or a table of rows."""
    if path.suffix == ".json":
        (path.parent / "grid" / "fr" / "ours" / "1").mkdir(parents=True, exist_ok=True)
        (path.parent / "grid" / "fr" / "ours" / "1" / "result.json").write_bytes(path.read_bytes())
        path = path.parent / "grid"
    rows = tables.read([path])
    for found in (tables.overview(rows), tables.published_tables(rows, "paper")):
        tables.markdown(found)


def _tokeniser() -> list[bytes]:
    """A tokeniser's file, learnt from a few sentences with multiword tokens."""
    with tempfile.TemporaryDirectory() as name:
        tokeniser = Tokeniser.fit(_tokenised(Path(name)), iterations=3)
        return [archive.packed(tokeniser_file.members(tokeniser, tokeniser_file.Made()))]


def _tokenised(folder: Path) -> list[raw_text.Document]:
    path = folder / "tokenised.conllu"
    du = b"\n".join(
        b"\t".join([*pair, *[b"_"] * 8]) for pair in ((b"1-2", b"du"), (b"1", b"de"), (b"2", b"le"))
    )
    path.write_bytes(_start_of_demo() + (du + b"\n\n") * 3)
    return raw_documents.read_documents([path])


@lru_cache(maxsize=1)
def _sound_tokeniser(folder: Path) -> Tokeniser:
    return Tokeniser.fit(_tokenised(folder), iterations=3)


def _with_tokeniser(path: Path) -> None:
    raw_writing.conllu_of(tokeniser_file.load(path).tokenise("Ul du (du) norišand. Du\n\n adu!"))


def _raw(path: Path) -> None:
    text = files.read_text(path)
    document = _sound_tokeniser(path.parent).tokenise(text)
    written = path.with_name("written.conllu")
    written.write_text(raw_writing.conllu_of(document), encoding="utf-8")
    if document.sentences and [each.text for each in raw_documents.read_documents([written])] != [
        text
    ]:
        raise AssertionError("the text has changed")


def _files(*patterns: str) -> Callable[[], list[bytes]]:
    def read() -> list[bytes]:
        return [path.read_bytes() for pattern in patterns for path in sorted(_found(pattern))]

    return read


def _found(pattern: str) -> Iterator[Path]:
    for folder in (resources(), TESTS):
        yield from folder.glob(pattern)


def _beginning(*patterns: str) -> Callable[[], list[bytes]]:
    return lambda: [content[:3000] for content in _files(*patterns)()]


def _short_plans() -> list[bytes]:
    return [content for content in _files("experiments/*.toml")() if len(content) < 3000]


TABLES = [
    b"1\tDe\tden\tpn\tPN\tUTR|SIN\t2\tSS\t_\t_\n2\tgick\tg\tvb\tVB\t_\t0\tROOT\t_\t_\n\n",
    b"1\tDogs\tdog\tdog\tN\tN\t_\t_\t2\t2\tSBJ\tSBJ\t_\t_\n2\tgo\tgo\tgo\tV\tV\t_\t_\t0\t0\tR\tR\tY\tgo\tA\n\n",
    b"-DOCSTART- -X- O O\n\nMae VB B-VP O\nAnna NNP B-NP B-PER\n",
    b"De\tgick\t.\nPN\tVB\tMAD\nSS\tROOT\tIP\n2\t0\t2\n\n",
    b"form,upos,head,deprel,sentence\nDogs,NOUN,2,nsubj,1\nbark,VERB,0,root,1\nGo,VERB,0,root,2\n",
]
"""Tables to convert."""

MODELS: list[bytes] = []
"""Model files to change; made by who calls, since that takes a while."""


def _texts_of_words() -> list[bytes]:
    """CoNLL-U, with columns after MISC, and with faults; and other formats that people have."""
    plain = _beginning("demo/demo-ud-test.conllu", "malformed/*.conllu")()
    names = (
        b"# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC PARSEME:MWE X\n"
    )
    more = [line + b"\t*\tx" if b"\t" in line else line for line in _start_of_demo().split(b"\n")]
    others = (
        b"-DOCSTART- -X- O O\n\nMae VB B-VP O\nhi PRP B-NP B-PER\n\n",
        b"1\tMae\tbod\tbod\tV\tV\t_\t_\t0\t0\tROOT\tROOT\t_\t_\n\n",
        b"1\tMae\tbod\tV\tVB\tPRS|AKT\t0\tROOT\t_\t_\n\n",
        b"Mae\tVB\t0\tROOT\nhi\tPRP\t1\tSUB\n\n",
        b"Mae\thi\nVB\tPRP\nROOT\tSUB\n0\t1\n\n",
        b'"id","form"\n1,"Mae, hi"\n2,oer\n',
        b"Mae/VB hi/PRP ./.\n",
        b'<?xml version="1.0"?>\n<document exportTarget="flextext"><interlinear-text/></document>\n',
    )
    return [*plain, names + b"\n".join(more), *others]


TARGETS: dict[str, Target] = {
    "conllu": Target(_texts_of_words, _conllu, ".conllu"),
    "rules": Target(_files("rules/best.txt", "rules/ud.txt", "rules/wsj.txt"), _rules),
    "facts": Target(
        lambda: [b"objects = after\nadpositions = before ; cases 50\nverbs = end\n# note\n"],
        lambda path: load_facts(path, _best_rules()),
    ),
    "labels": Target(_files("labels/ud2.txt"), LabelTable.read),
    "presets": Target(
        _files("presets/*.toml"), lambda path: presets.load_settings(str(path)), ".toml"
    ),
    "plans": Target(_short_plans, plan.load_plan, ".toml"),
    "vectors": Target(
        lambda: [
            b"2 3\na 1 2 3\nb .5 1e-3 4\n",
            b"a 1 2\nb 3 4\nc d 5 6\n",
            b"2 2\na " + bytes(8) + b"\nb " + bytes(8),
        ],
        lambda path: vectors.load_vectors(str(path), ["a", "b"]),
    ),
    "clusters": Target(lambda: [b"0\ta\t3\n10\tb\t2\n11\tc\t1\n"], brown_clusters.read),
    "penn": Target(
        lambda: [
            b"( (S (NP-SBJ-1 (DT the) (NN dog)) (VP (VBZ barks) (-NONE- *T*-1)) (. .)) )\n" * 2
        ],
        _penn,
    ),
    "interlinear": Target(
        _files("demo/interlinear.eaf", "demo/interlinear.flextext", "demo/interlinear.sfm"),
        _converted,
    ),
    "tables": Target(lambda: TABLES, _converted),
    "packed": Target(
        _beginning("demo/demo-ud-test.conllu"), _conllu, ".conllu.gz", mutations.packed
    ),
    "parsed": Target(lambda: [_start_of_demo()], _parsed, ".conllu"),
    "journals": Target(_a_journal, _journal, ".conllu.journal", mutations.json_lines),
    "logs": Target(lambda: LOGS, _log, ".jsonl", mutations.json_lines),
    "results": Target(
        lambda: [json.dumps({"rows": [ROW]}).encode()], _results, ".json", mutations.json_file
    ),
    "rows": Target(
        lambda: [b"system,language,seed,<=15,commit\nours,fr,1,50.5,abc\n"], _results, ".csv"
    ),
    "taggers": Target(_taggers, _tagger, ".tagger", mutations.model),
    "tokenisers": Target(_tokeniser, _with_tokeniser, ".tokeniser", mutations.model),
    "raw": Target(
        lambda: ["Ul (norišand), «nim»\n\n bolo:  stos-lebis... 20 000!\tà".encode()], _raw
    ),
    "lists": Target(
        lambda: ["der\tDET\nHund\tNOUN\tNumber=Sing\t3\nläuft\t_\t_\t2\n\nin\tADP\t_\n".encode()],
        lambda path: TagList.read(path).filled_tags(("der", "Hund", "3", "!"), "_X__", "____"),
        ".tsv",
    ),
    "steps": Target(_with_steps, _steps, ".vdgi", mutations.steps),
    "models": Target(lambda: MODELS, _model, ".vdgi", mutations.model),
}


@lru_cache(maxsize=len(TARGETS))
def _seeds(kind: str) -> Sequence[bytes]:
    return TARGETS[kind].seeds()


def failures(
    kind: str, folder: Path, seed: int, times: int
) -> Iterator[tuple[int, bytes, Exception]]:
    """Errors that are not the program's own, or slowness: number of the change, file, error."""
    target = TARGETS[kind]
    seeds = _seeds(kind)
    path = folder / f"changed{target.ending}"
    for number in range(seed, seed + times):
        rng = random.Random(f"{kind} {number}")
        content = target.mutate(rng.choice(seeds), rng)
        path.write_bytes(content)
        start = time.thread_time()
        try:
            target.read(path)
        except VdgiError:
            pass
        except Exception as error:
            yield number, content, error
        seconds = time.thread_time() - start
        if seconds > TOO_LONG:
            yield number, content, TimeoutError(f"{seconds:.0f} CPU seconds")
