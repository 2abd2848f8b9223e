/** Go's strings are bytes. These count and cut as Go does, but never through a character: what is half cut is left out. */

// oxlint-disable-next-line no-control-regex
const ASCII = /^[\x00-\x7f]*$/;

export const isAscii = (text: string): boolean => ASCII.test(text);

/** The code points of a text, which Go calls runes. */
export const codePoints = (text: string): string[] => Array.from(text);

export const byteLength = (text: string): number => Buffer.byteLength(text);

/** The UTF-8 bytes of a text, a character for each, and back again. */
export const bytesAsText = (text: string): string => Buffer.from(text).toString('latin1');
export const textFromBytes = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The bytes from `from` to `to`. Where Go would leave a part of a character, none of it stays. */
export const byteSlice = (text: string, from: number, to: number): string => {
  if (isAscii(text)) return text.slice(from, to);
  const bytes = Buffer.from(text);
  let start = from;
  let end = Math.min(to, bytes.length);
  while (start < end && isContinuation(bytes[start])) start += 1;
  while (end > start && isContinuation(bytes[end])) end -= 1;
  return bytes.toString('utf8', start, end);
};
