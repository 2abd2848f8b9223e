import { glob, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPrograms } from '../test/harness/run/build-programs.ts';
import { bundleAgent } from '../test/harness/run/bundle-agent.ts';
import { programFile, PROGRAMS_VARIABLE } from '../test/harness/run/program-file.ts';

const REPOSITORY = join(import.meta.dirname, '..');

/** In tests the programs that were built for all of them. */
const GIVEN = process.env[PROGRAMS_VARIABLE];

const FOLDER = GIVEN || join(REPOSITORY, 'dist');

const file = (program: Parameters<typeof programFile>[0]): string =>
  programFile(program, { [PROGRAMS_VARIABLE]: FOLDER });

/** First file of each program as it is installed. A start takes a third of what a start from source takes. */
export const PROGRAMS = {
  'fleet-scheduler': file('scheduler'),
  'fleet-export': file('exporter'),
  'fleet-agent': file('agent'),
} as const;

export type ProgramName = keyof typeof PROGRAMS;

/** Written after a complete build. */
const STAMP = join(FOLDER, 'quickstart.stamp');

/** What the builds read. */
const SOURCES = [
  'package-lock.json',
  'rolldown*.ts',
  '{agent,bundles,bundling,cli,docs,exporter,scheduler}/**',
];

/** Makes what `npm run build` and `npm run bundle:agent` make, unless it is newer than all that it is made of. */
export const updatePrograms = async (say: (text: string) => void): Promise<void> => {
  if (GIVEN || !(await isOutdated())) return;
  say(
    'Building the programs as they are installed, into dist: a few seconds, and only when the source changed.',
  );
  await rm(STAMP, { force: true });
  await Promise.all([buildPrograms(FOLDER), bundleAgent(join(FOLDER, 'agent'))]);
  await writeFile(STAMP, '');
};

const isOutdated = async (): Promise<boolean> => {
  const built = await stat(STAMP).catch(() => undefined);
  if (built === undefined) return true;
  // A folder is newer than the build when a file in it was added or removed.
  for await (const path of glob(SOURCES, { cwd: REPOSITORY })) {
    if ((await stat(join(REPOSITORY, path))).mtimeMs > built.mtimeMs) return true;
  }
  return false;
};
