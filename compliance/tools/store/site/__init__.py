"""A store as a folder of static pages: no server, no request to anywhere."""
