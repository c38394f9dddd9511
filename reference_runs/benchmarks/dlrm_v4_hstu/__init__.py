"""Sequential recommendation: HSTU layers over the histories of listeners, trained as a stream."""
