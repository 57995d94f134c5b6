SELECT window_start, from_account AS account, SUM(amount) AS debits
FROM TUMBLE(transfers, at, INTERVAL '10 seconds')
GROUP BY window_start, from_account
