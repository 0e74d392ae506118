"""Question sets in the ecosystem's file format, made for the example corpus."""

import json
from pathlib import Path

QUESTIONS = (
    "How long may a visiting boat stay at the guest pontoon?",
    "What do three red lamps mean?",
    "When is the storm closure declared?",
    "How many rounds does the night watch make?",
    "Which part number had the perished seal of the fuel pump?",
    "What current makes GateJammedError?",
    "depth_over_sill_m",
    "What is the longest boat that fits the guest pontoon?",
)


def write_dataset(path: Path, questions: tuple[str, ...] = QUESTIONS) -> Path:
    """Write a dataset of these questions, with ids q0, q1, …"""
    rag_questions = [{"question_id": f"q{index}", "question": text} for index, text in enumerate(questions)]
    path.write_text(json.dumps({"rag_questions": rag_questions}), encoding="utf-8")
    return path
