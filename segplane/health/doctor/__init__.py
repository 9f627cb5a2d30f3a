"""Examination of an installation: each check has a verdict, and the next step where it needs one.

    meta's facts --> installation --+
    this machine --> machine -------+--> Diagnosis --> command line, bundle
    bucket -------> bucket ---------+
    Postgres -----> database -------+

A check that cannot be made here is unknown, and says what is missing. It is never ok.
"""
