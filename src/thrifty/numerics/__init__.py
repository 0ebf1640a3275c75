"""How thrifty computes: compilation, records, linear algebra, least squares, confidence widths."""
