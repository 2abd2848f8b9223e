/** Go's strings are bytes. These functions count and cut in bytes, and drop a character that would be cut in two. */

// oxlint-disable-next-line no-control-regex
const ASCII = /^[\x00-\x7f]*$/;

export const isAscii = (text: string): boolean => ASCII.test(text);

/** The code points of a text: Go's runes. */
export const codePoints = (text: string): string[] => Array.from(text);

export const byteLength = (text: string): number => Buffer.byteLength(text);

/** The UTF-8 bytes of a text as one character each, and the reverse. */
export const bytesAsText = (text: string): string => Buffer.from(text).toString('latin1');
export const textFromBytes = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The bytes from `from` to `to`, without characters that are only partly inside. Go would keep the partial bytes. */
export const byteSlice = (text: string, from: number, to: number): string => {
  if (isAscii(text)) return text.slice(from, to);
  const bytes = Buffer.from(text);
  let start = from;
  let end = Math.min(to, bytes.length);
  while (start < end && isContinuation(bytes[start])) start += 1;
  while (end > start && isContinuation(bytes[end])) end -= 1;
  return bytes.toString('utf8', start, end);
};
