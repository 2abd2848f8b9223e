import { isIPv6 } from 'node:net';

/** Go's net/url, as far as sprig's urlParse and urlJoin expose it. */

export type GoUrl = {
  readonly scheme: string;
  readonly opaque: string;
  readonly user: UserInfo | undefined;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  readonly fragment: string;
};

export type UserInfo = { readonly name: string; readonly password: string | undefined };

/** The message says what is wrong with the URL. */
export class UrlError extends Error {}

type Part = 'path' | 'host' | 'zone' | 'user' | 'fragment';

/** Bytes below 128 that are not escaped, besides letters, digits and `-._~`. */
const PLAIN: Readonly<Record<Part, string>> = {
  path: '$&+,/:;=@',
  host: '!"$&\'()*+,:;<=>[]',
  zone: '!"$&\'()*+,:;<=>[]',
  user: '$&+,;=',
  fragment: '!$&()*+,/:;=?@',
};

const isPlain = (character: string, part: Part): boolean =>
  /[A-Za-z0-9\-._~]/.test(character) || PLAIN[part].includes(character);

const escapeBytes = (text: string, part: Part): string => {
  let out = '';
  for (const byte of Buffer.from(text)) {
    const character = String.fromCharCode(byte);
    const hex = byte.toString(16).toUpperCase().padStart(2, '0');
    out += byte < 0x80 && isPlain(character, part) ? character : `%${hex}`;
  }
  return out;
};

const unescape = (text: string, part: Part): string => {
  const bytes: Buffer[] = [];
  for (const [piece] of text.matchAll(/%[0-9a-fA-F]{2}|[^%]+|%/g)) {
    if (piece === '%') throw new UrlError('a % is not followed by two hexadecimal digits');
    if (!piece.startsWith('%')) {
      if (part === 'host' || part === 'zone')
        for (const character of piece)
          if (character < '\x80' && !isPlain(character, part))
            throw new UrlError(`${JSON.stringify(character)} cannot stand in a host`);
      bytes.push(Buffer.from(piece));
      continue;
    }
    const code = Number.parseInt(piece.slice(1), 16);
    const character = String.fromCharCode(code);
    if (part === 'host' && code < 0x80 && piece !== '%25')
      throw new UrlError(`${piece} cannot stand in a host`);
    if (
      part === 'zone' &&
      piece !== '%25' &&
      character !== ' ' &&
      !(code < 0x80 && isPlain(character, 'host'))
    )
      throw new UrlError(`${piece} cannot stand in a zone`);
    bytes.push(Buffer.of(code));
  }
  return Buffer.concat(bytes).toString('utf8');
};

const cut = (text: string, mark: string): readonly [string, string | undefined] => {
  const at = text.indexOf(mark);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + mark.length)];
};

const isPort = (text: string): boolean => /^(?::[0-9]*)?$/.test(text);

const parseBracketed = (host: string): string => {
  const close = host.lastIndexOf(']');
  if (close === -1) throw new UrlError('a ] is missing in the host');
  const port = host.slice(close + 1);
  if (!isPort(port)) throw new UrlError(`${port} is not a port`);
  const [address, zone] = cut(host.slice(1, close), '%25');
  const name = unescape(address, 'host') + (zone === undefined ? '' : unescape(`%25${zone}`, 'zone'));
  // Only an IPv6 address may be in brackets; after a % there must be a zone.
  if (!isIPv6(name.split('%')[0] ?? '') || name.endsWith('%'))
    throw new UrlError(`[${name}] is not an address`);
  return `[${name}]${port}`;
};

const parseHost = (host: string): string => {
  const open = host.lastIndexOf('[');
  if (open > 0) throw new UrlError('a [ stands inside the host');
  if (open === 0) return parseBracketed(host);
  // Several colons are accepted, as in every module whose go.mod names a Go version before 1.26.
  const colon = host.lastIndexOf(':');
  const port = colon === -1 ? '' : host.slice(colon);
  if (!isPort(port)) throw new UrlError(`${port} is not a port`);
  return unescape(host, 'host');
};

const parseUser = (text: string): UserInfo => {
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(text)) throw new UrlError('the user has a wrong character');
  const [name, password] = cut(text, ':');
  return {
    name: unescape(name, 'user'),
    password: password === undefined ? undefined : unescape(password, 'user'),
  };
};

const schemeOf = (text: string): readonly [string, string] => {
  if (text.startsWith(':')) throw new UrlError('the scheme is missing');
  const scheme = /^[A-Za-z][A-Za-z0-9+\-.]*:/.exec(text)?.[0];
  return scheme === undefined ? ['', text] : [scheme.slice(0, -1).toLowerCase(), text.slice(scheme.length)];
};

/** @throws UrlError */
export const parseUrl = (text: string): GoUrl => {
  const [body, rawFragment] = cut(text, '#');
  // oxlint-disable-next-line no-control-regex
  if (/[\x00-\x1f\x7f]/.test(body)) throw new UrlError('the URL has a control character');
  const fragment = unescape(rawFragment ?? '', 'fragment');
  const none = { scheme: '', opaque: '', user: undefined, host: '', query: '', fragment };
  if (body === '*') return { ...none, path: '*' };
  const [scheme, behind] = schemeOf(body);
  const [rest, query = ''] = cut(behind, '?');
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { ...none, scheme, query, opaque: rest, path: '' };
    if (cut(rest, '/')[0].includes(':')) throw new UrlError('the first part of a relative path has a colon');
  }
  const hasHost = rest.startsWith('//') && (scheme !== '' || !rest.startsWith('///'));
  if (!hasHost) return { ...none, scheme, query, path: unescape(rest, 'path') };
  const slash = rest.indexOf('/', 2);
  const authority = slash === -1 ? rest.slice(2) : rest.slice(2, slash);
  const at = authority.lastIndexOf('@');
  const host = parseHost(authority.slice(at + 1));
  return {
    ...none,
    scheme,
    query,
    host,
    user: at === -1 ? undefined : parseUser(authority.slice(0, at)),
    path: unescape(slash === -1 ? '' : rest.slice(slash), 'path'),
  };
};

export const userText = (user: UserInfo | undefined): string => {
  if (!user) return '';
  const password = user.password === undefined ? '' : `:${escapeBytes(user.password, 'user')}`;
  return escapeBytes(user.name, 'user') + password;
};

export const hostName = (host: string): string => {
  const name = host.replace(/:[0-9]*$/, '');
  return name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name;
};

const authorityText = ({ scheme, host, user, path }: GoUrl): string => {
  const slashes = scheme !== '' || host !== '' || user ? host !== '' || path !== '' || user : false;
  return `${slashes ? '//' : ''}${user ? `${userText(user)}@` : ''}${escapeBytes(host, 'host')}`;
};

export const urlText = (url: GoUrl): string => {
  const { scheme, opaque, host, query, fragment } = url;
  let out = scheme === '' ? '' : `${scheme}:`;
  if (opaque !== '') {
    out += opaque;
  } else {
    out += authorityText(url);
    const path = url.path === '*' ? '*' : escapeBytes(url.path, 'path');
    if (path !== '' && !path.startsWith('/') && host !== '') out += '/';
    // Otherwise the part before the colon would be read as a scheme.
    if (out === '' && cut(path, '/')[0].includes(':')) out += './';
    out += path;
  }
  return `${out}${query && `?${query}`}${fragment && `#${escapeBytes(fragment, 'fragment')}`}`;
};
