"""Building a store from logs: `judging` reads and judges them, rounds are written one by one."""
