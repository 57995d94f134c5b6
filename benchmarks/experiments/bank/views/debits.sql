SELECT from_account AS account, SUM(amount) AS debits
FROM transfers
GROUP BY from_account
