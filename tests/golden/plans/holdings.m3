PROGRAM holdings SEMANTICS SEQUENTIAL;

RELATION split(symbol STRING, ratio INT) ROWS 100;
RELATION dividend(symbol STRING, per_share DECIMAL(9, 4)) ROWS 1000;
RELATION trade(id INT, account INT, symbol STRING, quantity INT, price DECIMAL(9, 4)) KEY (id) ROWS 10000000;

MAP shares[symbol STRING, account INT] : INT
  MEANING 'shares held now; sold ones count below zero';
MAP position[trade INT, symbol STRING, account INT] : INT
  MEANING 'shares held after each trade';
MAP paid[symbol STRING, account INT] : DECIMAL(18, 4)
  MEANING 'dividends paid so far';
MAP spent[account INT] : DECIMAL(18, 4)
  MEANING 'cash that trades have cost';

VIEW shares[symbol STRING, account INT]
  VALUES held = shares
  COLUMNS symbol = symbol,
    account = account,
    held = held;

VIEW position[trade INT, symbol STRING, account INT]
  VALUES held = position
  COLUMNS trade = trade,
    symbol = symbol,
    account = account,
    held = held;

VIEW paid[symbol STRING, account INT]
  VALUES paid = paid
  COLUMNS symbol = symbol,
    account = account,
    paid = paid;

VIEW spent[account INT]
  VALUES spent = spent
  COLUMNS account = account,
    spent = spent;

ON +split(S, RATIO) DO {
  shares[S, a] += (RATIO - 1) * shares[S, a];
}

ON +dividend(S, PER_SHARE) DO {
  paid[S, a] += PER_SHARE * shares[S, a];
}

ON +trade(ID, A, S, QUANTITY, PRICE) DO {
  shares[S, A] += QUANTITY;
  position[ID, S, A] += shares[S, A];
  spent[A] += (QUANTITY * PRICE);
}
