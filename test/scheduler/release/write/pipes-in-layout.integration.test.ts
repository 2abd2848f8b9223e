import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { nextNumber } from '../../../../scheduler/release/write/number-floors.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const KIOSK = { environment: 'prod', clusterType: 'kiosk' };
const pipe = (path: string) => promisify(execFile)('mkfifo', [path]);

it('I10: a pipe in the place of a file of the layout: nobody waits for it', async () => {
  await using folder = await temporaryDirectory();
  await writeFile(join(folder.path, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await pipe(join(folder.path, 'fleet-scheduler-floors.json'));
  const next = nextNumber({ directory: folder.path }, 'releases', KIOSK, 7);
  await expect(next).rejects.toMatchObject({ code: 'MEDIUM_INVALID' });
  await pipe(join(folder.path, 'index.json'));
  await expect(openLayout(folder.path)).rejects.toMatchObject({ code: 'MEDIUM_INVALID' });
});
