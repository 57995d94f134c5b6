-- THRESH: ads with many clicks. Never taken back, for clicks only grow in number.
select id from clicks group by id having count(*) > 1000
