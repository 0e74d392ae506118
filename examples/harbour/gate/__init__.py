"""The program that moves the tide gate."""
