"""The commands, one group a module: each reads what it needs, decides nothing, and renders."""
