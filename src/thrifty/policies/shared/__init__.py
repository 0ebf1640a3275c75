"""What several policies share: the ledger, the stubs, arm selection, the allocation program."""
