"""A store made from logs: read and judged by `checking`, written round by round."""
