r"""From raw text to CoNLL-U: the tokens of documents, written so that reading them gives the same
documents.

>>> from dynet_vdgi.conllu.raw_text import Token
>>> sentence = TokenisedSentence((Token(0, 1, ("A",)), Token(3, 6, ("cat",)), Token(6, 7, ("!",))))
>>> lines = conllu_of(Document("A  cat!", (sentence,))).splitlines()
>>> lines[:3], lines[3].split("\t")[-1], lines[4].split("\t")[-1]
(['# newdoc', '# sent_id = 1', '# text = A cat!'], 'SpacesAfter=\\s\\s', 'SpaceAfter=No')
"""

from __future__ import annotations

from collections.abc import Callable

from dynet_vdgi.conllu.raw_text import (
    FORMAT,
    Document,
    TokenisedSentence,
    escaped,
    form_of,
)

_USUAL = {" ": "_", "": "SpaceAfter=No"}
"""MISC after a space, and after none."""


def conllu_of(
    document: Document, first: int = 1, *, begins: bool = True, is_followed: bool = False
) -> str:
    """A document as CoNLL-U with nothing but tokens, which `read_documents` gives back byte for
    byte.

    first: the number of the first sentence, its `sent_id`. begins: the document is not the
    continuation of one that has been written before. is_followed: another document is written after
    it, so its last token has no SpaceAfter=No, which UD forbids there; that nothing is after it
    follows from its being the last.
    """
    text, sentences = document.text, document.sentences
    name = form_of(document.name.encode(errors="replace").decode()).strip()
    out = [f"# newdoc id = {name}\n" if name else "# newdoc\n"] if begins else []
    starts = [token.start for sentence in sentences for token in sentence.tokens]
    starts.append(len(text))
    before, number = text[: starts[0]] if begins else "", 0
    for n, sentence in enumerate(sentences):
        last = number + len(sentence.tokens)
        nexts = starts[number + 1 : last + 1]
        is_last = n + 1 == len(sentences) or sentences[n + 1].begins_paragraph
        whole = text[starts[number] : sentence.tokens[-1].end]
        form = form_of(whole)
        to_form = str if form == whole else form_of
        if FORMAT.search(whole):  # `# text` has no format characters between tokens
            pieces = []
            for (start, end, _), begin in zip(sentence.tokens, nexts):
                pieces += [form_of(text[start:end]), form_of(FORMAT.sub("", text[end:begin]))]
            form = "".join(pieces[:-1])
        at_end = "_" if is_followed and n + 1 == len(sentences) else _USUAL[""]
        rows = _rows(text, sentence, nexts, before, is_last, to_form, at_end)
        paragraph = "# newpar\n" if sentence.begins_paragraph else ""
        out.append(f"{paragraph}# sent_id = {first + n}\n# text = {form}\n{rows}\n")
        number, before = last, ""
    return "".join(out)


def _rows(
    text: str,
    sentence: TokenisedSentence,
    nexts: list[int],
    before: str,
    is_last: bool,
    to_form: Callable[[str], str],
    at_end: str,
) -> str:
    """The lines of a sentence; `nexts`: where the next tokens begin; to_form: `form_of`, or nothing
    to do.

    at_end: MISC of the last token if nothing is after it.
    """
    lines, number, n_tokens = [], 0, len(sentence.tokens)
    for n, ((start, end, words), begin) in enumerate(zip(sentence.tokens, nexts), 1):
        spaces, token_text = text[end:begin], text[start:end]
        misc = _USUAL.get(spaces) or f"SpacesAfter={escaped(spaces)}"
        if n == n_tokens and is_last and spaces == " ":  # which would not be expected there
            misc = "SpacesAfter=\\s"
        elif n == n_tokens and not spaces:
            misc = at_end
        notes = [f"SpacesBefore={escaped(before)}"] if n == 1 and before else []
        notes += [misc] if misc != "_" else []
        if (form := to_form(token_text)) != token_text:
            notes.append(f"SpacesInToken={escaped(token_text)}")
        misc = "|".join(notes) or "_"
        if len(words) > 1:
            lines.append(
                f"{number + 1}-{number + len(words)}\t{form}\t_\t_\t_\t_\t_\t_\t_\t{misc}\n"
            )
            misc = "_"
        for word in words:
            number += 1
            lines.append(f"{number}\t{word}\t_\t_\t_\t_\t_\t_\t_\t{misc}\n")
    return "".join(lines)
