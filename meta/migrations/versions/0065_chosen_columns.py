"""Drop the choice of automatic columns by use, which was in no release."""

from alembic import op

revision = "0065"
down_revision = "0064"


def upgrade() -> None:
    """Drop what revision 0062 added: servers of 0.2.0 know nothing of it.

    Columns that meta had chosen keep their field ids, and new segments have them no more.
    """
    op.execute("DROP TABLE attribute_counts")
    op.execute("DROP TABLE attribute_sums")
    op.execute("UPDATE automatic_columns SET is_written = false WHERE is_chosen")
    op.execute("ALTER TABLE automatic_columns DROP COLUMN is_chosen")
    op.execute("ALTER TABLE datasets DROP COLUMN columns_chosen_next")
