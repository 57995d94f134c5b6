SELECT to_account AS account, SUM(amount) AS credits
FROM transfers
GROUP BY to_account
