const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const;

/** '12 h', '2 d', '45 s': as whole numbers of the largest unit that loses nothing, otherwise rounded down to it. */
export const formatSeconds = (seconds: number): string => {
  const exact = UNITS.find(([, size]) => seconds >= size && seconds % size === 0);
  const [unit, size] = exact ?? UNITS.find(([, length]) => seconds >= 2 * length) ?? ['s', 1];
  return `${Math.floor(seconds / size)} ${unit}`;
};
