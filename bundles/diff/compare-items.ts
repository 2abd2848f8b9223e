import { isDeepStrictEqual } from 'node:util';
import { structuredPatch } from 'diff';
import { stringify } from 'yaml';
import { compareBytes } from '../digest.ts';
import { maskSecrets } from './mask-secrets.ts';
import type { Item, KubernetesObject } from './read-items.ts';

/** What becomes of one object, or of one file that holds none. */
export type ItemDiff = {
  /** 'Deployment.apps shop/web', 'platform-config.sh' */
  readonly object: string;
  readonly file: string;
  readonly outcome: 'created' | 'configured' | 'deleted';
  /** Hunks of a unified diff, without a head. */
  readonly diff: string;
};

/** Lines that may differ until the shortest way from one text to the other is not looked for any more. */
const MAX_EDITS = 1_000;
const CONTEXT = 3;

/** @returns undefined where there is no difference */
export const compareItems = (before: Item | undefined, after: Item | undefined): ItemDiff | undefined => {
  const item = after ?? before;
  if (!item || (before && after && isSame(before, after))) return undefined;
  const [left, right] = maskSecrets(before?.object, after?.object);
  const outcome = before ? (after ? 'configured' : 'deleted') : 'created';
  const diff = unified(textOf(before, left), textOf(after, right));
  return { object: item.key, file: item.file, outcome, diff };
};

const isSame = (before: Item, after: Item): boolean =>
  before.object && after.object
    ? isDeepStrictEqual(before.object, after.object)
    : before.text === after.text && before.object === after.object;

const textOf = (item: Item | undefined, object: KubernetesObject | undefined): string => {
  if (!item) return '';
  if (object) return canonical(object);
  // A Secret that is no YAML is still one.
  return /^\s*["']?kind["']?:\s*["']?Secret\b/m.test(item.text)
    ? 'a Secret that cannot be read: not shown\n'
    : item.text;
};

const FIRST = ['apiVersion', 'kind', 'metadata', 'name'];

/** One order of keys, so that only what means something else differs; what names an object comes first. */
const canonical = (object: KubernetesObject): string =>
  stringify(object, {
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
