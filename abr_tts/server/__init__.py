"""The server: WebSockets in, engines and stream cores behind, one event loop between them."""
