SELECT COALESCE(c.window_start, d.window_start) AS window_start, SUM(COALESCE(credits, 0) - COALESCE(debits, 0)) AS total
FROM window_credits c
FULL JOIN window_debits d ON c.window_start = d.window_start AND c.account = d.account
GROUP BY COALESCE(c.window_start, d.window_start)
