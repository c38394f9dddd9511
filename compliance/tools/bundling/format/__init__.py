"""The archive: its files, tar, compression, hashes, and the rules for members to unpack."""
