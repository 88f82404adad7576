"""The arena's algorithm in PyTorch: the peer that `parse_speed.py` compares it with.

It has the arenas of states, tables for distinct words and folded sigmoids that `dynet_vdgi.parsing.arena`
explains, but not its compiled kernels. All gates are one large product here, which suits PyTorch best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynet_vdgi.data.vocabulary import Encoded
from dynet_vdgi.parsing.arena import FORGET
from dynet_vdgi.settings.neural_settings import ModelSettings

ROWS, WORDS = 768, 32_768
"""Most sentences and words of a batch, the fastest tried; PyTorch's calls cost more than NumPy's."""


class _Lstm(NamedTuple):
    """Rows multiply from the left; gates in DyNet's order input, forget, output, cell."""

    inputs: Tensor  # (H, 4H)
    recurrent: Tensor  # (H, 4H)
    bias: Tensor  # (4H,)


class TorchParser:
    """Greedy trees by the encoder with these parameters, in one thread."""

    def __init__(self, parameters: Mapping[str, NDArray[Any]], settings: ModelSettings) -> None:
        torch.set_num_threads(1)
        prefix, hidden = "encoder/", settings.hidden_dim
        own = {name[len(prefix) :]: value for name, value in parameters.items() if name.startswith(prefix)}
        weights = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in own.items()}
        self.hidden = hidden
        self.forward = _lstm(weights, "forward", hidden)
        self.backward = _lstm(weights, "backward", hidden)
        self.stack = _lstm(weights, "stack/lstm", hidden)
        self.both = torch.stack([self.forward.recurrent, self.backward.recurrent])
        self.compose = torch.cat([weights["stack/compose_head"], weights["stack/compose_dependent"]], 1).T
        self.compose = self.compose.contiguous()
        self.compose_bias = weights["stack/compose_bias"]
        self.from_stack = weights["state/from_stack"].T.contiguous()
        self.from_buffer = weights["state/from_buffer"].T.reshape(2, hidden, hidden).contiguous()
        self.state_bias = weights["state/bias"]
        self.actions = weights["state/actions"].T.contiguous()
        self.actions_bias = weights["state/actions_bias"]
        self.empty_buffer = weights["state/from_buffer"] @ weights["empty_buffer"] + self.state_bias
        self.tag_part = weights["embed/tags"] @ weights["embed/from_tag"].T
        self.word_part = torch.zeros(1, hidden)
        if settings.word_dim:
            projected = weights["embed/vectors"] @ weights["embed/project"].T + weights["embed/project_bias"]
            self.word_part = projected.relu() @ weights["embed/from_word"].T
        self.tables = self._tabulate(self.tag_part.relu())

    def _tabulate(self, embedded: Tensor) -> list[Tensor]:
        """The contributions of distinct words (U, H) to the gates of the three LSTMs, each (U, 4H)."""
        return [
            torch.addmm(lstm.bias, embedded, lstm.inputs)
            for lstm in (self.forward, self.backward, self.stack)
        ]

    @torch.inference_mode()
    def parse(self, sentences: Sequence[Encoded]) -> list[tuple[int, ...]]:
        """The greedy trees, each (n,), in the order given."""
        result: list[tuple[int, ...]] = [()] * len(sentences)
        order = sorted((k for k, s in enumerate(sentences) if len(s)), key=lambda k: -len(sentences[k]))
        start = 0
        while start < len(order):
            rows = max(1, min(ROWS, WORDS // len(sentences[order[start]])))
            batch = order[start : start + rows]
            for place, heads in zip(batch, self._parse([sentences[k] for k in batch]).tolist()):
                result[place] = tuple(heads[: len(sentences[place])])
            start += rows
        return result

    def _parse(self, sentences: Sequence[Encoded]) -> Tensor:
        """Heads (B, longest) of sentences, longest first."""
        n_rows, hidden = len(sentences), self.hidden
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        longest, n_words = len(sentences[0]), int(lengths.sum())
        first = torch.cumsum(lengths + 1, 0) - lengths - 1  # each is followed by a place for the empty buffer
        inputs, (forward, backward, table) = self._look_up(sentences)
        buffer = self._read(lengths, first, inputs, forward, backward)

        n_states = 2 * n_words - n_rows + 1
        h, c = torch.empty(n_states, hidden), torch.empty(n_states, hidden)
        h[0] = c[0] = 0
        products = torch.empty(n_words, 4 * hidden)
        below, word, product = (torch.zeros(n_states, dtype=torch.long) for _ in range(3))
        read, top = torch.zeros(n_rows, dtype=torch.long), torch.zeros(n_rows, dtype=torch.long)
        base = torch.arange(n_rows) * longest
        heads = torch.full((n_rows * longest,), -1)
        n_steps = (2 * lengths - 1).numpy()
        active = np.searchsorted(-n_steps, -np.arange(n_steps[0]), side="left").tolist()
        new, n_products = 1, 0
        for step, rows in enumerate(active):
            if rows < len(top):
                top, read, base, lengths, first = (x[:rows] for x in (top, read, base, lengths, first))
            reduces = left = torch.zeros(rows, dtype=torch.bool)
            if step >= 2:
                state = buffer.index_select(0, first + read)
                state.addmm_(h.index_select(0, top), self.from_stack).relu_()
                logits = torch.addmm(self.actions_bias, state, self.actions)
                shift, left_reduce, right_reduce = logits.unbind(1)
                left = left_reduce >= right_reduce
                reduces = torch.maximum(left_reduce, right_reduce) > shift
                reduces |= read >= lengths
                reduces &= read > (step + 1) // 2
            reduce, shift = reduces.nonzero()[:, 0], (~reduces).nonzero()[:, 0]
            k, middle, end = len(reduce), new + len(reduce), new + rows
            gates = torch.empty(rows, 4 * hidden)
            if k:
                upper = top[reduce]
                lower = below[upper]
                is_left = left[reduce]
                pair = torch.stack(
                    [torch.where(is_left, upper, lower), torch.where(is_left, lower, upper)], 1
                )
                words = word[pair]
                heads[words[:, 1]] = word[new:middle] = words[:, 0]
                below[new:middle] = below[lower]
                product[new:middle] = product[lower]
                x = h.index_select(0, pair.view(-1)).view(k, -1)
                x = torch.addmm(self.compose_bias, x, self.compose).relu_()
                torch.addmm(self.stack.bias, x, self.stack.inputs, out=gates[:k])
                gates[:k] += products.index_select(0, product[new:middle])
            if k < rows:
                tops, m = top[shift], rows - k
                word[middle:end] = base[shift] + read[shift]
                below[middle:end] = tops
                product[middle:end] = torch.arange(n_products, n_products + m)
                made = products[n_products : n_products + m]
                torch.mm(h.index_select(0, tops), self.stack.recurrent, out=made)
                place = inputs[first[shift] + read[shift]]
                torch.add(made, table.index_select(0, place), out=gates[k:])
                n_products += m
                read[shift] += 1
            cell, output = c[new:end], h[new:end]
            _step(gates, c.index_select(0, below[new:end]), cell, output)
            top[reduce] = torch.arange(new, middle)
            top[shift] = torch.arange(middle, end)
            new = end
        return torch.where(heads < 0, 0, heads % longest + 1).view(-1, longest)

    def _look_up(self, sentences: Sequence[Encoded]) -> tuple[Tensor, list[Tensor]]:
        """Row in the tables for each place, and the tables."""
        tags = np.array([tag for sentence in sentences for tag in (*sentence.tags, 0)])
        if len(self.word_part) == 1:
            return torch.from_numpy(tags), self.tables
        words = np.array([word for sentence in sentences for word in (*sentence.words, 0)])
        pairs, inputs = np.unique(tags * len(self.word_part) + words, return_inverse=True)
        tag, word = (torch.from_numpy(ids) for ids in np.divmod(pairs, len(self.word_part)))
        embedded = (self.tag_part[tag] + self.word_part[word]).relu_()
        return torch.from_numpy(inputs.reshape(-1)), self._tabulate(embedded)

    def _read(
        self, lengths: Tensor, first: Tensor, inputs: Tensor, forward: Tensor, backward: Tensor
    ) -> Tensor:
        """The buffer's contribution to the state layer at each place, including its bias."""
        steps = torch.arange(int(lengths[0]))[:, None]
        inside = steps < lengths
        there, back = (first + steps)[inside], (first + lengths - 1 - steps)[inside]
        outputs = torch.empty(2, len(there), self.hidden)
        rows_there, rows_back = inputs[there], inputs[back]
        start, h, c = 0, None, torch.zeros(2, len(lengths), self.hidden)
        for rows in inside.sum(1).tolist():
            now = slice(start, start + rows)
            gates = torch.empty(2, rows, forward.shape[1])
            torch.index_select(forward, 0, rows_there[now], out=gates[0])
            torch.index_select(backward, 0, rows_back[now], out=gates[1])
            if h is not None:
                gates.baddbmm_(h[:, :rows], self.both)
            cell, h = torch.empty(2, rows, self.hidden), outputs[:, now]
            _step(gates, c[:, :rows], cell, h)
            c = cell
            start += rows
        parts = torch.bmm(outputs, self.from_buffer)
        result = torch.empty(len(inputs), self.hidden)
        result[there] = parts[0] + self.state_bias
        result[back] += parts[1]
        result[first + lengths] = self.empty_buffer
        return result


def _step(gates: Tensor, before: Tensor, cell: Tensor, output: Tensor) -> None:
    """Sets cells and outputs (..., H) of an LSTM from gates (..., 4H) before activation and earlier cells."""
    hidden = cell.shape[-1]
    gates.tanh_()
    gates[..., : 3 * hidden].mul_(0.5).add_(0.5)
    i, f, o, g = gates.split(hidden, -1)
    torch.mul(f, before, out=cell)
    cell.addcmul_(i, g)
    torch.tanh(cell, out=output)
    output.mul_(o)


def _lstm(weights: Mapping[str, Tensor], name: str, hidden: int) -> _Lstm:
    factor = torch.full((4 * hidden,), 0.5)
    factor[3 * hidden :] = 1.0
    bias = weights[f"{name}/bias"].clone()
    bias[hidden : 2 * hidden] += FORGET
    inputs, recurrent = (
        (weights[f"{name}/{part}"].T * factor).contiguous() for part in ("input", "recurrent")
    )
    return _Lstm(inputs, recurrent, bias * factor)
