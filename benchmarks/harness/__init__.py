"""What all measurements share: the stack, runs on it, the processes' use of the machine, and the results."""
