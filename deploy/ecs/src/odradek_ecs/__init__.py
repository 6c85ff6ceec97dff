"""Odradek on Amazon ECS: task definitions, services and their scaling, as code."""
