"""What users write against: environments, harnesses, verifiers, and the means to test them."""
