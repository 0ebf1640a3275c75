"""What makes functions compiled, keeps their machine code, and lays out their data."""
