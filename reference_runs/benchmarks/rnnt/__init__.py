"""Speech recognition: the recurrent transducer on LibriSpeech."""
