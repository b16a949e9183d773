"""Commands as people run them: their arguments, their words, their files, their exit status."""
