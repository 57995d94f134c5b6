SELECT credits.account, credits - debits AS balance
FROM credits
JOIN debits ON credits.account = debits.account
