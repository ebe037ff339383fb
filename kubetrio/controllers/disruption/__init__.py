"""The controller of disruption budgets."""
