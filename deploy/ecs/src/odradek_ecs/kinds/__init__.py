"""The kinds of things that a deployment is made of: how each is found, made, changed and removed."""
