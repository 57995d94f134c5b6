SELECT u1.c AS c1 FROM u AS u1 WHERE u1.a >= (SELECT SUM(v2.b) AS c1 FROM v AS v2 WHERE v2.x = u1.y)
