"""The task-producer: plans runs, admits their rollouts, counts their rewards, and purges what everybody has read."""
