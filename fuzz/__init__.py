"""Programs that look for mistakes with inputs that nobody wrote, for as long as one lets them."""
