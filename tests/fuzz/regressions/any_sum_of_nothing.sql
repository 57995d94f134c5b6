SELECT t2.x AS c1 FROM u AS u1 JOIN t AS t2 ON t2.a = u1.a WHERE t2.x >= ANY (SELECT SUM(w3.z) AS c1 FROM w AS w3 JOIN v AS v4 ON w3.z = v4.x WHERE w3.c = u1.a)
