"""The case of each alert of an objective."""

from tests.deploy.rule_case import (
    DAY,
    EXPORTS,
    LONG_STEP,
    THREE_DAYS,
    RuleCase,
    of,
    of_metas,
)

BUDGET_CASES = (
    RuleCase(
        "SegplaneFreshnessBudgetBurnsFast",
        of_metas("segplane_meta_nursery_lag_seconds", "10x90 300x40", 'nursery="0"'),
        # A late minute in two hours.
        of_metas("segplane_meta_nursery_lag_seconds", "10x100 300 10x30", 'nursery="0"'),
        120,
    ),
    RuleCase(
        "SegplaneFreshnessBudgetBurnsSlowly",
        of_metas("segplane_meta_nursery_lag_seconds", f"10x{2 * DAY} 300x{DAY}", 'nursery="0"'),
        of_metas("segplane_meta_nursery_lag_seconds", f"10x{3 * DAY}", 'nursery="0"'),
        THREE_DAYS,
        step=LONG_STEP,
    ),
    RuleCase(
        "SegplaneExportBudgetBurnsFast",
        {
            of(EXPORTS, 'outcome="accepted",signal="logs"'): "0+100x120",
            of(EXPORTS, 'outcome="unavailable",signal="logs"'): "0x60 0+5x60",
        },
        {
            of(EXPORTS, 'outcome="accepted",signal="logs"'): "0+100x120",
            # The sender's fault.
            of(EXPORTS, 'outcome="unauthenticated",signal="logs"'): "0+50x120",
            of(EXPORTS, 'outcome="unavailable",signal="logs"'): "0x120",
        },
        120,
    ),
    RuleCase(
        "SegplaneExportBudgetBurnsSlowly",
        {
            of(EXPORTS, 'outcome="accepted",signal="logs"'): f"0+998x{3 * DAY}",
            of(EXPORTS, 'outcome="unavailable",signal="logs"'): f"0+2x{3 * DAY}",
        },
        {
            of(EXPORTS, 'outcome="accepted",signal="logs"'): f"0+10000x{3 * DAY}",
            of(EXPORTS, 'outcome="unavailable",signal="logs"'): f"0+1x{3 * DAY}",
        },
        THREE_DAYS,
        step=LONG_STEP,
    ),
)
