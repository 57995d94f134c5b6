-- CAMPAIGN: the same in each campaign. When a campaign is sealed, its rows stay.
select campaign, id from clicks group by campaign, id having count(*) < 100
