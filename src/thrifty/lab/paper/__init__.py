"""The paper's panels and claims, and their reproduction."""
