"""The process that decides: routes, the writer, experiments and what they answer."""
