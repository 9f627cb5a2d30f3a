"""Registers merges for all calls of a server, so that single and bulk calls share commits."""

import asyncio
from collections.abc import Sequence

from meta.commits.group_commit import Committer, answered
from meta.commits.transactions import Transactions
from meta.errors import MetaError
from meta.store.engine.pool import Transaction
from meta.store.registration import parts, registrations
from meta.store.registration.calls import Merge
from meta.store.versions.versions import Version

# More moves would block the event loop while they are checked, and a batch while they are written.
QUICK_MOVES = 100


class MergeRegistrar:
    """Registers checked merges: in group commits, large ones in their own transactions."""

    def __init__(self, transactions: Transactions, commit_batches: int = 1) -> None:
        self._transactions = transactions
        self._committer: Committer[Merge, Version, Transaction] = Committer(
            name="register_merged_segment",
            batches_max=commit_batches,
            # A second batch prepares while the first is in the database: bulk calls of 16 callers
            # had 7,000 registrations a second, and have 8,300.
            full_batches_max=2,
            weight=_weight,
            begin=transactions.database.write,
            keys=registrations.keys,
            run_batch=registrations.register_batch,
            run_alone=self._alone,
        )

    async def register(self, merge: Merge) -> Version:
        """Register one merge; the version that shows it. Raises its refusal."""
        if _are_alone([merge])[0]:
            return await asyncio.to_thread(self._alone, merge)
        return await self._committer.submit(merge)

    async def register_each(self, merges: Sequence[Merge]) -> list[Version | MetaError]:
        """Register merges that came together; answers each with its version or refusal.

        Raises Unavailable or DeadlineExceeded if the outcome of one is unknown.
        """
        are_alone = _are_alone(merges)
        each = list(zip(merges, are_alone, strict=True))
        quick = await self._committer.submit_each(
            [merge for merge, is_alone in each if not is_alone]
        )
        answers = iter(quick)
        # Those come after the others, because one may take seconds.
        alone = [await self._answer_alone(m) for m, is_alone in each if is_alone]
        alone_answers = iter(alone)
        return [next(alone_answers if is_alone else answers) for is_alone in are_alone]

    async def _answer_alone(self, merge: Merge) -> Version | MetaError:
        return await asyncio.to_thread(answered, self._alone, merge)

    def _alone(self, merge: Merge) -> Version:
        # A refusal is committed too: it forgets the parts of identities that were stored for it.
        (answer,) = self._transactions.write(lambda tx: registrations.register_batch(tx, [merge]))
        if isinstance(answer, MetaError):
            raise answer
        return answer


def _weight(merge: Merge) -> int:
    return max(len(merge.moves), len(merge.segments))


def _are_alone(merges: Sequence[Merge]) -> list[bool]:
    """Whether each call is large, or waits for others, and so has its own transaction."""
    keys = parts.conflict_keys(merges)
    return [len(m.moves) > QUICK_MOVES or bool(held) for m, held in zip(merges, keys, strict=True)]
