import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { runOrFail } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import { formatAptSource, readAptSource } from './apt-source.ts';
import type { Machine } from './part.ts';

/**
 * Unpacks a Debian package of any suite into `target` and returns its version. apt works on lists of its own, so
 * nothing is installed, the machine's own lists stay as they are, and root is not needed; apt still checks signatures.
 */
export const unpackDebianPackage = async (
  name: string,
  suite: string,
  target: string,
  machine: Machine,
): Promise<string> => {
  const source = readAptSource();
  await using work = await temporaryDirectory('apt');
  await Promise.all(
    ['etc', 'lists/partial', 'cache/archives/partial', 'deb'].map((folder) =>
      mkdir(join(work.path, folder), { recursive: true }),
    ),
  );
  await writeFile(join(work.path, 'etc/one.sources'), formatAptSource(source, suite));
  const apt = (...words: readonly string[]) =>
    runOrFail(
      [
        'apt-get',
        '--quiet',
        '--option=Dir::Etc::sourcelist=/dev/null',
        `--option=Dir::Etc::sourceparts=${work.path}/etc`,
        `--option=Dir::State::Lists=${work.path}/lists`,
        `--option=Dir::Cache=${work.path}/cache`,
        '--option=APT::Sandbox::User=root',
        '--option=Acquire::Languages=none',
        ...words,
      ],
      { cwd: join(work.path, 'deb'), signal: machine.signal },
    );
  await apt('update', '--error-on=any');
  await apt('download', name);
  const [file] = await readdir(join(work.path, 'deb'));
  if (file === undefined) throw new FleetError('TOOL_MISSING', `Debian ${suite} has no package '${name}'.`);
  await runOrFail(['dpkg-deb', '--extract', join(work.path, 'deb', file), target], {
    signal: machine.signal,
  });
  const version = file.split('_')[1] ?? 'unknown';
  return decodeURIComponent(version).replaceAll(':', '-');
};
