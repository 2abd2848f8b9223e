/** Where the string that begins at `start` ends: at its closing quote, or behind the text. */
export const stringEnd = (text: string, start: number): number => {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
};

/** Is the string that ends at `end` a key? */
export const isKey = (text: string, end: number): boolean => {
  let at = end + 1;
  while (at < text.length && ' \t\r\n'.includes(text[at] as string)) at++;
  return text[at] === ':';
};
