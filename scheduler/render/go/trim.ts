/**
 * A text without the characters at its ends that a test accepts; all of them are single UTF-16 units. A regular expression that is
 * anchored at the end only would take quadratic time over a run of them in the middle.
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
