"""Building blocks of verifiers: each compares what a model wrote or did with what was wanted.

They are plain functions of their arguments, so a `verify` made of them is one too. Import the module by its noun, such as
`from odradek.verifiers import texts`: a module that needs a library of its own imports it when it is first used.
"""
