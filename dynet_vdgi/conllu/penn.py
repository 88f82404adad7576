r"""Reading the bracketed trees of the Wall Street Journal in the Penn Treebank, and writing them as
CoNLL-U.

A file (`.mrg`) holds trees such as `( (S (NP-SBJ-1 (NNS dogs)) (VP (VBP bark))) )`, over any number
of lines, with or without the outer brackets. Lines that begin with `*x*`, as in the LDC's headers,
are comments where no bracket is open. Reading changes the trees as follows:

* traces and other empty elements (-NONE-) are removed, with the constituents that they leave empty;
* function tags and indices are cut off labels: NP of NP-SBJ-1, NP=2 or NP|ADJP
  (-LRB- and -RRB- are tags);
* forms and tags of words are kept as they are: -LRB-, -LCB-, 3\/4, `` and '' are not rewritten.

UPOS is the one that UD version 1 gives to the Penn tag (universaldependencies.org/en/pos/all.html)
where the tag alone decides. Where it does not: IN is always ADP (never SCONJ), TO always PART
(never ADP), RB always ADV ("not", too), MD is AUX and all other verbs are VERB ("be", too), DT,
PDT and WDT are always DET.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dynet_vdgi.conllu.head_rules import HeadRules
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system.files import AnyPath, lines_of, shown
from dynet_vdgi.system.limits import limit, to_raise

EMPTY = "-NONE-"

PUNCTUATION = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-"})

SYMBOLS = frozenset({"#", "$"})

POLICIES = {"standard": PUNCTUATION, "wsj10": PUNCTUATION | SYMBOLS}
"""The tags that become UPOS PUNCT, and so are removed before training and scoring. `wsj10` is the
convention of Klein and Manning (2004), whose WSJ-10 has 7,422 sentences; under `standard`, # and
$ are SYM."""

MAX_DEPTH = 200  # of brackets; the treebank stays far below

_UPOS_TAGS = """
ADJ JJ JJR JJS; ADP IN RP; ADV RB RBR RBS WRB; AUX MD; CONJ CC; DET DT PDT WDT; INTJ UH
NOUN NN NNS; NUM CD; PART POS TO; PRON EX PRP PRP$ WP WP$; PROPN NNP NNPS; SYM # $ SYM
VERB VB VBD VBG VBN VBP VBZ; X FW LS
PUNCT , . : `` '' -LRB- -RRB-
"""

_UPOS_ROWS = [row.split() for row in re.split("[;\n]", _UPOS_TAGS.strip())]

UPOS = {tag: upos for upos, *tags in _UPOS_ROWS for tag in tags}
"""The 45 tags of the treebank and the UPOS of each under the policy `standard`."""

_BARE = re.compile("-[A-Z]+-|[^-=|]+")

_TOKEN = re.compile(r"[()]|[^\s()]+")

_FILE = re.compile(r"wsj_[0-9]{4}\.mrg", re.IGNORECASE)

_PLACES = ("*", "*/*", "parsed/mrg/wsj/*/*")


class Constituent(NamedTuple):
    """A constituent, or a word with its tag as label. Labels are bare; an outer bracket has an
    empty one."""

    label: str
    children: tuple[Constituent, ...] = ()
    form: str = ""

    def words(self) -> Iterator[Constituent]:
        """The leaves, in order."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.words()


def find(folder: AnyPath) -> list[Path]:
    """The files `wsj_0001.mrg`, ... of a treebank, by name.

    They lie in the folder itself, in its folders (00, 01, ...), or in the folders of its
    `parsed/mrg/wsj`.

    Raises: UsageError where there are none, or two of the same name.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UsageError(f"no folder {str(root)!r}")
    paths: dict[str, Path] = {}
    for path in sorted(path for place in _PLACES for path in root.glob(place)):
        if _FILE.fullmatch(path.name):
            other = paths.setdefault(path.stem.lower(), path)
            if other != path:
                raise UsageError(
                    f"{other} and {path} have the same name; name the folder of one of them"
                )
    if not paths:
        raise UsageError(
            f"no files such as wsj_0001.mrg in {str(root)!r}, its folders or its parsed/mrg/wsj"
        )
    return [paths[name] for name in sorted(paths)]


def section(path: Path) -> int:
    """The section of a file that `find` found: the first two digits of its name."""
    return int(path.name[4:6])


class _Bracket:
    """An open bracket and what it holds so far."""

    def __init__(self, line: int, starts_line: bool) -> None:
        self.line, self.starts_line = line, starts_line
        self.label: str | None = None  # None: not seen yet, or there is none
        self.forms: list[str] = []
        self.children: list[Constituent] = []
        self.has_brackets = False  # empty elements count

    def tree(self, name: str) -> Constituent | None:
        """The tree of a closed bracket; None for an empty element or a bracket of nothing else."""
        label, forms = self.label or "", self.forms
        fault = ""
        if self.has_brackets:
            if not forms:
                return Constituent(bare(label), tuple(self.children)) if self.children else None
            fault = f"word {forms[0]!r} has no tag"
        elif not forms:
            fault = f"{label!r} alone in its bracket" if label else "nothing in the bracket"
        elif len(forms) > 1:
            fault = f"{len(forms)} words under one tag: {label} {' '.join(forms[:3])}"
        elif label == EMPTY:
            return None
        elif bare(label) not in UPOS:
            fault = f"{label!r} is not a part-of-speech tag of the Penn Treebank"
        if fault:
            raise DataError(name, self.line, fault, "expected (TAG word) or (LABEL (...) ...)")
        return Constituent(bare(label), (), forms[0])


def read(path: AnyPath) -> Iterator[Constituent]:
    """The trees of a file, without empty elements, function tags and outer brackets.

    DataError: something is not a tree of tagged words, with the line of the bracket concerned; or
    the
        file has no trees.
    """
    name = shown(path)
    stack: list[_Bracket] = []
    any_tree, n_words, most_words = False, 0, limit("words")
    for number, line in enumerate(lines_of(path), 1):
        if "\0" in line:
            raise DataError(name, number, "NUL byte", "a damaged or binary file, or UTF-16 text?")
        if not stack and line.startswith("*x*"):
            continue
        for match in _TOKEN.finditer(line):
            token = match[0]
            if token == "(":
                if stack:
                    stack[-1].has_brackets = True
                    # judged by its form
                    is_outer = stack[-1].label is None and stack[-1].starts_line
                    if (
                        is_outer
                        and len(stack) > 1
                        and (stack[-2].label is not None or stack[-2].children)
                    ):
                        place = f"in line {stack[-1].line}"
                        message = f"tree is not complete where the next one begins, {place}"
                        raise DataError(
                            name, stack[0].line, message, "is a closing bracket missing?"
                        )
                    if len(stack) == MAX_DEPTH:
                        raise DataError(
                            name, stack[0].line, f"brackets nested more than {MAX_DEPTH} deep"
                        )
                stack.append(_Bracket(number, starts_line=not match.start()))
            elif not stack:
                hint = "one too many?" if token == ")" else "is this a .mrg file?"
                raise DataError(name, number, f"{token!r} outside brackets", hint)
            elif token == ")":
                bracket = stack.pop()
                tree = bracket.tree(name)
                if stack:
                    stack[-1].children += [tree] if tree else []
                    continue
                if tree is None:
                    raise DataError(name, bracket.line, "tree without words", "only empty elements")
                while not tree.label and len(tree.children) == 1:
                    tree = tree.children[0]
                yield tree
                any_tree, n_words = True, 0
            elif stack[-1].label is None and not stack[-1].has_brackets:
                stack[-1].label = token
            else:
                stack[-1].forms.append(token)
                n_words += 1
                if n_words > most_words:
                    message = f"a tree of more than {most_words} words"
                    raise DataError(name, stack[0].line, message, to_raise("words"))
    if stack:
        hint = f"open at the end of the file: {len(stack)}"
        raise DataError(name, stack[0].line, "bracket is never closed", hint)
    if not any_tree:
        raise DataError(name, None, "no trees", "was the file downloaded in full?")


def bare(label: str) -> str:
    """A label without function tags, indices and alternatives.

    >>> [bare(label) for label in ("NP-SBJ-1", "NP=2", "ADVP|PRT", "-LRB-", "WP$")]
    ['NP', 'NP', 'ADVP', '-LRB-', 'WP$']
    """
    match = _BARE.match(label)
    return match[0] if match else label


def heads(tree: Constituent, rules: HeadRules) -> list[int]:
    """The head of each word, 0 for the root, else from 1. No word depends on punctuation."""
    tags: list[str] = []
    result: list[int] = []

    def visit(node: Constituent) -> int:
        """The number of the word that heads a constituent."""
        if not node.children:
            tags.append(node.label)
            result.append(0)
            return len(result)
        words = [visit(child) for child in node.children]
        candidates = [i for i, word in enumerate(words) if tags[word - 1] not in PUNCTUATION]
        candidates = candidates or list(range(len(words)))
        labels = [node.children[i].label for i in candidates]
        head = words[candidates[rules.head(node.label, labels)]]
        for word in words:
            if word != head:
                result[word - 1] = head
        return head

    visit(tree)
    return result


def conllu_block(
    words: Sequence[Constituent], heads: Sequence[int], sent_id: str, punctuation: Collection[str]
) -> str:
    """A sentence of a CoNLL-U file, with the empty line after it.

    XPOS is the tag, UPOS as in `UPOS`, but PUNCT for the tags in `punctuation`. DEPREL is root,
    punct or dep.
    """
    lines = [f"# sent_id = {sent_id}"]
    for number, (word, head) in enumerate(zip(words, heads), 1):
        upos = "PUNCT" if word.label in punctuation else UPOS[word.label]
        deprel = "root" if head == 0 else "punct" if upos == "PUNCT" else "dep"
        lines.append(f"{number}\t{word.form}\t_\t{upos}\t{word.label}\t_\t{head}\t{deprel}\t_\t_")
    return "\n".join(lines) + "\n\n"
