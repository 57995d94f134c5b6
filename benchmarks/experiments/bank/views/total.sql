SELECT SUM(balance) AS total
FROM balance
