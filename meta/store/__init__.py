"""All of meta's SQL, a package for each noun. Table data gateway: functions of a transaction.

    services, commits --> f(tx, values) --> statement --> rows --> frozen values
    begin and commit      never begins, commits or repeats

- One statement decides: UPDATE ... RETURNING, ON CONFLICT, FOR UPDATE SKIP LOCKED, or a CHECK.
- Rows are locked in one order (streams, tasks, segments), and the version's last (`versions`).
- Ages are of the database's clock (`versions.clock`), which steps of the clock do not change.
"""
