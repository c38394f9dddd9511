"""podium's answers for programs that ask through the Model Context Protocol."""
