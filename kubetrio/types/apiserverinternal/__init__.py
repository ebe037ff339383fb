"""Types of apiserverinternal."""
