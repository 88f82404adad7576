"""Parsing of CoNLL-U files into one output."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from dynet_vdgi.data import files
from dynet_vdgi.parsing.steps import Steps
from dynet_vdgi.parsing.stream import Stream
from dynet_vdgi.system import progress
from dynet_vdgi.system.names import count

logger = logging.getLogger("dynet_vdgi")


def parse_files(stream: Stream, names: Sequence[str], output: str, steps: Steps | None = None) -> None:
    """Parses files one after the other into one output, after the steps that they need.

    Memory does not grow with the size of CoNLL-U files; raw text is read whole.

    Raises:
        DataError: an input is malformed; the output is then as it was.
    """
    start, n_sentences, n_words = time.perf_counter(), 0, 0
    with files.atomic_writer(output) as handle, progress.Bar("sentences") as bar:
        for parsed in stream.parse((steps or Steps()).passages(names)):
            handle.buffer.write(parsed.content)
            n_sentences, n_words = n_sentences + parsed.n_sentences, n_words + parsed.n_words
            bar.update(parsed.n_sentences)
    elapsed = max(time.perf_counter() - start, 1e-9)
    logger.info(
        "%s, %s parsed in %.1f s (%.0f words/s)",
        count(n_sentences, "sentence"),
        count(n_words, "word"),
        elapsed,
        n_words / elapsed,
    )
    if stream.expected is not None:
        _, share, error = (100 * number for number in stream.expected)
        logger.info("about %.0f %% of the heads are right (plus or minus %.0f points)", share, error)
