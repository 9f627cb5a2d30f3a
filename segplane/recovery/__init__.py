"""Repair by operators: dead letter queue, roll forward after a restore, rebuild of the catalog.

    quarantine          payload --> replayed once (`payload_replay`, `whole_babies`), or dropped
    damaged segment     hidden, replaced, or put back (`segment_repairs`)
    restored database   bucket --> streams and segments it does not know (`reconcile`)
    lost database       bucket --> catalog (`rebuild`)

A new object gets a key that follows from its content (`object_attempts`), and is registered in one
transaction. So a remedy that was interrupted can be repeated. A loss needs an approval (`losses`).
"""
