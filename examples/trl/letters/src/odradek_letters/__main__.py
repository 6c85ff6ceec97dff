"""`python -m odradek_letters COUNT [LETTERS]`: so many tasks as JSONL, the letters in turn."""

import json
import sys
from itertools import cycle, islice

EASY = "e"

if __name__ == "__main__":
    count, letters = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else EASY
    for letter in islice(cycle(letters), count):
        print(json.dumps({"task": {"letter": letter}}))
