"""What writes of the core group do beside what their clients say."""
