select campaign, id, count(*) as n from clicks group by campaign, id having count(*) < 100
