"""Any model's chat template, turned once at the start into the frames that stand around every prompt's content."""
