import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { programFile } from '../../../harness/run/program-file.ts';

const PROGRAMS = {
  'fleet-scheduler': programFile('scheduler'),
  'fleet-export': programFile('exporter'),
  'fleet-agent': programFile('agent'),
};

/** Makes a folder for PATH with the three programs under the names that people type. */
export const writePrograms = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true });
  for (const [name, program] of Object.entries(PROGRAMS)) {
    const file = join(folder, name);
    await writeFile(file, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
    await chmod(file, 0o755);
  }
};
