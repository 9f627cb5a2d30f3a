"""A mutation test of a random sample: changes of our code that no test notices."""
