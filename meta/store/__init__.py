"""All of meta's SQL, a package for each noun: functions of a transaction that others commit."""
