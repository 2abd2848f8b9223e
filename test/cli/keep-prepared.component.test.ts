import SQLite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { keepPrepared } from '#cli/keep-prepared';

test('a text that one caller reads as a row and another as a single value gives each its form, in any order', () => {
  const database = new SQLite(':memory:');
  keepPrepared(database);
  const text = 'SELECT 7 AS next_seq';
  const asRow = (): unknown => database.prepare(text).get();
  const asValue = (): unknown => database.prepare(text).pluck().get();
  expect([asRow(), asValue(), asRow(), asValue()]).toEqual([{ next_seq: 7 }, 7, { next_seq: 7 }, 7]);
  expect(database.prepare(text)).toBe(database.prepare(text));
  expect(database.prepare(text).pluck()).toBe(database.prepare(text).pluck());
  database.close();
});
