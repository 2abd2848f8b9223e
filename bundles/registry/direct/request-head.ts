import { lineFailure } from './line-failure.ts';

/** What undici takes, too (RFC 9110 section 5.5, RFC 9112 section 3.2): written as latin1, any other character may become a line's end. */
const PATH = /^\/[\x21-\x7e\x80-\xff]*$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The head of a GET. @throws what undici throws for what would be more than one request */
export const requestHead = (
  origin: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): string => {
  if (!PATH.test(path)) throw lineFailure('UND_ERR_INVALID_ARG', 'a path that is none');
  const lines = Object.entries({ host: new URL(origin).host, ...headers }).map(([name, value]) => {
    if (!VALUE.test(value))
      throw lineFailure('UND_ERR_INVALID_ARG', `a header '${name}' of more than one line`);
    return `${name}: ${value}\r\n`;
  });
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
};
