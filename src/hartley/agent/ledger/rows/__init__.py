"""What a row of the ledger says, and the state that it leaves."""
