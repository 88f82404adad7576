"""Features of letters keep their codes: tokenisers and taggers learnt before hold them."""

from __future__ import annotations

from hashlib import sha256

from dynet_vdgi.words.tagger.spelling import PREFIX, SUFFIX, items_of
from dynet_vdgi.words.tagger.spelling_templates import SpellingTemplate
from dynet_vdgi.words.tokeniser.features import LONGEST_ENDING, keys_of
from dynet_vdgi.words.tokeniser.symbols import symbols_of
from dynet_vdgi.words.tokeniser.unit_templates import UnitTemplate

TEXT = "Mr. O'Neill paid 3,50 (e.g. in well-known cafés). «Oui», etc.\n\nInternationalisation: 日本語。 No."


def digest_of(*arrays):
    return sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


def test_units_have_the_features_that_tokenisers_hold():
    assert digest_of(*keys_of(symbols_of(TEXT))) == "8e346ae07b9311bb"


def test_word_types_have_the_features_that_taggers_hold():
    items = items_of(["", *sorted({*TEXT.split(), "a", "McDonald", "X-ray"})])
    assert digest_of(items.first, items.codes) == "97fbf42576f1aec7"


def test_each_template_has_a_number_of_its_own():
    assert sorted(UnitTemplate) == list(range(47))
    assert len(set(SpellingTemplate)) == len(SpellingTemplate.__members__) == 16
    assert UnitTemplate.LAST_FIVE + LONGEST_ENDING - 5 == UnitTemplate.LAST_EIGHT
    assert SpellingTemplate.LAST_LETTER + SUFFIX - 1 == SpellingTemplate.LAST_6
    assert SpellingTemplate.FIRST_LETTER + PREFIX - 1 == SpellingTemplate.FIRST_4
