"""Makes the demo treebank: 900 sentences of Lomric, a language invented for this project.

    python resources/demo/generate.py [OUTDIR]          (default: the folder of this file)

writes demo-ud-train.conllu (600 sentences), demo-ud-dev.conllu (100) and demo-ud-test.conllu (200): CoNLL-U
with the tags and relations of Universal Dependencies 1.4. Every byte follows from the tables below and from
SEED; random numbers come from `Random.random` alone, which draws the same sequence in every Python version.

Reading order: the closed words, the shape of open words, the phrase rules, the clause types, then the code.

Written for this project, MIT licence like the rest. The words are invented or drawn at random, no text was
copied; the word order (verb-second, verb-final when embedded) is a pattern known from Germanic languages.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

SEED = 1908  # chosen among eight for its share of crossing trees and for words that offend nobody
PARTS = (("train", 600), ("dev", 100), ("test", 200))
MIN_WORDS, MAX_WORDS, MAX_TOKENS = (
    2,
    20,
    22,
)  # words are counted without punctuation, tokens with it
GAPPING_AT = 40  # this sentence of every part is elliptical and carries an empty node

# ----------------------------------------------------------------------------------------------------------
# Closed words: class, lemma, tag, weight, then form:features for each form. The rules below name the classes.

CLOSED = """
ART       ul     DET   60  ul:Case=Nom|Number=Sing ule:Case=Acc|Number=Sing um:Case=Dat|Number=Sing \
ulos:Case=Gen|Number=Sing uli:Case=Nom|Number=Plur ules:Case=Acc|Number=Plur \
umes:Case=Dat|Number=Plur ulis:Case=Gen|Number=Plur
ART       wa     DET   30  wa:Case=Nom|Number=Sing wan:Case=Acc|Number=Sing wam:Case=Dat|Number=Sing \
wos:Case=Gen|Number=Sing
ART       tiru   DET   12  tiru:Number=Sing tiruk:Number=Plur
ART       bolo   DET    8  bolo:_
POSS      mor    DET   10  mor:Number=Sing morik:Number=Plur
POSS      gur    DET    6  gur:Number=Sing gurik:Number=Plur
POSS      zir    DET   12  zir:Number=Sing zirik:Number=Plur
PRON      wo     PRON  20  wo:Case=Nom|Number=Sing won:Case=Acc|Number=Sing wom:Case=Dat|Number=Sing \
noro:Case=Nom|Number=Plur noron:Case=Acc|Number=Plur norom:Case=Dat|Number=Plur
PRON      gu     PRON  12  gu:Case=Nom|Number=Sing gun:Case=Acc|Number=Sing gum:Case=Dat|Number=Sing \
gelo:Case=Nom|Number=Plur gelon:Case=Acc|Number=Plur gelom:Case=Dat|Number=Plur
PRON      zi     PRON  30  zi:Case=Nom|Number=Sing zin:Case=Acc|Number=Sing zim:Case=Dat|Number=Sing \
ziro:Case=Nom|Number=Plur ziron:Case=Acc|Number=Plur zirom:Case=Dat|Number=Plur
PRON      fala   PRON   6  fala:Case=Nom|Number=Sing falan:Case=Acc|Number=Sing falam:Case=Dat|Number=Sing \
falar:Case=Nom|Number=Plur falan:Case=Acc|Number=Plur falam:Case=Dat|Number=Plur
WHO       hul    PRON  10  hul:Case=Nom hulon:Case=Acc
REL.PRON  yel    PRON  10  yel:Case=Nom yelon:Case=Acc
IN        ko     ADP   40  ko:_
IN        pera   ADP   12  pera:_
IN        fip    ADP    8  fip:_
OF        wi     ADP   10  wi:_
WITH      nim    ADP   10  nim:_
ON        hib    ADP   10  hib:_
AT        tolu   ADP   10  tolu:_
AGO       sunde  ADP   10  sunde:_
MODAL     pab    AUX   14  pab:Number=Sing|Tense=Pres pabun:Number=Plur|Tense=Pres \
pabal:Number=Sing|Tense=Past pabalun:Number=Plur|Tense=Past
MODAL     duv    AUX    9  duv:Number=Sing|Tense=Pres duvun:Number=Plur|Tense=Pres \
duval:Number=Sing|Tense=Past duvalun:Number=Plur|Tense=Past
MODAL     wur    AUX   20  wur:Number=Sing|Tense=Pres wurun:Number=Plur|Tense=Pres \
wural:Number=Sing|Tense=Past wuralun:Number=Plur|Tense=Past
COPULA    ija    AUX   20  ija:Number=Sing|Tense=Pres ijun:Number=Plur|Tense=Pres
COPULA    yorog  VERB  20  yoral:Number=Sing|Tense=Past|VerbForm=Fin \
yoralun:Number=Plur|Tense=Past|VerbForm=Fin
COPULA    fitog  VERB   4  fit:Number=Sing|Tense=Pres|VerbForm=Fin fitun:Number=Plur|Tense=Pres|VerbForm=Fin \
fital:Number=Sing|Tense=Past|VerbForm=Fin fitalun:Number=Plur|Tense=Past|VerbForm=Fin
AND       vyo    CONJ  30  vyo:_
AND       ojer   CONJ   9  ojer:_
BUT       mub    CONJ  12  mub:_
BUT       vyo    CONJ  12  vyo:_
THAT      tan    SCONJ 20  tan:_
THAT      fip    SCONJ  5  fip:_
WHEN      kuv    SCONJ 14  kuv:_
WHEN      fip    SCONJ 10  fip:_
WHEN      orpe   SCONJ  8  orpe:_
WHEN      lamvo  SCONJ  4  lamvo:_
NOT       nuk    PART  10  nuk:Negative=Neg
TO        yi     PART  10  yi:_
ASK       ep     PART  10  ep:_
OUT       uk     PART   9  uk:_
OUT       wek    PART   6  wek:_
OUT       pera   PART   3  pera:_
VERY      kresu  ADV   10  kresu:_
VERY      plimo  ADV    6  plimo:_
VERY      nulte  ADV    2  nulte:_
SMALL     gorn   ADJ   10  gorn:Number=Sing gornik:Number=Plur
SMALL     peku   ADJ    8  peku:Number=Sing pekik:Number=Plur
SMALL     lyva   ADJ    6  lyva:Number=Sing lyvik:Number=Plur
SMALL     vet    ADJ    4  vet:Number=Sing vetik:Number=Plur
HEY       oha    INTJ   8  oha:_
HEY       wup    INTJ   6  wup:_
HEY       ayu    INTJ   3  ayu:_
HEY       frr    INTJ   1  frr:_
PERCENT   %      SYM    6  %:_
PERCENT   ‰      SYM    1  ‰:_
MONEY     €      SYM    4  €:_
MONEY     §      SYM    2  §:_
ETC       srv    X      4  srv:Abbr=Yes
COUNT     bam    NUM   14  bam:NumType=Card
COUNT     tril   NUM   10  tril:NumType=Card
COUNT     pemo   NUM    5  pemo:NumType=Card
COUNT     dukko  NUM    3  dukko:NumType=Card
COUNT     7      NUM    2  7:NumType=Card
COUNT     12     NUM    3  12:NumType=Card
COUNT     40     NUM    2  40:NumType=Card
COUNT     250    NUM    1  250:NumType=Card
YEAR      1904   NUM    4  1904:NumType=Card
YEAR      1987   NUM    3  1987:NumType=Card
YEAR      2013   NUM    1  2013:NumType=Card
COMMA     ,      PUNCT  1  ,:_
STOP      .      PUNCT  1  .:_
QUERY     ?      PUNCT  1  ?:_
BANG      !      PUNCT  1  !:_
COLON     :      PUNCT  1  ::_
OPEN.Q    “      PUNCT  1  “:_
CLOSE.Q   ”      PUNCT  1  ”:_
OPEN.B    (      PUNCT  1  (:_
CLOSE.B   )      PUNCT  1  ):_
"""
NO_SPACE_BEFORE, NO_SPACE_AFTER = set(",.?!:”)"), set("“(")
CONTRACTIONS = {
    ("ko", "um"): "kum",
    ("wi", "um"): "wim",
    ("ko", "wam"): "kowam",
}  # written as one token

# Open words: class -> tag, number of stems, paradigm, subclasses that take turns through the ranks.
# Frequencies are Zipfian within a class, so that many words occur once, or in one part only.

OPEN = {
    "NOUN": (
        "NOUN",
        260,
        "noun",
        ("BEING", "THING", "PLACE", "THING", "BEING", "THING", "PLACE", "TIME"),
    ),
    "ADJ": ("ADJ", 90, "adjective", ()),
    "ADV": ("ADV", 36, "adverb", ()),
    "PROPN": ("PROPN", 70, "name", ("PERSON", "PERSON", "TOWN")),
    "VI": ("VERB", 34, "verb", ()),
    "VT": ("VERB", 60, "verb", ()),
    "VD": ("VERB", 14, "verb", ()),
    "VSAY": ("VERB", 12, "verb", ()),
    "VTRY": ("VERB", 9, "verb", ()),
    "VOUT": ("VERB", 10, "verb", ()),
    "FOREIGN": ("X", 18, "foreign", ()),
}
ZIPF = (6000, 4)  # the word of rank r = 0, 1, ... weighs 6000 // (r + 4)
ZERO_DERIVED = (
    16  # so many common nouns lend their stem to a transitive verb: one form, NOUN and VERB
)
PARADIGMS = {
    "noun": (
        ("", "Number=Sing"),
        ("ik", "Number=Plur"),
        ("os", "Case=Gen|Number=Sing"),
        ("iks", "Case=Gen|Number=Plur"),
    ),
    "name": (("", "_"), ("os", "Case=Gen")),
    "adjective": (("", "Number=Sing"), ("ik", "Number=Plur")),
    "adverb": (("em", "_"),),
    "foreign": (("", "Foreign=Foreign"),),
    "verb": (
        ("", "Number=Sing|Tense=Pres|VerbForm=Fin"),
        ("un", "Number=Plur|Tense=Pres|VerbForm=Fin"),
        ("al", "Number=Sing|Tense=Past|VerbForm=Fin"),
        ("alun", "Number=Plur|Tense=Past|VerbForm=Fin"),
        ("og", "VerbForm=Inf"),
    ),
}
CITATION = {"verb": "og", "adverb": "em"}  # the suffix of the lemma, where it has one
ONSETS = [*"bdfghklmnprstvzšž", "br", "dr", "fl", "gr", "kl", "pr", "sl", "st", "tr", "vr"]
VOWELS = [*"aaaeeeiioouë", "au"]
CODAS = ["", "", "", "", *"lmnrst", "lk", "nd"]
FOREIGN_SYLLABLES = ["qua", "xi", "yoo", "chu", "thwy", "oxy", "rhae", "quo", "zyx", "eeg"]

# ----------------------------------------------------------------------------------------------------------
# Phrase rules: symbol -> (weight, right-hand side). A slot is [relation:]SYMBOL, in order of speech:
#     *X           the head            X[A=b]   with this feature
#     X=           agrees in number    X?30     present in 30 % of the cases (less when deeply embedded)

PHRASES = {
    "SENTENCE": (
        (64, "*MAIN punct:STOP"),
        (12, "*MAIN punct:COMMA?60 cc:BUT conj:MAIN punct:STOP"),
        (7, "*ASKED punct:QUERY"),
        (4, "*WHO.ASKED punct:QUERY"),
        (5, "*ORDER punct:BANG"),
        (4, "discourse:HEY punct:COMMA *MAIN punct:BANG"),
        (1, "discourse:HEY *PERSON punct:BANG"),
        (2, "vocative:PERSON punct:COMMA *ASKED punct:QUERY"),
        (6, "*TITLE punct:STOP?70"),
        (2, "*TITLE punct:COLON parataxis:MAIN punct:STOP"),
        (2, "punct:OPEN.Q ccomp:QUOTED punct:CLOSE.Q *SAID punct:STOP"),
    ),
    "TITLE": (
        (10, "*NOUN= amod:ADJ= nmod:OF.NP?50"),
        (6, "*NOUN= cc:AND conj:NOUN nmod:IN.PLACE?60"),
        (5, "nummod:COUNT *NOUN[Number=Plur] nmod:OF.NP"),
        (3, "*ADJ cc:BUT conj:ADJ"),
    ),
    # Nominals
    "NP": (
        (60, "*NBAR="),
        (22, "*PRON="),
        (15, "*NAME"),
        (5, "*LISTED cc:AND conj:LISTED"),
        (3, "*NAME cc:AND conj:NAME"),
        (1, "*LISTED punct:COMMA conj:LISTED cc:AND conj:LISTED"),
        (1, "*LISTED conj:ETC"),
        (2, "nummod:COUNT *PERCENT nmod:OF.NP"),
        (1, "*MONEY nummod:COUNT"),
        (2, "*NOUN= appos:FOREIGN.NAME"),
    ),
    "NBAR": (
        (
            50,
            "det:ART=?72 amod:SMALL=?14 *NOUN= det:POSS=?8 amod:AP=?28 nmod:OWNER?13 nmod:OF.NP?14 "
            "nmod:WITH.BEING?7 acl:relcl:WHICH=?8",
        ),
        (6, "nummod:COUNT amod:SMALL[Number=Plur]?10 *NOUN[Number=Plur] amod:AP[Number=Plur]?25"),
        (4, "*NOUN= det:POSS= amod:AP=?20"),
        (3, "det:ART= *NOUN= amod:ADJ= cc:AND conj:ADJ="),
        (2, "det:ART= *BEING= punct:OPEN.B appos:NAME punct:CLOSE.B"),
        (2, "det:ART= *NOUN= appos:NAME"),
    ),
    "LISTED": ((10, "det:ART=?60 *NOUN= amod:ADJ=?20"), (2, "*NOUN= nmod:OWNER")),
    "OWNER": (
        (10, "det:ART[Case=Gen]=?75 *NOUN[Case=Gen]="),
        (6, "*PERSON[Case=Gen]"),
        (2, "*TOWN[Case=Gen]"),
    ),
    "NAME": ((10, "*PERSON"), (4, "*PERSON name:PERSON[Case=Nom]"), (4, "*TOWN")),
    "FOREIGN.NAME": (
        (4, "punct:OPEN.Q *FOREIGN foreign:FOREIGN?60 punct:CLOSE.Q"),
        (1, "*FOREIGN"),
    ),
    "AP": ((10, "*ADJ="), (4, "advmod:VERY *ADJ="), (1, "*ADJ= nmod:WITH.THING")),
    # Adpositions stand before the noun; AGO stands after it. OF marks attributes of nouns, IN goes with
    # verbs, WITH goes with the noun when a being follows and with the verb when a thing does.
    "OF.NP": (
        (10, "case:OF det:ART[Case=Dat]=?75 *NOUN= amod:ADJ=?15"),
        (4, "case:OF *TOWN"),
        (2, "case:OF *PERSON"),
    ),
    "IN.PLACE": (
        (12, "case:IN det:ART[Case=Dat]=?75 *PLACE= amod:ADJ=?16 nmod:OF.NP?10"),
        (7, "case:IN *TOWN"),
        (3, "case:AT *PERSON"),
        (2, "case:AT *PRON[Case=Dat]="),
    ),
    "WITH.BEING": (
        (10, "case:WITH det:ART[Case=Dat]=?60 *BEING= amod:ADJ=?15"),
        (3, "case:WITH *PERSON"),
    ),
    "WITH.THING": ((10, "case:WITH det:ART[Case=Dat]=?60 *THING= amod:ADJ=?15"),),
    "WHEN.PP": (
        (8, "case:ON det:ART[Case=Dat]=?60 *TIME="),
        (5, "case:ON *YEAR"),
        (6, "nummod:COUNT *TIME[Number=Plur] case:AGO"),
        (4, "det:ART[Case=Acc]= *THING= case:AGO"),
    ),
    # Embedded clauses with their commas
    "THAT.CLAUSE": ((10, "punct:COMMA *THAT.SUB"),),
    "WHEN.FIRST": ((10, "*WHEN.SUB punct:COMMA"),),
    "WHEN.LAST": ((10, "punct:COMMA *WHEN.SUB"),),
    "WHICH": (
        (6, "punct:COMMA *WHICH.SUBJ= punct:COMMA"),
        (4, "punct:COMMA *WHICH.OBJ= punct:COMMA"),
    ),
    "QUOTED": ((10, "*MAIN"), (3, "*ASKED")),
    "PREDICATE": (
        (9, "*AP="),
        (3, "*ADJ= cc:AND conj:ADJ="),
        (5, "det:ART[Case=Nom]=?70 *NOUN= amod:ADJ=?20 nmod:OF.NP?20"),
        (3, "*IN.PLACE"),
    ),
}

# ----------------------------------------------------------------------------------------------------------
# Clauses. A clause picks a frame (verb class and roles), perhaps an auxiliary, perhaps adjuncts, and says its
# roles in the order of its type; a role that the order does not name stays unsaid. The main clause is
# verb-second: "topic" is any one role moved to the front, "finite" the auxiliary, the copula or, for want of
# both, the verb. Embedded clauses are verb-final, with the auxiliary at the very end.

ROLES = {
    "subject": "nsubj:NP[Case=Nom]=",
    "object": "dobj:NP[Case=Acc]",
    "recipient": "iobj:NP[Case=Dat]",
    "complement": "ccomp:THAT.CLAUSE",
    "infinitive": "xcomp:TO.DO",
    "particle": "compound:prt:OUT",
    "adverb": "advmod:ADV",
    "manner": "advmod:ADV",
    "negation": "neg:NOT",
    "place": "nmod:IN.PLACE",
    "time": "nmod:WHEN.PP",
    "tool": "nmod:WITH.THING",
    "condition": "advcl:WHEN.FIRST",
    "circumstance": "advcl:WHEN.LAST",
}
FRAMES = (  # weight, verb class ("" = the predicate is nominal and takes a copula), roles
    (26, "VI", ("subject",)),
    (44, "VT", ("subject", "object")),
    (8, "VD", ("subject", "recipient", "object")),
    (8, "VSAY", ("subject", "complement")),
    (6, "VTRY", ("subject", "infinitive")),
    (6, "VOUT", ("subject", "particle")),
    (18, "", ("subject",)),
)
ADJUNCTS = (  # percent
    ("adverb", 30),
    ("manner", 10),
    ("negation", 9),
    ("place", 30),
    ("time", 20),
    ("tool", 10),
    ("condition", 7),
    ("circumstance", 7),
)
TOPIC_WEIGHTS = {
    "condition": 900,
    "subject": 60,
    "adverb": 35,
    "time": 35,
    "place": 24,
    "tool": 6,
    "object": 7,
}
VERB_FIRST = (
    "finite subject adverb negation recipient object time place tool manner predicate particle infinitive "
    "complement circumstance extraposed asking"
)
VERB_SECOND = "topic " + VERB_FIRST
VERB_FINAL = (
    "mark relative subject adverb time recipient object place tool manner particle negation marker predicate "
    "finite infinitive complement circumstance"
)


@dataclass(frozen=True)
class Clause:
    """One clause type; `roles` replaces the slot of a role (None: the role stays unsaid)."""

    order: str
    verb_second: bool = False
    adjuncts: int = 100  # percent of the probabilities in ADJUNCTS
    auxiliary: int = 34  # percent
    verb_form: str = "Fin"
    topic: str | None = None
    verbs: tuple[str, ...] = ("VI", "VT", "VD", "VSAY", "VTRY", "VOUT", "")
    roles: dict[str, str | None] = field(default_factory=dict)


CLAUSES = {
    "MAIN": Clause(VERB_SECOND, verb_second=True),
    "ASKED": Clause(
        VERB_FIRST, verb_second=True, adjuncts=60, roles={"asking": "discourse:ASK?60"}
    ),
    "WHO.ASKED": Clause(
        VERB_SECOND,
        verb_second=True,
        adjuncts=60,
        topic="subject",
        roles={"subject": "nsubj:WHO[Case=Nom]="},
    ),
    "ORDER": Clause(
        VERB_FIRST,
        verb_second=True,
        auxiliary=0,
        verbs=("VI", "VT", "VD", "VTRY", "VOUT"),
        roles={"subject": None},
    ),
    "SAID": Clause(
        VERB_FIRST, verb_second=True, adjuncts=30, verbs=("VSAY",), roles={"complement": None}
    ),
    "THAT.SUB": Clause(VERB_FINAL, adjuncts=45, roles={"mark": "mark:THAT"}),
    "WHEN.SUB": Clause(VERB_FINAL, adjuncts=35, roles={"mark": "mark:WHEN"}),
    "WHICH.SUBJ": Clause(
        VERB_FINAL, adjuncts=50, roles={"subject": None, "relative": "nsubj:REL.PRON[Case=Nom]="}
    ),
    "WHICH.OBJ": Clause(
        VERB_FINAL,
        adjuncts=40,
        verbs=("VT",),
        roles={"object": None, "relative": "dobj:REL.PRON[Case=Acc]"},
    ),
    "TO.DO": Clause(
        VERB_FINAL,
        adjuncts=40,
        auxiliary=0,
        verb_form="Inf",
        verbs=("VI", "VT", "VD", "VOUT"),
        roles={"subject": None, "marker": "mark:TO"},
    ),
}
EXTRAPOSED = 12  # percent of the main clauses with a late predicate: a relative clause crosses it


# ----------------------------------------------------------------------------------------------------------
# Words and phrases

Features = dict[str, str]
T = TypeVar("T")


@dataclass(eq=False)
class Word:
    """A syntactic word; `head` is None for the root. An empty node has `copy_of`, the word it repeats."""

    form: str
    lemma: str
    upos: str
    feats: Features
    head: Word | None = None
    deprel: str = "root"
    enhanced: tuple[Word, str] | None = (
        None  # head and relation in DEPS, where they differ from the basic
    )
    copy_of: Word | None = None


class Phrase(NamedTuple):
    """Words in order of speech, and the one that the others hang on."""

    words: list[Word]
    head: Word

    def attach(self, head: Word, deprel: str) -> None:
        self.head.head, self.head.deprel = head, deprel


class Part(NamedTuple):
    """A phrase and its relation to the head; the head's own relation is empty."""

    phrase: Phrase
    deprel: str


class Slot(NamedTuple):
    """One parsed element of a right-hand side."""

    symbol: str
    deprel: str  # "" for the head
    feats: Features
    agrees: bool
    percent: int


class Lexeme(NamedTuple):
    lemma: str
    upos: str
    weight: int
    forms: tuple[tuple[str, Features], ...]


SLOT = re.compile(r"(?:(\*)|([a-z:]+):)([A-Z.]+)(?:\[(.*)\])?(=)?(?:\?(\d+))?\Z")


def parse_features(text: str) -> Features:
    return {} if text == "_" else dict(pair.split("=") for pair in text.split("|"))


@cache
def parse_slot(text: str) -> Slot:
    """
    >>> parse_slot("amod:SMALL[Number=Plur]?10")
    Slot(symbol='SMALL', deprel='amod', feats={'Number': 'Plur'}, agrees=False, percent=10)
    """
    match = SLOT.match(text)
    if not match:
        raise ValueError(f"not a slot: {text!r}")
    _, deprel, symbol, feats, agrees, percent = match.groups()
    return Slot(
        symbol, deprel or "", parse_features(feats or "_"), bool(agrees), int(percent or 100)
    )


# ----------------------------------------------------------------------------------------------------------
# Draws. Only Random.random is asked, and weights are whole numbers: the same in every Python version.


class Draw:
    """The random choices of one part of the treebank."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random

    def chance(self, percent: int) -> bool:
        return self.random() * 100 < percent

    def choice(self, items: Sequence[T]) -> T:
        return items[int(self.random() * len(items))]

    def weighted(self, items: Sequence[T], weights: Sequence[int]) -> T:
        rest = int(self.random() * sum(weights))
        for item, weight in zip(items, weights):
            rest -= weight
            if rest < 0:
                return item
        raise ValueError("no item has a positive weight")


# ----------------------------------------------------------------------------------------------------------
# Lexicon


def inflect(stem: str, suffix: str) -> str:
    """A final vowel gives way to the vowel of a suffix.

    >>> inflect("fala", "ik"), inflect("dorn", "ik")
    ('falik', 'dornik')
    """
    return (stem.rstrip("aeiouë") if suffix else stem) + suffix


def capitalised(form: str) -> str:
    return form[0].upper() + form[1:]


def new_stem(draw: Draw, taken: set[str], foreign: bool) -> str:
    while True:
        if foreign:
            stem = draw.choice(FOREIGN_SYLLABLES) + draw.choice(FOREIGN_SYLLABLES)
        else:
            n_syllables = draw.weighted((1, 2, 3), (3, 8, 3))
            stem = "".join(draw.choice(ONSETS) + draw.choice(VOWELS) for _ in range(n_syllables))
            stem += draw.choice(CODAS)
        if stem not in taken:
            taken.add(stem)
            return stem


def closed_lexicon() -> dict[str, list[Lexeme]]:
    lexicon: dict[str, list[Lexeme]] = {}
    for line in CLOSED.strip().splitlines():
        symbol, lemma, upos, weight, *forms = line.split()
        pairs = [form.rsplit(":", 1) for form in forms]
        inflected = tuple((form, parse_features(feats)) for form, feats in pairs)
        lexicon.setdefault(symbol, []).append(Lexeme(lemma, upos, int(weight), inflected))
    return lexicon


def open_lexicon(draw: Draw, taken: set[str]) -> dict[str, list[Lexeme]]:
    """Stems that equal no form in `taken` and are used once, but for the zero-derived verbs."""
    lexicon: dict[str, list[Lexeme]] = {}
    for symbol, (upos, n_stems, paradigm, subclasses) in OPEN.items():
        for rank in range(n_stems):
            if symbol == "VT" and rank < ZERO_DERIVED:
                stem = lexicon["NOUN"][2 * rank + 1].forms[0][0]
            else:
                stem = new_stem(draw, taken, foreign=paradigm == "foreign")
            if upos == "PROPN":
                stem = capitalised(stem)
            forms = tuple(
                (inflect(stem, suffix), parse_features(feats))
                for suffix, feats in PARADIGMS[paradigm]
            )
            lemma = inflect(stem, CITATION.get(paradigm, ""))
            entry = Lexeme(lemma, upos, ZIPF[0] // (rank + ZIPF[1]), forms)
            lexicon.setdefault(symbol, []).append(entry)
            if subclasses:
                lexicon.setdefault(subclasses[rank % len(subclasses)], []).append(entry)
    return lexicon


def make_lexicon() -> dict[str, list[Lexeme]]:
    closed = closed_lexicon()
    taken = {form for entries in closed.values() for entry in entries for form, _ in entry.forms}
    return {**closed, **open_lexicon(Draw(SEED), taken)}


def best_form(entry: Lexeme, wanted: Features) -> tuple[str, Features] | None:
    """The form that contradicts none of the wanted features and states most of them; None without one."""
    fitting = [
        pair for pair in entry.forms if all(wanted.get(k, v) == v for k, v in pair[1].items())
    ]
    return max(fitting, key=lambda pair: len(wanted.keys() & pair[1].keys()), default=None)


# ----------------------------------------------------------------------------------------------------------
# Sentences


class Speaker:
    """Says phrases: expands the tables with one source of random draws."""

    def __init__(self, lexicon: dict[str, list[Lexeme]], draw: Draw) -> None:
        self.lexicon, self.draw = lexicon, draw

    def say(self, symbol: str, feats: Features, depth: int = 0) -> Phrase:
        """A phrase, a clause or a single word; `feats` are what it must agree with."""
        if symbol in CLAUSES:
            return self.say_clause(CLAUSES[symbol], feats["Number"], depth)
        if symbol not in PHRASES:
            word = self.say_word(symbol, feats)
            return Phrase([word], word)
        weights, rules = zip(*PHRASES[symbol])
        slots = [parse_slot(text) for text in self.draw.weighted(rules, weights).split()]
        return join(
            [self.say_slot(slot, feats, depth + 1) for slot in slots if self.wants(slot, depth)]
        )

    def wants(self, slot: Slot, depth: int) -> bool:
        return slot.percent == 100 or self.draw.chance(slot.percent * 5 // (4 + depth))

    def say_slot(self, slot: Slot, feats: Features, depth: int) -> Part:
        own = dict(feats)
        if not slot.agrees:
            own["Number"] = self.draw.weighted(("Sing", "Plur"), (7, 3))
        return Part(self.say(slot.symbol, {**own, **slot.feats}, depth), slot.deprel)

    def say_word(self, symbol: str, feats: Features) -> Word:
        entries = self.lexicon[symbol]
        weights = [entry.weight for entry in entries]
        while True:
            entry = self.draw.weighted(entries, weights)
            pair = best_form(entry, feats)
            if pair:
                return Word(pair[0], entry.lemma, entry.upos, dict(pair[1]))

    def say_clause(self, kind: Clause, number: str, depth: int) -> Phrase:
        frames = [frame for frame in FRAMES if frame[1] in kind.verbs]
        _, verb, roles = self.draw.weighted(frames, [frame[0] for frame in frames])
        feats = {
            "Number": number,
            "Tense": self.draw.weighted(("Pres", "Past"), (5, 4)),
            "VerbForm": kind.verb_form,
        }
        said: dict[str, Part] = {}
        for role in dict.fromkeys([*roles, *kind.roles, *self.pick_adjuncts(kind)]):
            text = kind.roles.get(role, ROLES.get(role))
            if text and self.wants(parse_slot(text), 0):
                said[role] = self.say_slot(parse_slot(text), feats, depth + 1)
        if "subject" in said:
            feats["Number"] = number_of(said["subject"].phrase)
        said.update(self.say_predicate(kind, verb, feats, depth))
        if kind.order == VERB_SECOND:
            if "predicate" in said and self.draw.chance(EXTRAPOSED):
                self.extrapose(said, depth)
            topic = kind.topic or self.pick_topic(said)
            said["topic"] = said.pop(topic)
        return join([said[role] for role in kind.order.split() if role in said])

    def pick_adjuncts(self, kind: Clause) -> list[str]:
        return [
            role for role, percent in ADJUNCTS if self.draw.chance(percent * kind.adjuncts // 100)
        ]

    def say_predicate(
        self, kind: Clause, verb: str, feats: Features, depth: int
    ) -> dict[str, Part]:
        """The parts "predicate" and "finite", or one of them."""
        if not verb:
            copula = part(self.say_word("COPULA", feats), "cop")
            return {
                "finite": copula,
                "predicate": Part(self.say("PREDICATE", feats, depth + 1), ""),
            }
        if self.draw.chance(kind.auxiliary):
            auxiliary = part(self.say_word("MODAL", feats), "aux")
            return {
                "finite": auxiliary,
                "predicate": part(self.say_word(verb, {"VerbForm": "Inf"}), ""),
            }
        return {"finite" if kind.verb_second else "predicate": part(self.say_word(verb, feats), "")}

    def pick_topic(self, said: dict[str, Part]) -> str:
        roles = [role for role in TOPIC_WEIGHTS if role in said]
        return self.draw.weighted(roles, [TOPIC_WEIGHTS[role] for role in roles])

    def extrapose(self, said: dict[str, Part], depth: int) -> None:
        """Hangs a relative clause on the object or the subject, and puts it at the end of the clause."""
        phrase = (said.get("object") or said["subject"]).phrase
        if phrase.head.upos == "NOUN":
            clause = self.say("WHICH", phrase.head.feats, depth + 1)
            clause.attach(phrase.head, "acl:relcl")
            said["extraposed"] = Part(clause, "acl:relcl")

    def say_gapping(self) -> Phrase:
        """Like "Ann reads books and Ben letters": an empty node for the unsaid verb, two remnants."""
        feats = {"Case": "Nom", "Number": "Sing", "Tense": "Past", "VerbForm": "Fin"}
        verb, conjunction, stop = (self.say_word(symbol, feats) for symbol in ("VT", "AND", "STOP"))
        subjects = [self.say("PERSON", feats) for _ in range(2)]
        objects = [self.say("LISTED", {"Case": "Acc", "Number": "Plur"}) for _ in range(2)]
        unsaid = Word(
            verb.form, verb.lemma, verb.upos, verb.feats, enhanced=(verb, "conj"), copy_of=verb
        )
        for (correlate, remnant), deprel in ((subjects, "nsubj"), (objects, "dobj")):
            remnant.attach(correlate.head, "remnant")
            remnant.head.enhanced = (unsaid, deprel)
        said = join(
            [
                Part(subjects[0], "nsubj"),
                part(verb, ""),
                Part(objects[0], "dobj"),
                part(conjunction, "cc"),
                Part(subjects[1], "remnant"),
                Part(objects[1], "remnant"),
                part(stop, "punct"),
            ]
        )
        place = said.words.index(subjects[1].head) + 1
        return Phrase([*said.words[:place], unsaid, *said.words[place:]], verb)

    def say_sentence(self, gapping: bool) -> list[Word]:
        """Draws until the length is within the bounds."""
        while True:
            phrase = self.say_gapping() if gapping else self.say("SENTENCE", {"Number": "Sing"})
            words = tidy(phrase.words)
            n_words = sum(word.upos != "PUNCT" for word in words)
            if MIN_WORDS <= n_words <= MAX_WORDS and len(words) <= MAX_TOKENS:
                return words


def part(word: Word, deprel: str) -> Part:
    return Part(Phrase([word], word), deprel)


def join(parts: Sequence[Part]) -> Phrase:
    """One phrase; every part that has no head yet hangs on the part whose relation is empty."""
    head = next(phrase.head for phrase, deprel in parts if not deprel)
    for phrase, deprel in parts:
        if phrase.head is not head and phrase.head.head is None:
            phrase.attach(head, deprel)
    return Phrase([word for phrase, _ in parts for word in phrase.words], head)


def number_of(subject: Phrase) -> str:
    if any(word.head is subject.head and word.deprel == "conj" for word in subject.words):
        return "Plur"
    return subject.head.feats.get("Number", "Sing")


def tidy(words: Sequence[Word]) -> list[Word]:
    """Drops the commas that end up first or beside another mark; capitalises the first word."""
    kept: list[Word] = []
    for word, following in zip(words, [*words[1:], None]):
        after_mark = not kept or kept[-1].form in NO_SPACE_AFTER
        before_mark = following is not None and following.form in NO_SPACE_BEFORE
        if not (word.form == "," and (after_mark or before_mark)):
            kept.append(word)
    first = next(word for word in kept if word.upos != "PUNCT")
    first.form = capitalised(first.form)
    return kept


# ----------------------------------------------------------------------------------------------------------
# CoNLL-U


def word_ids(words: Sequence[Word]) -> dict[Word, str]:
    """1, 2, ... and 2.1 for an empty node after word 2."""
    ids, n = {}, 0
    for word in words:
        n += word.copy_of is None
        ids[word] = f"{n}.1" if word.copy_of else str(n)
    return ids


def tokens(words: Sequence[Word]) -> list[tuple[str, list[Word]]]:
    """What is written, and the words in it: two in a contraction, else one."""
    written: list[tuple[str, list[Word]]] = []
    for word in words:
        previous = written[-1][1][-1] if written else word
        contraction = CONTRACTIONS.get((previous.form.lower(), word.form))
        if contraction:
            form = capitalised(contraction) if previous.form[0].isupper() else contraction
            written[-1] = (form, [previous, word])
        elif not word.copy_of:
            written.append((word.form, [word]))
    return written


def word_line(word: Word, ids: dict[Word, str], has_deps: bool, misc: str) -> str:
    feats = (
        "|".join(f"{name}={word.feats[name]}" for name in sorted(word.feats, key=str.lower)) or "_"
    )
    head = ids[word.head] if word.head else "0"
    basic = [head, word.deprel]
    deps = (
        f"{ids[word.enhanced[0]]}:{word.enhanced[1]}" if word.enhanced else f"{head}:{word.deprel}"
    )
    if word.copy_of:
        basic, misc = ["_", "_"], f"CopyOf={ids[word.copy_of]}"
    columns = [
        ids[word],
        word.form,
        word.lemma,
        word.upos,
        "_",
        feats,
        *basic,
        deps if has_deps else "_",
        misc,
    ]
    return "\t".join(columns)


def conllu(words: Sequence[Word], sent_id: str) -> Iterator[str]:
    """The lines of one sentence."""
    ids, written = word_ids(words), tokens(words)
    has_deps = any(word.copy_of for word in words)
    text, ranges, misc = "", {}, {}
    for (form, inside), (following, _) in zip(written, [*written[1:], ("", [])]):
        tight = following in NO_SPACE_BEFORE or form in NO_SPACE_AFTER
        text += form if tight else form + " "
        if len(inside) > 1:
            span = f"{ids[inside[0]]}-{ids[inside[-1]]}"
            ranges[inside[0]] = "\t".join(
                [span, form, *"_______", "SpaceAfter=No" if tight else "_"]
            )
        elif tight:
            misc[inside[0]] = "SpaceAfter=No"
    yield f"# sent_id = {sent_id}"
    yield f"# text = {text.rstrip()}"
    for word in words:
        if word in ranges:
            yield ranges[word]
        yield word_line(word, ids, has_deps, misc.get(word, "_"))
    yield ""


def treebank() -> Iterator[tuple[str, list[list[Word]]]]:
    """Part by part, its sentences; no sentence occurs twice in the whole treebank."""
    lexicon, seen = make_lexicon(), set()
    for number, (name, size) in enumerate(PARTS, 1):
        speaker = Speaker(lexicon, Draw(SEED + number))
        sentences: list[list[Word]] = []
        while len(sentences) < size:
            words = speaker.say_sentence(gapping=len(sentences) + 1 == GAPPING_AT)
            forms = tuple(word.form for word in words)
            if forms not in seen:
                seen.add(forms)
                sentences.append(words)
        yield name, sentences


def write(folder: Path) -> Counter[str]:
    """Writes the three files and counts their tags."""
    folder.mkdir(parents=True, exist_ok=True)
    tags: Counter[str] = Counter()
    for name, sentences in treebank():
        lines = [f"# newdoc id = demo-{name}"]
        for number, words in enumerate(sentences, 1):
            lines += conllu(words, f"demo-{name}-{number:04d}")
            tags.update(word.upos for word in words if not word.copy_of)
        with open(folder / f"demo-ud-{name}.conllu", "w", encoding="utf-8", newline="\n") as file:
            file.write("\n".join(lines) + "\n")
    return tags


if __name__ == "__main__":
    counts = write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
    print("  ".join(f"{tag} {n}" for tag, n in counts.most_common()))
