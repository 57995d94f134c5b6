PROGRAM wordcount SEMANTICS SNAPSHOT;

RELATION words(word STRING, batch INT) ROWS 10000000;

MAP counts_count[word STRING, batch INT] : INT
  MEANING 'SELECT words.word, words.batch, COUNT(*) FROM words GROUP BY words.word, words.batch';

VIEW counts[word STRING, batch INT]
  VALUES count = counts_count
  EXISTS counts_count
  COLUMNS word = word,
    batch = batch,
    n = count
  SQL '-- The counts of a batch change until its last word has come: a seal on batch says when.
select word, batch, count(*) as n from words group by word, batch
';

ON +words(word, batch) DO {
  counts_count[word, batch] += 1;
}

ON -words(word, batch) DO {
  counts_count[word, batch] += -1;
}
