"""Learns FastText vectors of the words of texts with gensim, and writes them in word2vec's text format.

    python run/vectors.py TEXT... OUT.vec

TEXT is CoNLL-U, or plain text with a sentence a line.
"""

import sys
from itertools import chain
from pathlib import Path

from gensim.models import FastText
from gensim.models.fasttext import ft_ngram_hashes

from dynet_vdgi.conllu import corpus

# Chosen on UD 1.4 (292,000 words of French, 61,000 of Basque): nearest neighbours often have the same tag.
# With gensim's rate of 0.025 and ten epochs the vectors of all Basque words pointed in one direction.
RATE, WORDS_TO_EITHER_SIDE, DIMENSIONS, LEAST = 0.05, 2, 300, 2
READ = 3_000_000  # words in all, but each text 5 to 50 times


def main(texts: list[str], output: Path) -> None:
    """Learns and writes; a run that is cut short leaves no file of the name."""
    # A word with a space inside would be two words to most readers.
    sentences = [
        [word for word in sentence if " " not in word]
        for sentence in corpus.words_in(texts, lowercase=True)
    ]
    n_ngrams = len(
        {x for word in {*chain(*sentences)} for x in ft_ngram_hashes(word, 3, 6, 2_000_000)}
    )
    epochs = min(50, max(5, round(READ / max(1, sum(map(len, sentences))))))
    model = FastText(
        sentences,
        sg=1,
        vector_size=DIMENSIONS,
        alpha=RATE,
        window=WORDS_TO_EITHER_SIDE,
        min_count=LEAST,
        bucket=max(1, n_ngrams),  # the default, two million, is too much memory for a small text
        epochs=epochs,
        seed=1,
        workers=1,  # several would run in an unpredictable order
    )
    part = output.with_name(output.name + ".part")
    model.wv.save_word2vec_format(str(part))
    part.replace(output)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1:-1], Path(sys.argv[-1]))
