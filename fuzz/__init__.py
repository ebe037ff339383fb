"""Programs that look for mistakes with random inputs, for as long as one lets them."""
