import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { structuredPatch } from 'diff';
import { stringify } from 'yaml';
import { HOST_PACKAGE } from '../bundle/host-package.ts';
import { compareBytes } from '../../digest.ts';
import { isRecord } from '../../is-record.ts';
import { namesSecretValue } from '../author-schema/names-secret-value.ts';
import { asConfigMap, holdsSecret, maskSecrets, namesSecretInText, PLATFORM_CONFIG } from './mask-secrets.ts';
import type { Item } from './read-items.ts';
import { mayHoldSecret, parseText } from './read-text.ts';

/** Change of one object, or of one file without objects. */
export type ItemDiff = {
  /** 'Deployment.apps shop/web', 'platform-config.sh' */
  readonly object: string;
  readonly file: string;
  readonly outcome: 'created' | 'configured' | 'deleted';
  /** Hunks of a unified diff, without a head. */
  readonly diff: string;
};

/** Limit of differing lines; above it the diff is not computed. */
const MAX_EDITS = 1_000;
const CONTEXT = 3;

/** @returns undefined when the items are equal */
export const compareItems = (before: Item | undefined, after: Item | undefined): ItemDiff | undefined => {
  const item = after ?? before;
  if (!item || (before && after && isSameItem(before, after))) return undefined;
  const diff = unified(...textsOf(before, after));
  return { object: item.key, file: item.file, outcome: outcomeOf(before, after), diff };
};

const isSameItem = (before: Item, after: Item): boolean =>
  before.object && after.object
    ? isDeepStrictEqual(before.object, after.object)
    : before.text === after.text && before.object === after.object;

/** Texts to show: objects, host packages and text with a Secret as masked YAML; other text as it is, or a note that it is not shown. */
const textsOf = (before: Item | undefined, after: Item | undefined): readonly [string, string] => {
  const [left, right] = [contentOf(before), contentOf(after)];
  const masked = maskSecrets(left.values, right.values);
  const texts = [textOf(left, masked[0]), textOf(right, masked[1])] as const;
  return texts[0] === texts[1]
    ? [`${texts[0].trimEnd()} (before)\n`, `${texts[1].trimEnd()} (after)\n`]
    : texts;
};

type Content = {
  /** One for each document; undefined for text that is not or cannot be parsed. */
  readonly values: readonly unknown[] | undefined;
  /** Text to show instead of `values`. */
  readonly text: string | undefined;
  /** The values are of the platform's configuration, masked as a ConfigMap with them. */
  readonly isConfig?: boolean;
};

const contentOf = (item: Item | undefined): Content => {
  if (!item) return { values: undefined, text: '' };
  if (item.object) return { values: [item.object], text: undefined };
  if (item.unshown !== undefined) return { values: undefined, text: `${item.unshown}: not shown\n` };
  const { name, ext } = posix.parse(item.file);
  if (name === PLATFORM_CONFIG) return contentOfConfig(item.text, ext);
  // One line of JSON: only its fields can be compared.
  const isHostPackage = item.file === HOST_PACKAGE;
  if (!isHostPackage && !mayHoldSecret(item.text)) return { values: undefined, text: item.text };
  const values = parseText(item.text);
  if (!values) return { values, text: 'it may hold a Secret and cannot be read: not shown\n' };
  return isHostPackage || holdsSecret(values)
    ? { values, text: undefined }
    : { values: undefined, text: item.text };
};

/** The platform's configuration as a file of a host, without Secrets and without the text of values whose names are those of secrets. */
const contentOfConfig = (text: string, extension: string): Content => {
  const values = parseText(text);
  if (values?.every((one) => typeof one === 'object')) {
    const maps = values.map(asConfigMap);
    if (values.some((one) => isRecord(one) && typeof one['kind'] === 'string'))
      return holdsSecret(maps) || holdsSecret(values) ? UNSHOWN_CONFIG : { values: undefined, text };
    return holdsSecret(maps)
      ? { values: maps, text: undefined, isConfig: true }
      : { values: undefined, text };
  }
  const isCutOff = STRUCTURED.has(extension) && namesSecretInText(text);
  if (isCutOff || mayHoldSecret(text)) return UNSHOWN_CONFIG;
  const lines = text.split('\n').map(lineOf);
  if (
    lines.some(({ value = '', isPart }) => !ENDS_ON_ITS_LINE.test(value) || (isPart && ENDS_OPEN.test(value)))
  )
    return UNSHOWN_CONFIG;
  const shown = lines.map(({ start, value }) => (value === undefined ? start : `${start}***`));
  return { values: undefined, text: shown.join('\n') };
};

const STRUCTURED: ReadonlySet<string> = new Set(['.yaml', '.yml', '.json']);

/** A line of an env file or a shell script. */
type Line = {
  /** The part that is shown. */
  readonly start: string;
  /** The secret value after that, if there is one. */
  readonly value?: string;
  /** A part of the value has the name of a secret, and not the variable. */
  readonly isPart: boolean;
};

const lineOf = (line: string): Line => {
  const [, start = '', name = ''] = /^(\s*(?:export\s+)?([\w.-]+)\s*[=:]\s*)/.exec(line) ?? [];
  const value = line.slice(start.length);
  const isPart = !namesSecretValue(name);
  return isPart && !namesSecretInText(value) ? { start: line, isPart } : { start, value, isPart };
};

/** The value of the last name in it is on the next line. */
const ENDS_OPEN = /[=:]\s*$/;

const UNSHOWN_CONFIG: Content = {
  values: undefined,
  text: 'it has values that may be secrets: not shown\n',
};

/** A value of an env file or a shell script whose quotes are all closed, so that it has no more lines. */
const ENDS_ON_ITS_LINE = /^(?:[^"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')*$/;

const textOf = ({ text, isConfig }: Content, values: readonly unknown[] | undefined): string =>
  text ??
  (values ?? [])
    .map((value) => canonical(isConfig === true && isRecord(value) ? value['data'] : value))
    .join('---\n');

const FIRST = ['apiVersion', 'kind', 'metadata', 'name'];

/** Sorted keys, so that only changes of meaning differ; the fields of FIRST come first. */
const canonical = (value: unknown): string =>
  stringify(value, {
    lineWidth: 0,
    aliasDuplicateObjects: false,
    sortMapEntries: (a, b) => {
      const [left, right] = [String(a.key), String(b.key)];
      const rank = (key: string): number => (FIRST.indexOf(key) + FIRST.length + 1) % (FIRST.length + 1);
      return rank(left) - rank(right) || compareBytes(left, right);
    },
  });

const unified = (before: string, after: string): string => {
  const patch = structuredPatch('', '', before, after, undefined, undefined, {
    context: CONTEXT,
    maxEditLength: MAX_EDITS,
  });
  if (!patch) return `@@ more than ${MAX_EDITS} lines differ @@\n`;
  return patch.hunks
    .map(({ oldStart, oldLines, newStart, newLines, lines }) =>
      [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines, ''].join('\n'),
    )
    .join('');
};

const outcomeOf = (before: unknown, after: unknown): ItemDiff['outcome'] => {
  if (!before) return 'created';
  return after ? 'configured' : 'deleted';
};
