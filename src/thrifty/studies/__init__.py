"""Studies: many replications of policies on instances, kept in files, run in threads or on Dask."""
