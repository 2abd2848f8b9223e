import { isIP } from 'node:net';
import type { Format } from 'ajv';
import { compileLinear } from '#bundles/json/pattern/linear';
import { PatternError } from '#bundles/json/pattern/pattern-error';
import { type GoUrl, parseUrl, UrlError } from '../../../model/go/go-url.ts';
import { parseTime } from '../../../model/go/time/parse-time.ts';
import { isMailAddress } from './mail-address.ts';

/** The formats of gojsonschema 1.2.0 (its format_checkers.go), with its verdicts. Others are annotations. */

const hasLayout =
  (...layouts: readonly string[]) =>
  (text: string): boolean =>
    layouts.some((layout) => parseTime(layout, text) !== undefined);

const url = (text: string): GoUrl | undefined => {
  if (text.includes('\\')) return undefined;
  try {
    return parseUrl(text);
  } catch (error) {
    if (error instanceof UrlError) return undefined;
    throw error;
  }
};

/** As Go's net.ParseIP: no zone. */
const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%');

const isPattern = (text: string): boolean => {
  try {
    compileLinear(text);
    return true;
  } catch (error) {
    if (error instanceof PatternError) return false;
    throw error;
  }
};

const TIMES = ['15:04:05', '15:04:05Z07:00'];
const LABEL = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9])';
const HOSTNAME = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const isUri = (text: string): boolean => (url(text)?.scheme ?? '') !== '';
const isUriReference = (text: string): boolean => url(text) !== undefined;

const CHECKS: Readonly<Record<string, (text: string) => boolean>> = {
  date: hasLayout('2006-01-02'),
  time: hasLayout(...TIMES),
  'date-time': hasLayout(...TIMES, '2006-01-02', '2006-01-02T15:04:05Z07:00'),
  hostname: (text) => text.length < 256 && HOSTNAME.test(text),
  email: isMailAddress,
  'idn-email': isMailAddress,
  ipv4: (text) => text.includes('.') && isAddress(text),
  ipv6: (text) => text.includes(':') && isAddress(text),
  uri: isUri,
  iri: isUri,
  'uri-reference': isUriReference,
  'iri-reference': isUriReference,
  // Each `{` of the path has its `}`.
  'uri-template': (text) => {
    const path = url(text)?.path;
    return path !== undefined && path.lastIndexOf('{') <= path.lastIndexOf('}');
  },
  uuid: (text) => /^[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}$/.test(text),
  regex: isPattern,
  'json-pointer': (text) => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text),
  'relative-json-pointer': (text) => /^(?:0|[1-9][0-9]*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/.test(text),
};

/** Returns the name of the format for numbers: gojsonschema fails each number that has a known format. Undefined for annotations. */
export const numberFormat = (name: string): string | undefined =>
  Object.hasOwn(CHECKS, name) ? `${name} of text` : undefined;

export const GOJSONSCHEMA_FORMATS: Readonly<Record<string, Format>> = Object.fromEntries(
  Object.entries(CHECKS).flatMap(([name, check]): [string, Format][] => [
    [name, check],
    [`${name} of text`, { type: 'number', validate: () => false }],
  ]),
);
