"""What Odradek's services say to each other. Pure: no I/O, no clock but for an event's time."""
