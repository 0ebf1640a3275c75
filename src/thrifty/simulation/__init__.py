"""One replication: a policy plays an instance, and its regret is recorded."""
