import type { SupportFile } from '#bundles/trust/reports/support';
import type { Redactor } from './redact-value.ts';

/** A part of a support bundle before it is redacted and bounded. */
export type Section = {
  /** Path in the bundle. */
  readonly path: string;
  /** Text, or a value that becomes JSON. Of a path in '.ndjson' the text is JSON by line. */
  readonly content: string | object;
  readonly maxBytes: number;
  /** The end of a longer text that stays. Default: its start. */
  readonly keep?: 'start' | 'end';
};

/** The whole bundle stays below the limit of its readers, with room for headers and the signature. */
const MAX_BYTES = 900 << 10;

/** Redacts each section, then cuts it: in this order, so that no cut leaves a part of a secret. What does not fit any more is left out and named. */
export const writeSections = (
  sections: readonly Section[],
  redactor: Redactor,
): { readonly files: readonly SupportFile[]; readonly leftOut: readonly string[] } => {
  const files: SupportFile[] = [];
  const leftOut: string[] = [];
  let left = MAX_BYTES;
  for (const section of sections) {
    const bytes = cut(Buffer.from(textOf(section, redactor)), Math.min(section.maxBytes, left), section.keep);
    // A file takes a header and padding, too.
    const takes = bytes.byteLength + 1024;
    if (takes > left) {
      leftOut.push(section.path);
      continue;
    }
    left -= takes;
    files.push({ path: section.path, bytes });
  }
  return { files, leftOut };
};

const textOf = ({ path, content }: Section, redactor: Redactor): string => {
  const json = (value: unknown, indent?: number): string =>
    `${JSON.stringify(redactor.value(value), undefined, indent)}\n`;
  if (typeof content !== 'string') return json(JSON.parse(JSON.stringify(content)), 1);
  if (!path.endsWith('.ndjson')) return redactor.text(content);
  const lines = content.split('\n').filter((line) => line !== '');
  return lines.map((line) => json(JSON.parse(line))).join('');
};

const CUT = Buffer.from('... cut here\n');

/** Whole lines of a text, at most `maxBytes`. */
const cut = (bytes: Buffer, maxBytes: number, keep: Section['keep'] = 'start'): Buffer => {
  if (bytes.byteLength <= maxBytes) return bytes;
  const room = Math.max(0, maxBytes - CUT.byteLength);
  if (keep === 'start') {
    const end = bytes.lastIndexOf('\n', room - 1);
    return Buffer.concat([bytes.subarray(0, end + 1), CUT]);
  }
  const from = bytes.indexOf('\n', bytes.byteLength - room);
  return Buffer.concat([CUT, from < 0 ? Buffer.alloc(0) : bytes.subarray(from + 1)]);
};
