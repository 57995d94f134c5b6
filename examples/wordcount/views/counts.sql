-- The counts of a batch change until its last word has come: a seal on batch says when.
select word, batch, count(*) as n from words group by word, batch
