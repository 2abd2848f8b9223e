import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Outcome, runOrFail } from '../run/run-command.ts';
import type { Machine } from './part.ts';

export type AptForRoot = {
  /** The root file system whose installed packages count. */
  readonly base: string;
  /** A folder for apt's own files; its sources are in `<at>/etc`. */
  readonly at: string;
  readonly machine: Machine;
};

/** apt of this machine with lists and archives of its own, which solves for another root and installs nothing on either. */
export const aptForRoot = async ({
  base,
  at,
  machine,
}: AptForRoot): Promise<(...words: readonly string[]) => Promise<Outcome>> => {
  for (const folder of ['etc', 'lists/partial', 'cache/archives/partial'])
    await mkdir(join(at, folder), { recursive: true });
  return (...words) =>
    runOrFail(
      [
        'apt-get',
        '--quiet',
        '--yes',
        '--no-install-recommends',
        '--option=Dir::Etc::SourceList=/dev/null',
        `--option=Dir::Etc::SourceParts=${at}/etc`,
        `--option=Dir::State::Lists=${at}/lists`,
        `--option=Dir::State::Status=${base}/var/lib/dpkg/status`,
        `--option=Dir::Cache=${at}/cache`,
        // Keeps the index as the archive signed it.
        '--option=Acquire::GzipIndexes=true',
        '--option=Acquire::IndexTargets::deb::Packages::KeepCompressedAs=xz',
        '--option=Acquire::Languages=none',
        '--option=APT::Sandbox::User=root',
        '--option=Debug::NoLocking=true',
        ...words,
      ],
      { signal: machine.signal },
    );
};
