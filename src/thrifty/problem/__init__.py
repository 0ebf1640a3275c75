"""What is to be decided: action sets, instances (the truth behind them), and the catalog."""
