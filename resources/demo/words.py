"""Makes word vectors and Brown clusters of the demo language, for parsers that read words.

    python resources/demo/words.py [OUTDIR]          (default: the folder of this file)

writes demo.vec, vectors that gensim learns, in the text format of word2vec and fastText, and demo.paths,
clusters in the usual format, both of the words of demo-ud-train.conllu. The program must be installed. Digits of
the vectors may differ with another version of gensim.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gensim.models import FastText

from dynet_vdgi.conllu import corpus
from dynet_vdgi.lexicon import brown_clusters

HERE = Path(__file__).parent
DIMENSIONS, FEWEST_TIMES, EPOCHS, RATE, WORDS_TO_EITHER_SIDE = 20, 2, 30, 0.05, 2
N_CLUSTERS = 32
N_NGRAMS = 20_000  # of letters; the default, two million, is too much memory for a small text
DECIMALS = 3


def main(folder: Path) -> None:
    """Writes both files."""
    sentences = list(corpus.words_in([str(HERE / "demo-ud-train.conllu")], lowercase=True))
    model = FastText(
        sentences,
        sg=1,
        vector_size=DIMENSIONS,
        alpha=RATE,
        window=WORDS_TO_EITHER_SIDE,
        min_count=FEWEST_TIMES,
        bucket=N_NGRAMS,
        epochs=EPOCHS,
        seed=1,
        workers=1,  # several would run in an unpredictable order
    )
    rows = [
        " ".join([word, *(f"{value:.{DECIMALS}f}" for value in model.wv[word])])
        for word in model.wv.index_to_key
    ]
    header = f"{len(rows)} {DIMENSIONS}"
    (folder / "demo.vec").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    clusters = brown_clusters.induce(sentences, N_CLUSTERS)
    lines = "".join(brown_clusters.lines(clusters))
    (folder / "demo.paths").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
