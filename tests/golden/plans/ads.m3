PROGRAM ads SEMANTICS SNAPSHOT;

RELATION clicks(id INT, campaign INT, hour TIMESTAMP, server INT) ROWS 10000000;

MAP thresh_count[id INT] : INT
  MEANING 'SELECT clicks.id, COUNT(*) FROM clicks GROUP BY clicks.id';
MAP window_count[hour TIMESTAMP, id INT] : INT
  MEANING 'SELECT clicks.hour, clicks.id, COUNT(*) FROM clicks GROUP BY clicks.hour, clicks.id';
MAP campaign_count[campaign INT, id INT] : INT
  MEANING 'SELECT clicks.campaign, clicks.id, COUNT(*) FROM clicks GROUP BY clicks.campaign, clicks.id';

VIEW thresh[id INT]
  VALUES count = thresh_count
  EXISTS thresh_count
  COLUMNS id = id
  HAVING count > 1000
  SQL '-- THRESH: ads with many clicks. Never taken back, for clicks only grow in number.
select id from clicks group by id having count(*) > 1000
';

VIEW poor[id INT]
  VALUES count = thresh_count
  EXISTS thresh_count
  COLUMNS id = id
  HAVING count < 100
  SQL '-- POOR: ads with few clicks. More clicks take rows back, and no seal says that there are no more.
select id from clicks group by id having count(*) < 100
';

VIEW "window"[hour TIMESTAMP, id INT]
  VALUES count = window_count
  EXISTS window_count
  COLUMNS hour = hour,
    id = id
  HAVING count < 100
  SQL '-- WINDOW: the same in each hour. When an hour is sealed, its rows stay.
select hour, id from clicks group by hour, id having count(*) < 100
';

VIEW campaign[campaign INT, id INT]
  VALUES count = campaign_count
  EXISTS campaign_count
  COLUMNS campaign = campaign,
    id = id
  HAVING count < 100
  SQL '-- CAMPAIGN: the same in each campaign. When a campaign is sealed, its rows stay.
select campaign, id from clicks group by campaign, id having count(*) < 100
';

ON +clicks(id, campaign, hour, server) DO {
  thresh_count[id] += 1;
  window_count[hour, id] += 1;
  campaign_count[campaign, id] += 1;
}

ON -clicks(id, campaign, hour, server) DO {
  thresh_count[id] += -1;
  window_count[hour, id] += -1;
  campaign_count[campaign, id] += -1;
}
