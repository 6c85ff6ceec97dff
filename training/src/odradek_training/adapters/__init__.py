"""What a reward stream gives, as other trainers take it: `verl`, `skyrl`, `prime_rl` (verifiers' types), `nemo_rl`.

Each module is a pure conversion and the trainer's own extension point around it. No trainer is imported before it is
needed, and only rollouts that count are ever converted: see `rows`.
"""
