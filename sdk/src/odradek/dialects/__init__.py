"""What model APIs say on the wire, and the one conversation that they all mean.

A dialect is a package of pure functions, with the same names in each:

- `read_request(body) -> ChatRequest` and `write_request(request, model) -> body`: what is asked;
- `read_reply(body, ...) -> Reply` and `write_reply(reply, ...) -> body`: what is answered;
- `StreamReader` and `StreamWriter`: the same, piece by piece.

The core is OpenAI chat completions' own shape (`Message`, `ToolSpec`, `Sampling`): reading another dialect and writing
it again loses nothing that the core can say, and writing a core request loses only what the dialect has no word for;
each module names that at its top.
"""
