import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../parts/part.ts';
import { findPart, type PartName, partTitle, versionOf } from '../parts.ts';
import type { VitestReport } from './count-results.ts';
import { LONG } from './long.ts';
import { recordParts, type RunRecord } from './record-parts.ts';

/** In the cache: what the last whole run ran against. */
export const RUN_RECORD = 'last-run.json';

/** Title and version of parts that this machine has, for recordParts. */
export const describeParts = async (
  names: readonly PartName[],
  machine: Machine,
): Promise<(part: string) => { readonly title: string; readonly version: string }> => {
  const known = new Map<string, { readonly title: string; readonly version: string }>();
  for (const name of names) {
    const found = findPart(name, machine);
    if (!found.present) continue;
    known.set(name, { title: partTitle(name), version: await versionOf(name, found.path, machine) });
  }
  return (part) => known.get(part) ?? { title: part, version: 'not known' };
};

export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

/** Writes the record of a whole run. @returns its file */
export const recordRun = async (
  report: VitestReport,
  names: readonly PartName[],
  machine: Machine,
): Promise<string> => {
  const record: RunRecord = {
    date: dayOf(new Date()),
    run: LONG ? 'npm run test:long' : 'npm test',
    parts: recordParts(report, await describeParts(names, machine)),
  };
  const file = join(machine.cache, RUN_RECORD);
  await mkdir(machine.cache, { recursive: true });
  await writeFile(file, `${JSON.stringify(record, null, 2)}\n`);
  return file;
};
