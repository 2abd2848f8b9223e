import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Office } from '../office.ts';

/** What an agent keeps, and how a test changes and judges it. */
export type Field = {
  /** '<environment>/<clusterType>' */
  readonly channel: string;
  /** FLEET_AGENT_... of its agent. */
  readonly env: Readonly<Record<string, string>>;
  /** Changes the office's files so that the next build makes release n; a bad one is rolled back by its check. */
  readonly change: (n: number, good: boolean) => Promise<void>;
  /** Somebody changes something by hand. */
  readonly spoil: (random: () => number) => Promise<void>;
  /** All that is not as the newest change wants it, missing or too much; empty: as desired. */
  readonly faults: () => Promise<readonly string[]>;
};

/** Replaces a file of the office in one go: half of one would be a mistake that no build forgives. */
export const replaceFile = async (office: Office, file: string, text: string): Promise<void> => {
  const beside = join(office.folder, 'half-written');
  await writeFile(beside, text);
  await rename(beside, join(office.folder, file));
};

/** The same numbers for the same seed: mulberry32, which is enough for moments. */
export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Whole numbers from 0 to below a limit. */
export const below =
  (random: () => number) =>
  (limit: number): number =>
    Math.floor(random() * limit);
