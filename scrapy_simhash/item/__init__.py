"""Items to what they say."""
