import type { IncomingHttpHeaders } from 'node:http';

/** The head of an answer (RFC 9112 sections 2 to 4). */
export type ResponseHead = {
  readonly status: number;
  /** By lower-case name; several of one name in the order in which they came. */
  readonly headers: IncomingHttpHeaders;
  /** Bytes of the body; undefined where the head alone does not say it: a body in chunks, or one that ends with its connection. */
  readonly length: number | undefined;
  /** The connection can be used again. */
  readonly persists: boolean;
};

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
/** A name is a token, and nothing stands before its colon (RFC 9112 section 5.1); a value is one line of text. */
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
const LENGTH = /^[0-9]{1,15}$/;

/**
 * Takes no more than Node's own parser: two readers that understand one answer differently are how one is given what is meant for
 * the other.
 * @param text all up to the empty line, that one not included, as latin1
 * @throws Error where it is not what RFC 9112 allows
 */
export const parseResponseHead = (text: string): ResponseHead => {
  const [first = '', ...lines] = text.split('\r\n');
  const [, minor, status] = STATUS_LINE.exec(first) ?? [];
  if (status === undefined) throw notHttp('no status line');
  const fields = new Map<string, string[]>();
  for (const line of lines) {
    const [, name, value = ''] = FIELD.exec(line) ?? [];
    if (name === undefined) throw notHttp('a header that is none');
    const key = name.toLowerCase();
    const values = fields.get(key);
    if (values) values.push(withoutBlanks(value));
    else fields.set(key, [withoutBlanks(value)]);
  }
  const options = (fields.get('connection') ?? []).join(',').toLowerCase().split(',').map(withoutBlanks);
  return {
    status: Number(status),
    headers: Object.fromEntries([...fields].map(([name, values]) => [name, oneOrMany(values)])),
    length: lengthOf(Number(status), fields),
    persists: !options.includes('close') && (minor === '1' || options.includes('keep-alive')),
  };
};

/** RFC 9112 section 6.3, for an answer to GET. */
const lengthOf = (status: number, fields: ReadonlyMap<string, readonly string[]>): number | undefined => {
  // Nobody asked for another protocol (RFC 9110 section 15.2.2).
  if (status === 101) throw notHttp('a protocol that nobody asked for');
  const said = fields.get('content-length');
  const [length = ''] = said ?? [];
  // Also the same one twice, which Node's refuses.
  if (said && (said.length > 1 || !LENGTH.test(length)))
    throw notHttp('more than one length, or none that is a number');
  if (fields.has('transfer-encoding')) return undefined;
  if (status < 200 || status === 204 || status === 304) return 0;
  return said && Number(length);
};

/** Space and tab; other white space is none here. By hand: a pattern would try each blank of a long row as the first of the last. */
const withoutBlanks = (text: string): string => {
  const isBlank = (at: number): boolean => text[at] === ' ' || text[at] === '\t';
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(start)) start++;
  while (end > start && isBlank(end - 1)) end--;
  return text.slice(start, end);
};

const oneOrMany = (values: readonly string[]): string | string[] =>
  values.length === 1 ? (values[0] as string) : [...values];

const notHttp = (what: string): Error => new Error(`its answer is not HTTP/1.1: ${what}`);
