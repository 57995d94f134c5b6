-- WINDOW: the same in each hour. When an hour is sealed, its rows stay.
select hour, id from clicks group by hour, id having count(*) < 100
