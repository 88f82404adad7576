"""Parsing of CoNLL-U files into one output."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial

from dynet_vdgi.compiled import jit
from dynet_vdgi.data import files
from dynet_vdgi.grammar.tag_warnings import TO_A_MODEL, check_known
from dynet_vdgi.parsing.steps import Steps
from dynet_vdgi.parsing.stream import Stream
from dynet_vdgi.system import progress
from dynet_vdgi.system.names import count

logger = logging.getLogger("dynet_vdgi")

WORTH_SAYING = 0.1
"""Seconds of compiling that a message names, which are not counted as parsing."""


def parse_files(stream: Stream, names: Sequence[str], output: str, steps: Steps | None = None) -> None:
    """Parses files one after the other into one output, after the steps that they need.

    Memory does not grow with the size of CoNLL-U files; raw text is read whole.

    Raises:
        DataError: an input is malformed, or the model knows none of its tags; the output is then as it was.
    """
    start, waited, n_sentences, n_words = time.perf_counter(), jit.waited, 0, 0
    steps = steps or Steps()
    with files.atomic_writer(output) as handle, progress.Bar("sentences") as bar:
        for parsed in stream.parse(steps.passages(names), partial(steps.accuracy, names)):
            if not n_words and parsed.unknown_tags.total() == parsed.n_words:
                known = stream.model.vocabulary.tags
                check_known(parsed.unknown_tags, known, ", ".join(map(files.shown, names)), TO_A_MODEL)
            handle.buffer.write(parsed.content)
            n_sentences, n_words = n_sentences + parsed.n_sentences, n_words + parsed.n_words
            bar.update(parsed.n_sentences)
    compiling = jit.waited - waited
    elapsed = max(time.perf_counter() - start - compiling, 1e-9)
    amount = f"{count(n_sentences, 'sentence')}, {count(n_words, 'word')}"
    besides = f", besides {compiling:.1f} s of compiling" if compiling >= WORTH_SAYING else ""
    logger.info("%s parsed in %.1f s (%.0f words/s)%s", amount, elapsed, n_words / elapsed, besides)
    right_tags = steps.accuracy(names, n_words)
    if stream.expected is not None:
        share, low, high = (
            f"{100 * each:.0f}" for each in (stream.expected.share, *stream.expected.interval)
        )
        split = " of correctly split words" if any(map(steps.is_raw, names)) else ""
        where = f"between {low} and {high} for 9 of 10 languages"
        what = f"about {share} % of the heads{split} are right ({where})"
        tags = (
            f"; of the tags {100 * right_tags:.0f} %, by the tagger's own estimate" if right_tags < 1 else ""
        )
        logger.info("%s%s", what, tags)
    elif stream.has_confidence and right_tags < 1:
        logger.warning(
            "HeadConf= of this model supposes correct tags: where tags are guessed, it is too high, by ten "
            "points or more"
        )
