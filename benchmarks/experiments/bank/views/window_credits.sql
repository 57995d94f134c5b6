SELECT window_start, to_account AS account, SUM(amount) AS credits
FROM TUMBLE(transfers, at, INTERVAL '10 seconds')
GROUP BY window_start, to_account
