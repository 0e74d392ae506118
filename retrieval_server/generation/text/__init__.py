"""What stands in passages and answers: sentences, lines, values, units, claims."""
