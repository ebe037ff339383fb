"""Go's text formats: quoting, numbers, durations, URLs, patterns."""
