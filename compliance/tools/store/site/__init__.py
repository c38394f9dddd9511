"""A store as a folder of static pages, without a server and without network requests."""
