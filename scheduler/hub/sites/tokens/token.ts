import type { TokenRow } from '../../store/tables.ts';

/** Token prefixes, by which people and secret scanners recognise them. */
const PREFIXES: Readonly<Record<TokenRow['scope'] | 'follower', string>> = {
  enroll: 'ffe_',
  reader: 'ffr_',
  follower: 'fff_',
  decide: 'ffd_',
  'break-glass': 'ffb_',
};

/** 192 bits. */
export const TOKEN_BYTES = 24;

/** @param random TOKEN_BYTES bytes of the operating system's randomness */
export const encodeToken = (scope: keyof typeof PREFIXES, random: Uint8Array): string =>
  `${PREFIXES[scope]}${Buffer.from(random).toString('base64url')}`;

const MAX_TOKEN = 128;

/** Whether a text has the form of a token. Anything else is rejected without a database query. */
export const isToken = (text: unknown): text is string =>
  typeof text === 'string' && text.length <= MAX_TOKEN && /^ff[erdb]_[A-Za-z0-9_-]{20,}$/.test(text);
