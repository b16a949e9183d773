"""
OpenAI's speech endpoint: clients that know it change one URL and are spoken to (docs/openai.md).

Requests are checked by the very models from which `/openapi.json` is made; behind them is a desk like that
of every other door.
"""
