const numbers = new WeakMap<object, number>();
let last = 0;

/** A number that stands for this very object, for as long as it lives: for keys of what is kept in memory, never for output. */
export const identityNumber = (one: object): number => {
  const known = numbers.get(one);
  if (known !== undefined) return known;
  last += 1;
  numbers.set(one, last);
  return last;
};
