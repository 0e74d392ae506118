"""How a generation begins: each prompt of its job takes a slot."""

from collections.abc import Sequence

from generation_worker.decoding.copying import CopyBonus
from generation_worker.decoding.passage_prior import log_prior
from generation_worker.decoding.preferences import Preferences
from generation_worker.engine.branch import Branch
from generation_worker.engine.candidates import Candidates
from generation_worker.engine.generation import Generation, OnePrompt
from generation_worker.engine.llama_model import LlamaModel
from generation_worker.engine.planned_job import PROMPT_A_PASSAGE, PlannedJob
from generation_worker.engine.prompt import stops_of
from generation_worker.engine.slots import Slot, place
from generation_worker.engine.token_mixture import TokenMixture
from generation_worker.engine.writer import Writer
from groundwire.v1 import answer_pb2, passage_pb2


def begin_generation(llama: LlamaModel, slots: Sequence[Slot], planned: PlannedJob) -> Generation:
    """Take a slot for each prompt; raises RuntimeError when too few are free."""
    job = planned.job

    def branch(prompt: Sequence[int], passages: Sequence[passage_pb2.Passage]) -> Branch:
        slot = _slot_for(llama, slots, prompt)
        preferences = _preferences(llama, passages, job.copy_bonus)
        return Branch(slot, list(prompt), len(prompt), len(prompt), preferences)

    def writer() -> Writer:
        return Writer(llama, job, max_tokens=planned.completion_tokens, stops=stops_of(llama))

    if job.mode not in PROMPT_A_PASSAGE:
        [prompt] = planned.prompts
        return OnePrompt(llama, branch(prompt.tokens, planned.passages), writer())
    pairs = zip(planned.prompts, planned.passages, strict=True)
    branches = [branch(prompt.tokens, [passage]) for prompt, passage in pairs]
    log_p_passages = log_prior([passage.score for passage in planned.passages])
    if job.mode == answer_pb2.ANSWER_MODE_RAG_TOKEN:
        return TokenMixture(llama, branches, writer(), log_p_passages)
    return Candidates(llama, branches, [writer() for _ in branches], log_p_passages)


def _slot_for(llama: LlamaModel, slots: Sequence[Slot], prompt: Sequence[int]) -> Slot:
    """Take the best free slot for a prompt, and keep in it what needs not be computed again."""
    placing = place(slots, prompt)
    if placing is None:
        raise RuntimeError(f"all {len(slots)} slots are taken")
    slot = placing.slot
    if placing.copied_from is not None:
        llama.copy(placing.copied_from.sequence, slot.sequence)
    llama.keep_only(slot.sequence, placing.kept_tokens)
    slot.tokens = list(prompt[: placing.kept_tokens])
    slot.is_free = False
    return slot


def _preferences(llama: LlamaModel, passages: Sequence[passage_pb2.Passage], copy_bonus: float) -> Preferences:
    if copy_bonus <= 0:
        return Preferences()
    # After a line break, so that a text's first word has the tokens that it has in the prompt.
    sources = [llama.content_tokens(f"\n{passage.text}\n") for passage in passages]
    return Preferences(CopyBonus(sources, llama.piece, copy_bonus))
