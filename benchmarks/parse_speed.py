"""Parsing speed: the arena, DyNet, DyNet with autobatching, and PyTorch; and the whole program.

    python benchmarks/parse_speed.py fr-ud-test.conllu eu-ud-test.conllu [--model MODEL] [--repeats 5]

Without --model, the models have random weights, one without words and one with, for the tags and words of
the files. Besides the files' sentences, which are parsed without punctuation as in `vdgi parse`, there are
texts of one sentence length each, whose words are drawn from the files. One core, CPU seconds; the whole
program also in wall seconds, with one and two worker processes. PyTorch is included if installed. With
--million, the command parses a file of this many words, and the script measures its peak memory.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import measuring
import numpy as np

from dynet_vdgi.data import conllu, protocols, punctuation
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Encoded, build_vocabulary
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.grammar.transitions import Action, State
from dynet_vdgi.runs import model_file
from dynet_vdgi.runs.model_file import ModelFile, Provenance
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.system.blas import one_thread

REFERENCE, NAIVE, AUTOBATCH = "reference engine", "DyNet", "DyNet autobatch"
TORCH, ARENA = "PyTorch", "arena"
SHIFT, LEFT, RIGHT = (int(action) for action in Action)
LENGTHS = (5, 10, 20, 40, 80)
AT_MOST = {REFERENCE: 1_000, NAIVE: 2_000, AUTOBATCH: 3_000}  # words that the slow systems parse of each text
GRAPH = 32  # sentences of one autobatched graph

Parse = Callable[[Sequence[Encoded]], "list[tuple[int, ...]]"]


# ------------------------------------------------------------------------------------------ systems
def load_network(model: ModelFile) -> Any:
    """The model's networks in DyNet; keep the whole object alive while a part of it is in use."""
    from dynet_vdgi.model.network import Network

    network = Network(model.vocabulary, model.settings.parser, np.random.default_rng(0))
    network.parameters.load(model.parameters)
    return network


def reference(model: ModelFile) -> Parse:
    """The reference engine of this package, written for clarity, not for speed."""
    from dynet_vdgi.model import per_sentence

    network = load_network(model)
    return lambda sentences: [per_sentence.parse(network.encoder, sentence) for sentence in sentences]


def naive(model: ModelFile) -> Parse:
    """A graph for each sentence, evaluated action by action."""
    network = load_network(model)
    return lambda sentences: [_greedy(network.encoder, [sentence], False)[0] for sentence in sentences]


def autobatched(model: ModelFile) -> Parse:
    """A graph for several sentences of similar length, one action of each a step, batched by DyNet itself."""
    network = load_network(model)

    def parse(sentences: Sequence[Encoded]) -> list[tuple[int, ...]]:
        order = sorted((k for k, s in enumerate(sentences) if len(s)), key=lambda k: -len(sentences[k]))
        result: list[tuple[int, ...]] = [()] * len(sentences)
        for start in range(0, len(order), GRAPH):
            group = order[start : start + GRAPH]
            for k, heads in zip(group, _greedy(network.encoder, [sentences[k] for k in group], True)):
                result[k] = heads
        return result

    return parse


def _greedy(encoder: Any, sentences: Sequence[Encoded], autobatch: bool) -> list[tuple[int, ...]]:
    """Trees of sentences in one graph; longest first."""
    import dynet as dy

    dy.renew_cg(autobatching=autobatch)
    embedded, parts = zip(*(encoder.read(sentence) for sentence in sentences))
    states, tops = [State(len(sentence)) for sentence in sentences], [None] * len(sentences)
    for step in range(2 * len(sentences[0]) - 1):
        active = [k for k, sentence in enumerate(sentences) if step < 2 * len(sentence) - 1]
        actions = dict.fromkeys(active, SHIFT)
        choosing = [k for k in active if states[k].legal()[LEFT]]
        if choosing:
            scored = [
                encoder.state.logits(encoder.state.embedding(tops[k].h, parts[k][states[k].read], False))
                for k in choosing
            ]
            values = (dy.concatenate_to_batch(scored) if len(scored) > 1 else scored[0]).vec_value()
            for place, k in enumerate(choosing):
                shift, left, right = values[3 * place : 3 * place + 3]
                if max(left, right) > shift or not states[k].legal()[SHIFT]:
                    actions[k] = LEFT if left >= right else RIGHT
        for k, action in actions.items():
            if action == SHIFT:
                tops[k] = encoder.stack.push(tops[k], embedded[k][states[k].read])
            else:
                tops[k] = encoder.stack.reduce(tops[k], action == LEFT)
            states[k].apply(action)
    return [tuple(state.heads) for state in states]


def in_torch(model: ModelFile) -> Parse:
    """The arena's algorithm in PyTorch."""
    from torch_parser import TorchParser

    return TorchParser(model.parameters, model.settings.parser).parse


def in_arena(model: ModelFile) -> Parse:
    """The parser of this package, with its machine code compiled."""
    from dynet_vdgi.parsing.arena import Arena

    arena = Arena(model.parameters, model.settings.parser)
    arena.make_ready()
    return arena.parse


SYSTEMS = {REFERENCE: reference, NAIVE: naive, AUTOBATCH: autobatched, TORCH: in_torch, ARENA: in_arena}
if importlib.util.find_spec("torch") is None:
    del SYSTEMS[TORCH]


# ------------------------------------------------------------------------------- models and sentences
def random_model(sentences: Sequence[Sentence], lexicalised: bool) -> ModelFile:
    """A model whose random weights are large enough that its decisions vary."""
    from dynet_vdgi.model.network import Network

    settings = load_settings("paper", changes={"parser": {"word_dim": 80 if lexicalised else 0}})
    vocabulary = build_vocabulary(sentences, lexicalised=lexicalised)
    rng = np.random.default_rng(5)
    parameters = Network(vocabulary, settings.parser, rng).parameters.arrays()
    for name, value in parameters.items():
        if not name.endswith("vectors"):
            factor = 1.5 if value.ndim == 2 else 1.0
            parameters[name] = (factor * value + rng.normal(0.0, 0.4, value.shape)).astype(np.float32)
    return ModelFile(Provenance(), settings, vocabulary, load_rules(rules_path("ud")), dict(parameters))


def without_punctuation(sentences: Sequence[Sentence], model: ModelFile) -> list[Encoded]:
    """The arena's input for these sentences in `vdgi parse`."""
    removed = protocols.protocol_named(model.settings.data.protocol).removed_tags
    bare = (punctuation.without_punctuation(sentence, removed)[0] for sentence in sentences)
    return [model.vocabulary.encode(sentence.forms, sentence.tags) for sentence in bare if len(sentence)]


def texts(sentences: Sequence[Sentence], model: ModelFile, n_words: int) -> dict[str, list[Encoded]]:
    """The files' sentences by length, and sentences of one length with words drawn from the files."""
    encoded = without_punctuation(sentences, model)
    result = {f"<={limit}": [s for s in encoded if len(s) <= limit] for limit in (15, 40)}
    result["all"] = encoded
    tags = np.array([tag for sentence in encoded for tag in sentence.tags])
    words = np.array([word for sentence in encoded for word in sentence.words])
    rng = np.random.default_rng(1)
    for length in LENGTHS:
        drawn = rng.integers(0, len(tags), (max(1, n_words // length), length))
        pairs = zip(tags[drawn].tolist(), words[drawn].tolist())
        result[f"n = {length}"] = [Encoded(tuple(t), tuple(w)) for t, w in pairs]
    return {name: text for name, text in result.items() if text}


def count(sentences: Sequence[Any]) -> int:
    return sum(map(len, sentences))


def some(sentences: Sequence[Encoded], n_words: int) -> list[Encoded]:
    """Every k-th sentence, so that about `n_words` words are left."""
    return list(sentences[:: max(1, count(sentences) // n_words)])


# ----------------------------------------------------------------------------------------- measurements
def compare(model: ModelFile, sentences: Sequence[Sentence], n_words: int, repeats: int) -> dict[str, Any]:
    """Words per CPU second of all systems on all texts, and whether their trees are equal."""
    parsers = {name: make(model) for name, make in SYSTEMS.items()}
    every = texts(sentences, model, n_words)
    parts = {
        (title, name): some(text, min(n_words, AT_MOST[name])) if name in AT_MOST else text
        for title, text in every.items()
        for name in parsers
    }
    trees: dict[str, Any] = {}
    expected = parsers[ARENA](every["all"])
    for name, parse in parsers.items():
        part = parts["all", name]
        place = {id(sentence): heads for sentence, heads in zip(every["all"], expected)}
        equal = sum(heads == place[id(sentence)] for sentence, heads in zip(part, parse(part)))
        trees[name] = {"equal": equal, "sentences": len(part)}
    jobs = {key: functools.partial(parsers[key[1]], part) for key, part in parts.items()}
    seconds = measuring.medians({f"{t}/{name}": job for (t, name), job in jobs.items()}, repeats)
    speeds = {
        text: {name: count(parts[text, name]) / seconds[f"{text}/{name}"] for name in parsers}
        for text in every
    }
    kinds = Counter(0 if head == 0 else 1 if head > k else 2 for h in expected for k, head in enumerate(h, 1))
    total = sum(kinds.values()) - kinds[0]
    return {
        "words": {text: count(every[text]) for text in every},
        "words_per_cpu_s": speeds,
        "same_trees": trees,
        "left_arcs": kinds[1] / max(total, 1),
    }


def print_speeds(title: str, result: dict[str, Any]) -> None:
    """One line per text."""
    names = list(SYSTEMS)
    others = [name for name in names if name not in (REFERENCE, ARENA)]
    header = ["sentences", "words", *names, *(f"arena / {name}" for name in others)]
    rows = []
    for text, speeds in result["words_per_cpu_s"].items():
        ratios = [f"{speeds[ARENA] / speeds[name]:.1f}" for name in others]
        row = [text, f"{result['words'][text]:,}", *(f"{speeds[name]:,.0f}" for name in names), *ratios]
        rows.append(row)
    measuring.print_table(f"{title}: words per CPU second", header, rows)
    equal = [f"{name} {t['equal']:,} of {t['sentences']:,}" for name, t in result["same_trees"].items()]
    print(f"\nTrees equal to the arena's: {', '.join(equal)}. Heads to the right: {result['left_arcs']:.0%}.")


def from_file_to_file(model: Path, files: Sequence[str], n_words: int, repeats: int) -> list[dict[str, Any]]:
    """`Parser.parse_all` and `vdgi parse`, with punctuation, on the files' sentences, repeated."""
    from dynet_vdgi.parsing import parser as parsing
    from dynet_vdgi.parsing.files import parse_files
    from dynet_vdgi.parsing.stream import Stream

    parser = parsing.load(model)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.conllu"), str(Path(folder, "out.conllu"))
        words = repeat_files(files, source, n_words)
        sentences = list(conllu.read(source))

        def parse(jobs: int) -> None:
            with Stream(str(model), jobs) as stream:
                parse_files(stream, [str(source)], target)

        tasks: dict[str, Callable[[], object]] = {
            "`Parser.parse_all`": lambda: parser.parse_all(sentences),
            "`vdgi parse`": lambda: parse(1),
            "`vdgi parse --jobs 2`": lambda: parse(2),
        }
        wall: dict[str, list[float]] = {name: [] for name in tasks}
        cpu: dict[str, list[float]] = {name: [] for name in tasks}
        for _ in range(repeats):
            for name, task in tasks.items():
                begun, start = measuring.cpu_with_children(), time.perf_counter()
                task()
                wall[name].append(time.perf_counter() - start)
                cpu[name].append(measuring.cpu_with_children() - begun)
    middle = [(name, float(np.median(cpu[name])), float(np.median(wall[name]))) for name in tasks]
    return [{"task": name, "words": words, "cpu_s": c, "wall_s": w} for name, c, w in middle]


def repeat_files(files: Sequence[str], target: Path, n_words: int) -> int:
    """Writes the sentences of the files in order, repeatedly, up to `n_words` words."""
    words = 0
    with target.open("w", encoding="utf-8") as handle:
        while words < n_words:
            for name in files:
                for sentence in conllu.read(name):
                    if words < n_words and sentence.source is not None:
                        handle.write("\n".join(sentence.source.lines) + "\n\n")
                        words += len(sentence)
    return words


def parse_once(system: str, model: str, files: Sequence[str]) -> None:
    """The work of a process whose memory is measured; "nothing" parses nothing."""
    loaded = model_file.load(model)
    sentences = [sentence for name in files for sentence in conllu.read(name)]
    encoded = without_punctuation(sentences, loaded)
    if system != "nothing":
        SYSTEMS[system](loaded)(some(encoded, AT_MOST.get(system, count(encoded))))


def memory(models: dict[str, Path], files: Sequence[str]) -> dict[str, dict[str, float]]:
    """Peak memory in MB by system and model."""
    return {
        name: {
            title: measuring.peak_memory(
                measuring.itself(*files, "--model", str(model), "--parse-once", name)
            )
            for title, model in models.items()
        }
        for name in ("nothing", *SYSTEMS)
    }


def memory_of_command(model: Path, files: Sequence[str], n_words: int) -> dict[str, float]:
    """Peak memory and time of `vdgi parse` on a file of this many words."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.conllu"), str(Path(folder, "out.conllu"))
        words = repeat_files(files, source, n_words)
        start, begun = time.perf_counter(), measuring.cpu_with_children()
        command = [*measuring.VDGI, "parse", str(model), str(source), "-o", target]
        peak = measuring.peak_memory(command)
        cpu, wall = measuring.cpu_with_children() - begun, time.perf_counter() - start
        size = source.stat().st_size / 2**20
    return {"words": words, "file_mb": size, "peak_mb": peak, "cpu_s": cpu, "wall_s": wall}


def arguments_parser() -> argparse.ArgumentParser:
    """The script's options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", metavar="CONLLU")
    parser.add_argument("--model", help="model file (default: random weights)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--words", type=int, default=24_000, help="of each text of one sentence length")
    parser.add_argument("--file-words", type=int, default=200_000, help="of the file that is parsed")
    parser.add_argument("--million", action="store_true", help="memory of vdgi parse on 1,000,000 words")
    parser.add_argument("--no-memory", action="store_true", help="leave out the table of peak memory")
    parser.add_argument("--json", metavar="FILE", help="all figures, for programs")
    parser.add_argument("--parse-once", help=argparse.SUPPRESS)
    return parser


def main() -> None:
    """Prints the tables."""
    arguments = arguments_parser().parse_args()
    if arguments.parse_once:
        parse_once(arguments.parse_once, arguments.model, arguments.files)
        return
    measured = measuring.conditions()
    measuring.print_conditions(measured)
    sentences = [sentence for name in arguments.files for sentence in conllu.read(name)]
    content: dict[str, Any] = {"conditions": measured, "speed": {}}
    with tempfile.TemporaryDirectory() as folder, one_thread():
        models: dict[str, Path] = {}
        if arguments.model:
            models["given model"] = Path(arguments.model)
        else:
            for title in ("unlexicalised", "lexicalised"):
                models[title] = Path(folder, f"{title}.vdgi")
                model_file.save(models[title], random_model(sentences, title == "lexicalised"))
        for title, path in models.items():
            model = model_file.load(path)
            result = compare(model, sentences, arguments.words, arguments.repeats)
            content["speed"][title] = result
            n_words = len(model.vocabulary.words)
            print_speeds(f"Model {title}" + (f" ({n_words:,} words)" if n_words else ""), result)
        if not arguments.no_memory:
            content["memory_mb"] = memory(models, arguments.files)
            rows = [[name, *(f"{mb:.0f}" for mb in by.values())] for name, by in content["memory_mb"].items()]
            title = "Peak memory in MB, each system in a process of its own"
            measuring.print_table(title, ["system", *models], rows)
        content["file"] = {}
        for title, path in models.items():
            lines = from_file_to_file(path, arguments.files, arguments.file_words, arguments.repeats)
            content["file"][title] = lines
            header = ["whole program", "words", "CPU s", "words per CPU s", "wall s", "words per wall s"]
            rows = []
            for line in lines:
                words, cpu, wall = line["words"], line["cpu_s"], line["wall_s"]
                speeds = [f"{cpu:.2f}", f"{words / cpu:,.0f}", f"{wall:.2f}", f"{words / wall:,.0f}"]
                rows.append([line["task"], f"{words:,}", *speeds])
            measuring.print_table(f"Model {title}, punctuation included", header, rows)
        if arguments.million:
            content["million"] = memory_of_command(next(iter(models.values())), arguments.files, 1_000_000)
            m = content["million"]
            print(f"\n`vdgi parse` on {m['words']:,} words ({m['file_mb']:.0f} MB of CoNLL-U):", end=" ")
            print(f"{m['cpu_s']:.1f} CPU s, {m['wall_s']:.1f} s, peak memory {m['peak_mb']:.0f} MB.")
    measuring.write_json(arguments.json, content)


if __name__ == "__main__":
    main()
