"""`python -m odradek_letters COUNT`: so many tasks as JSONL, the letters in turn."""

import json
import sys

from odradek_letters.environment import LETTERS

if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        print(json.dumps({"task": {"letter": LETTERS[number % len(LETTERS)]}}))
