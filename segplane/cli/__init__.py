"""The command line: one description of each noun and command, loaded when it is used.

    segplane NOUN VERB --> top_level: the module of the command, and no other
                             --> command: options with help, connection to meta
                                   --> answer --> output: lines for people, JSON for programs

`nouns` makes list, show and delete of every noun from its description.
"""
