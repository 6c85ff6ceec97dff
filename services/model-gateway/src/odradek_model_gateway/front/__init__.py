"""The front end over HTTP: OpenAI chat completions and Responses, Anthropic Messages, for programs that play rollouts.

A call is made in whatever process it comes to: its token says all that must be known of the attempt. Its answer is
written to `model-results` before the client has read its end, so that what a program was told is in the log.
"""
