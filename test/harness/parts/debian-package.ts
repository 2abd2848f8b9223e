import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { runOrFail } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import { formatAptSource, readAptSource } from './apt-source.ts';
import type { Machine } from './part.ts';

/**
 * Unpacks Debian packages of any suite into `target` and returns the version of the first. apt works on lists of its own, so
 * nothing is installed, the machine's own lists stay as they are, and root is not needed; apt still checks signatures.
 */
export const unpackDebianPackages = async (
  names: readonly [string, ...string[]],
  suite: string,
  target: string,
  machine: Machine,
): Promise<string> => {
  const { signal } = machine;
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
      { cwd: join(work.path, 'deb'), signal },
    );
  await apt('update', '--error-on=any');
  await apt('download', ...names);
  const files = await readdir(join(work.path, 'deb'));
  for (const file of files)
    await runOrFail(['dpkg-deb', '--extract', join(work.path, 'deb', file), target], { signal });
  const first = files.find((file) => file.startsWith(`${names[0]}_`));
  if (first === undefined)
    throw new FleetError('TOOL_MISSING', `Debian ${suite} has no package '${names[0]}'.`);
  return decodeURIComponent(first.split('_')[1] ?? 'unknown').replaceAll(':', '-');
};

/** As unpackDebianPackages. */
export const unpackDebianPackage = (
  name: string,
  suite: string,
  target: string,
  machine: Machine,
): Promise<string> => unpackDebianPackages([name], suite, target, machine);
