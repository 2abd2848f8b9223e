import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { findReports } from '#bundles/trust/reports/find-reports';
import { findSupport } from '#bundles/trust/reports/find-support';
import { MAX_REPORT_BYTES } from '#bundles/trust/reports/report';

export type Copied = { readonly folder: string; readonly files: number; readonly there: number };

/**
 * Copies reports and support bundles unchanged, with their paths on the medium, so that the folder can be mailed, sent over a data diode, and imported like a
 * medium. Identical files are kept; if a file differs, nothing is written.
 * @throws FleetError USAGE for a file of the same name and other bytes, DISK_FULL, PERMISSION
 */
export const copyReports = async (medium: OpenMedium, folder: string): Promise<Copied> => {
  const reports = (await findReports(medium)).flatMap(({ path, endings }) =>
    [...endings].map((ending) => `${path}.${ending}`),
  );
  const paths = [...reports, ...(await findSupport(medium)).map(({ path }) => path)];
  const lacking: string[] = [];
  for (const path of paths) {
    const there = await readIfPresent(join(folder, path));
    if (there === undefined) lacking.push(path);
    else if (!there.equals(await medium.readFile(path, MAX_REPORT_BYTES))) {
      throw new FleetError('USAGE', `${join(folder, path)} exists and is another report`, {
        hint: 'Nothing was copied; give another folder',
      });
    }
  }
  for (const path of lacking) {
    const bytes = await medium.readFile(path, MAX_REPORT_BYTES);
    await writeFileAtomically(join(folder, path), bytes).catch((error: unknown) => {
      throw toFleetError(error, `writing to ${folder}`);
    });
  }
  return { folder, files: lacking.length, there: paths.length - lacking.length };
};

const readIfPresent = async (file: string): Promise<Buffer | undefined> => {
  try {
    return await readFile(file);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw toFleetError(error, `reading ${file}`);
  }
};
