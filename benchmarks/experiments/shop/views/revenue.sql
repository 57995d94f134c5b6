SELECT nation, SUM(price) AS revenue, COUNT(*) AS items
FROM customers
JOIN orders ON orders.customer = customers.customer
JOIN items ON items.ordered = orders.ordered
GROUP BY nation
