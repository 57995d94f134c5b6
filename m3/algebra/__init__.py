"""Between SQL and M3: bags of rows as signed joins, their normal form as monomials, canonical forms and deltas."""
