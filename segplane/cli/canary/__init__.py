"""Canary: a log record at an interval, followed from the collector to the reader.

    schedule --> send (pool) --> acknowledged
                                     |
    reader (thread) --> visible --> merged --> settled --> looked at once more, for doubled ones
                                     |
                              late, lost, doubled: named

A process holds only what it has not judged yet, and keeps that in a file if it is given one.
"""
