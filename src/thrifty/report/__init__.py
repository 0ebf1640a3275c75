"""Results as figures, tables and a page: reads results, never simulates."""
