import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { fail, type Run } from '../../run.ts';
import { trimWhile } from '../../../model/go/trim.ts';
import { codePoints } from '../../../model/go/utf8.ts';
import { type FunctionTable, fixed } from './template-function.ts';

/** sprig's encodings, checksums and path functions. */

const sum = (algorithm: 'sha1' | 'sha256' | 'sha512') =>
  fixed(['string'], (_run, text) => createHash(algorithm).update(text).digest('hex'));

const adler32 = (text: string): number => {
  let a = 1;
  let b = 0;
  for (const byte of Buffer.from(text)) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b * 65536 + a;
};

const decodeText = (run: Run, bytes: Uint8Array, name: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return fail(run, `${name} returns bytes that are not UTF-8`);
  }
};

const decodeBase64 = (run: Run, text: string): string => {
  const compact = text.replace(/[\r\n]/g, '');
  const valid = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact);
  if (!valid) return fail(run, 'b64dec was given a text that is not base64');
  return decodeText(run, Buffer.from(compact, 'base64'), 'b64dec');
};

const BASE_32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

const encodeBase32 = (text: string): string => {
  const bits = [...Buffer.from(text)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const letters = (bits.match(/.{1,5}/g) ?? []).map(
    (five) => BASE_32[Number.parseInt(five.padEnd(5, '0'), 2)],
  );
  return letters.join('').padEnd(Math.ceil(letters.length / 8) * 8, '=');
};

const decodeBase32 = (run: Run, text: string): string => {
  const compact = text.replace(/[\r\n]/g, '');
  const letters = trimWhile(compact, (character) => character === '=', false);
  const valid =
    compact.length % 8 === 0 && /^[A-Z2-7]*$/.test(letters) && [0, 2, 4, 5, 7].includes(letters.length % 8);
  if (!valid) return fail(run, 'b32dec was given a text that is not base32');
  const bits = codePoints(letters)
    .map((letter) => BASE_32.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  const bytes = (bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2));
  return decodeText(run, Uint8Array.from(bytes), 'b32dec');
};

/** Go's path.Clean, which removes a trailing slash. */
const clean = (path: string): string => {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
};

const base = (path: string): string => {
  if (path === '') return '.';
  const bare = trimWhile(path, (character) => character === '/', false);
  return bare === '' ? '/' : bare.slice(bare.lastIndexOf('/') + 1);
};

const extension = (path: string): string => /\.[^./]*$/.exec(path)?.[0] ?? '';

const PATHS: FunctionTable = {
  base: fixed(['string'], (_run, path) => base(path)),
  dir: fixed(['string'], (_run, path) => clean(path.slice(0, path.lastIndexOf('/') + 1))),
  clean: fixed(['string'], (_run, path) => clean(path)),
  ext: fixed(['string'], (_run, path) => extension(path)),
  isAbs: fixed(['string'], (_run, path) => path.startsWith('/')),
};

/** sprig's `osBase` etc. depend on the operating system; here it is always Unix. */
const OS_PATHS: FunctionTable = Object.fromEntries(
  Object.entries(PATHS).map(([name, fn]) => [`os${name.slice(0, 1).toUpperCase()}${name.slice(1)}`, fn]),
);

export const ENCODING: FunctionTable = {
  ...PATHS,
  ...OS_PATHS,
  b64enc: fixed(['string'], (_run, text) => Buffer.from(text).toString('base64')),
  b64dec: fixed(['string'], decodeBase64),
  b32enc: fixed(['string'], (_run, text) => encodeBase32(text)),
  b32dec: fixed(['string'], decodeBase32),
  sha1sum: sum('sha1'),
  sha256sum: sum('sha256'),
  sha512sum: sum('sha512'),
  adler32sum: fixed(['string'], (_run, text) => String(adler32(text))),
};
