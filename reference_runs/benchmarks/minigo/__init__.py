"""Reinforcement learning: Go by self-play, as MiniGo does it."""
