"""ResourceQuotas: what counts, who may write, who counts again."""
