/** The first `most` UTF-16 units of a text, without the first half of a character at their end, which is no UTF-8. */
export const cutText = (text: string, most: number): string =>
  text.length > most ? text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '') : text;
