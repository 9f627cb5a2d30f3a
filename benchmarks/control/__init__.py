"""Control planes beside each other, by the files of tables that they publish."""
