"""
What is said on the server's WebSockets, as one AsyncAPI document at /asyncapi.json.
"""
