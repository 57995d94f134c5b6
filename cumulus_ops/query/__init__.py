"""Reading the maintained views and maps."""
