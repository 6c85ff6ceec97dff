"""`python -m odradek_ecs`."""

from odradek_ecs.app import main

main()
