import type { Format } from 'ajv';
import { fullFormats } from 'ajv-formats/dist/formats.js';

/** Formats of JSON Schema (2020-12, section 7.3) that are judged. Others are annotations. */
const NAMES = [
  'date',
  'time',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uri',
  'uri-reference',
  'uri-template',
  'uuid',
  'json-pointer',
  'relative-json-pointer',
  'regex',
] as const;

/** Formats by JSON Schema's own rules. */
export const FORMATS: Readonly<Record<string, Format>> = Object.fromEntries(
  NAMES.map((name) => [name, fullFormats[name]]),
);
