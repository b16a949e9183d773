"""
Alibaba's hosted CosyVoice as its SDKs know it, on our core: the WebSocket `/api-ws/v1/inference`.
"""
