"""Everything at once, killed and damaged at random: nothing lost beyond the ledger, nor doubled."""
