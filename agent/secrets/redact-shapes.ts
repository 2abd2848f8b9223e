import { PLACEHOLDER } from './redact.ts';

/** Words that end the name of a secret value: 'DB_PASSWORD', 'api-key', 'clientSecret'. */
const SECRET_WORDS =
  'pass(?:word|wd|phrase|code)?|pwd|secrets?|tokens?|api[-_.]?key|access[-_.]?key|private[-_.]?key|(?:secret|encryption|signing|auth|master)[-_.]?key|credentials?|session[-_.]?id|cookie|\\bpsk|\\bpin';

/** Whether a variable or option of this name holds a secret. */
export const namesSecret = (name: string): boolean => SECRET_NAME.test(name);

const SECRET_NAME = new RegExp(String.raw`(?:${SECRET_WORDS})$`, 'i');

/** A value in quotes, which JSON inside of JSON escapes, or one up to the next separator. */
const VALUE = String.raw`(?:(?<quote>\\*["'])(?:(?!\k<quote>)[^\n])*(?:\k<quote>|(?=\n|$))|[^\s,;&"'\\][^\s,;&"']*)`;

type Shape = readonly [pattern: RegExp, replacement: string];

/**
 * Texts that are secrets by their form, no matter which program wrote them. The first group names the secret and stays. Every repetition that can begin at
 * many places has an upper bound, so that no text takes more than linear time.
 */
const SHAPES: readonly Shape[] = [
  [/AGE-SECRET-KEY-[0-9A-Z-]+/gi, PLACEHOLDER],
  [/\beyJ[\w-]{8,512}\.[\w-]{8,}(?:\.[\w-]*)?/g, PLACEHOLDER],
  [/\bff[erdbf]_[\w-]{20,}/g, PLACEHOLDER],
  [
    /\b(?:gh[pousr]_|github_pat_|glpat-|gldt-|xox[abeprs]-|npm_|dckr_pat_|hvs\.|sk-|sk_live_|rk_live_|AIza)[\w.-]{16,}/g,
    PLACEHOLDER,
  ],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, PLACEHOLDER],
  // user:password@ of a URL, and a token in the place of the user.
  [/(:\/\/[^\s/:@"']{0,128}:)[^\s"']{1,256}(?=@)/g, `$1${PLACEHOLDER}`],
  [/(:\/\/)[^\s/:@"']{16,512}(?=@)/g, `$1${PLACEHOLDER}`],
  [/\b((?:bearer|token)\s{1,8})(?=\S{0,512}[\d=])[\w.~+/=-]{8,}/gi, `$1${PLACEHOLDER}`],
  [/\b(basic\s{1,8})(?=\S{0,512}[\dA-Z=])[A-Za-z0-9+/]{8,}={0,2}/gi, `$1${PLACEHOLDER}`],
  [/(authorization\b\\*["']?\s{0,8}[:=]\s{0,8})[^\n]+/gi, `$1${PLACEHOLDER}`],
  // NAME=value, "name": "value", name: value.
  [
    new RegExp(String.raw`((?:${SECRET_WORDS})\\*["']?\s{0,8}(?:=>|=|:)\s{0,8})${VALUE}`, 'gi'),
    `$1${PLACEHOLDER}`,
  ],
  // --password value, password is value.
  [
    new RegExp(
      String.raw`((?:--?[\w-]{0,32}(?:${SECRET_WORDS})|\bpass(?:word|phrase) (?:is|was))\s{1,8})(?!-)${VALUE}`,
      'gi',
    ),
    `$1${PLACEHOLDER}`,
  ],
  // Lines of keys and long tokens; a digest in hexadecimal stays.
  [/(?<![\w+/=-])(?=[\w+/-]*[A-Z])(?=[\w+/-]*[a-z])(?=[\w+/-]*\d)[\w+/-]{60,}={0,2}/g, PLACEHOLDER],
];

/** A block without an end goes to the end of the text. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----|$(?![\s\S]))/g;

/** Replaces what is a secret by its form: private keys, tokens, passwords in URLs and after names such as `password=`. */
export const redactShapes = (text: string): string =>
  SHAPES.reduce(
    (shown, [pattern, replacement]) => shown.replaceAll(pattern, replacement),
    text.replaceAll(PRIVATE_KEY, PLACEHOLDER),
  );
