const numbers = new WeakMap<object, number>();
let last = 0;

/** A number that identifies this object while it lives. For keys of in-memory caches, never for output. */
export const identityNumber = (one: object): number => {
  const known = numbers.get(one);
  if (known !== undefined) return known;
  last += 1;
  numbers.set(one, last);
  return last;
};
