import { ASKED } from '../api/asked.ts';

/** The parameters of a view with one set, or removed by an empty value. */
export const withChoice = (query: URLSearchParams, key: string, value: string): URLSearchParams => {
  const next = new URLSearchParams(query);
  if (value === '') next.delete(key);
  else next.set(key, value);
  // A cursor is a place in the answer to one question, and in no other answer.
  if (ASKED.includes(key)) next.delete('cursor');
  return next;
};

/** Removes the choices that filter rows: order, columns and the parameters that the hub is asked with stay. */
export const withoutChoices = (query: URLSearchParams, keys: readonly string[]): URLSearchParams =>
  keys.reduce((rest, key) => (rest.has(key) ? withChoice(rest, key, '') : rest), query);
