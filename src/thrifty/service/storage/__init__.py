"""The database: events, snapshots, leases and tokens."""
