/**
 * Removes characters that `isUnwanted` accepts from the ends of a text; each must be a single UTF-16 unit. A regular
 * expression anchored only at the end would take quadratic time over a run of them in the middle.
 */
export const trimWhile = (
  text: string,
  isUnwanted: (character: string) => boolean,
  bothEnds = true,
): string => {
  let start = 0;
  let end = text.length;
  while (end > 0 && isUnwanted(text[end - 1] ?? '')) end -= 1;
  if (!bothEnds) return text.slice(0, end);
  while (start < end && isUnwanted(text[start] ?? '')) start += 1;
  return text.slice(start, end);
};
