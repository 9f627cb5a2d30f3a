"""Judgement of the state of an installation, for the command line and the console.

StatusService --> judgement of each process, need of a person --> a line, a page
"""
