"""The names of the exported encoder's inputs and output: the export writes them, the server reads them."""

INPUT_IDS = "input_ids"
ATTENTION_MASK = "attention_mask"
EMBEDDING = "embedding"
