/**
 * `npm run bench import-medium`: an agent takes in a medium of one large bundle, as a folder and as a tar: every signature, digest
 * and size checked, every blob synced to disk, all of it accepted, nothing applied. Beside it, in turn in the same run, sha256sum and
 * cp of the same bytes. FLEET_BENCH_MB (256,512,1024), FLEET_BENCH_ROUNDS (5).
 */
import { cp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../bundles/errors.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { type Measured, measure, median, medianOf } from './measure.ts';
import { figure, formatTable } from './table.ts';

const ROUNDS = Number(process.env['FLEET_BENCH_ROUNDS'] ?? 5);
const SIZES = (process.env['FLEET_BENCH_MB'] ?? '256,512,1024').split(',').map(Number);
const SCRIPTS = join(import.meta.dirname, 'import-medium');

const rows: string[][] = [];
for (const megabytes of SIZES) {
  await using folder = await temporaryDirectory('bench-import');
  process.stdout.write(`Making media of ${megabytes} MB ...\n`);
  await measure([process.execPath, join(SCRIPTS, 'make-media.ts'), folder.path, String(megabytes)]);
  for (const medium of ['medium', 'medium.tar']) {
    const [from, to] = [join(folder.path, medium), join(folder.path, 'copy')];
    const work = join(folder.path, 'work');
    const sums = `find '${from}' -type f -exec sha256sum {} + > /dev/null && cp -r '${from}' '${to}'`;
    const commands: Readonly<Record<string, readonly string[]>> = {
      import: [process.execPath, join(SCRIPTS, 'import-once.ts'), work, from],
      'sha256sum, cp': ['sh', '-ec', sums],
      'sha256sum, cp, sync': ['sh', '-ec', `${sums} && find '${to}' -type f -exec sync {} +`],
    };
    const runs = new Map<string, Measured[]>(Object.keys(commands).map((name) => [name, []]));
    // The first round only warms the cache of files.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [name, argv] of Object.entries(commands)) {
        await Promise.all([work, to].map((path) => rm(path, { recursive: true, force: true })));
        await cp(join(folder.path, 'state'), join(work, 'state'), { recursive: true });
        const run = await measure(argv);
        if (name === 'import' && Number(run.stdout) < megabytes * 1_000_000)
          throw new FleetError('IO', `an import of ${megabytes} MB stored ${run.stdout} bytes`);
        if (round > 0) runs.get(name)?.push(run);
      }
    }
    const plain = runs.get('sha256sum, cp') ?? [];
    const form = (await stat(from)).isDirectory() ? 'folder' : 'tar';
    for (const [name, list] of runs) {
      const { wallSeconds, cpuSeconds, peakMiB } = medianOf(list);
      const ratio = median(
        list.map((run, round) => run.wallSeconds / (plain[round]?.wallSeconds ?? Number.NaN)),
      );
      rows.push([
        String(megabytes),
        form,
        name,
        figure(wallSeconds),
        figure(ratio),
        figure(cpuSeconds),
        name === 'import' ? figure(peakMiB) : '-',
      ]);
    }
  }
}

process.stdout.write(
  `\nImport of a medium, median of ${ROUNDS} rounds; x = wall against sha256sum and cp, round by round.\n\n`,
);
process.stdout.write(`${formatTable(['MB', 'form', 'what', 'wall s', 'x', 'cpu s', 'peak MiB'], rows)}\n`);
