"""Which packed passages may back an answer, and which of them first, when each had a prompt of its own."""

from collections.abc import Collection, Sequence

from retrieval_server.generation.answers.answer_model import PassageWeight


def backing_order(
    packed_count: int, left_out: Collection[int], weights: Sequence[PassageWeight]
) -> tuple[list[int], list[int]]:
    """Return all packed passages, by index, in the order to look at them, and which places of that do not count.

    Without weights that is their own order, less those `left_out`. Otherwise what the answer was most likely written
    from comes first: of equal lines its are cited, and its number was 1 in its prompt. An answer that one passage alone
    has written is backed by that one alone.
    """
    indexes = range(packed_count)
    weight_of = {weight.packed_index: weight for weight in weights}
    sole = [index for index in indexes if index in weight_of and weight_of[index].wrote_answer]
    backing = {index for index in sole or indexes if index not in left_out and (not weights or index in weight_of)}
    posteriors = {index: weight.posterior for index, weight in weight_of.items()}
    order = sorted(indexes, key=lambda index: (index not in backing, -posteriors.get(index, 0.0), index))
    return order, [place for place, index in enumerate(order) if index not in backing]
