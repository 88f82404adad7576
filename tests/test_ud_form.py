"""What `vdgi check` warns of besides faults."""

from __future__ import annotations

from dynet_vdgi.data.ud_form import UdForm


class Counted(str):
    """Text that knows how often lines were counted in it, which takes time in proportion to its length."""

    times = 0

    def count(self, *arguments):
        Counted.times += 1
        return super().count(*arguments)


def test_lines_are_counted_for_the_first_place_only():
    form, sentence = UdForm(), "# sent_id = same\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n"
    form.add("a.conllu", 1, Counted("\n".join([sentence] * 50)))
    assert form.found == {"sent_id of an earlier sentence": (49, "a.conllu:4")}
    assert Counted.times == 1
