"""Rules that workers and readers share. Worker runtime: settings, connection, tasks, permits.

    settings --> meta_connection --> location: stores, again when meta's configuration changes
                                       |
              babies: fetch, check, route and decode baby segments
              task_runner: Spark, or warm child processes (`processes`)
              object_checks, condemnation, deletion_permit: no delete without a recent proof

It stands between the processes and `meta.client`: no process imports another one.
"""
