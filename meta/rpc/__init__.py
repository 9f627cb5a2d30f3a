"""Chain of interceptors around every call, with admission control and fair scheduling.

`pipeline` composes the steps, and each of them is a module. A call begins at its headers, so a
caller without permission is refused before its message is read.

    headers --> authentication --> admission --> message --> execution ----------> reply
                token or           places, in    in bounded  coroutine on the      status,
                certificate,       all and of    memory      loop, or function in  duration
                the role's row     the subject               a thread
                     |                 |            |            |
                     +-----------------+--- refused +------------+
                                             |
                            pace (repeated refusals wait) --> status with a reason

- Admission control (a bulkhead): a bound on open calls, in all and of each subject, so that one
  caller cannot take the places of the others.
- Fair scheduling (`thread_shares`): of the threads that wait for the interpreter, that of the
  subject which used least CPU goes first.
- Caches of valid tokens; the unknown ones of all callers are looked up by one query at a time.
"""
