"""What every Odradek worker stands on."""
