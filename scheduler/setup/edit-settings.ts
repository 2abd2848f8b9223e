import { isDeepStrictEqual } from 'node:util';
import { parseDocument, stringify } from 'yaml';
import type { SchedulerConfig } from '#bundles/schemas/types/scheduler-config';
import { editDocuments } from '../author/yaml/edit-document.ts';
import { setValue } from '../author/yaml/set-value.ts';

const HEAD = '# Configuration of fleet-scheduler. Paths are relative to this file.\n';

/** The settings of a configuration file without mistakes. */
export const settingsOf = (text: string): SchedulerConfig =>
  (parseDocument(text).toJS({ maxAliasCount: 100 }) as SchedulerConfig | null) ?? {};

/** The names at the top of the file whose values differ. */
export const changedSettings = (
  before: SchedulerConfig,
  after: SchedulerConfig,
): readonly (keyof SchedulerConfig)[] =>
  ([...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof SchedulerConfig)[]).filter(
    (name) => !isDeepStrictEqual(before[name], after[name]),
  );

/** The text of the configuration with these settings. Comments, order and lines of settings that do not change stay. */
export const editSettings = (text: string, after: SchedulerConfig): string => {
  const before = settingsOf(text);
  const changed = changedSettings(before, after);
  if (changed.length === 0) return text;
  if (parseDocument(text).contents === null) return `${headOf(text)}${stringify(after)}`;
  return editDocuments(text, ([document]) => {
    for (const name of changed) if (document) setValue(document, [name], after[name]);
  });
};

/** The comments of a file that has nothing else. */
const headOf = (text: string): string => {
  if (text.trim() === '') return HEAD;
  return text.endsWith('\n') ? text : `${text}\n`;
};
