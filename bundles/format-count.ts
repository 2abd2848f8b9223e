/** `1 image`, `2 images`: a number and what it counts, a noun whose plural ends in s. */
export const formatCount = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? '' : 's'}`;
