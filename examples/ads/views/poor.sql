-- POOR: ads with few clicks. More clicks take rows back, and no seal says that there are no more.
select id from clicks group by id having count(*) < 100
