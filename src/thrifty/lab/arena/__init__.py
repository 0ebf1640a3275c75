"""Every policy on many instances, ranked."""
