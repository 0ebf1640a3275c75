"""Instances x policies x replications: tasks, batches, results, their files and executors."""
