import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { runProcess } from '#bundles/run-process';
import { VERSION } from '#bundles/version';

const REPOSITORY = join(import.meta.dirname, '../..');

const DOCKERFILES = {
  'fleet-agent': 'Dockerfile.agent',
  'fleet-export': 'deploy/images/Dockerfile.export',
  'fleet-scheduler': 'deploy/images/Dockerfile.scheduler',
} as const;

export const PROGRAMS = Object.keys(DOCKERFILES) as readonly (keyof typeof DOCKERFILES)[];

export type ImagesOptions = {
  /** A folder with `dist`, the built programs. */
  readonly context: string;
  readonly out: string;
  /** The time of every file and of the images, in seconds since 1970. */
  readonly epoch: number;
  /** All three, unless a test builds fewer. */
  readonly names?: readonly (keyof typeof DOCKERFILES)[];
  /** The base image, unless the Dockerfile's. */
  readonly base?: string | undefined;
  /** Runs podman with these words. */
  readonly podman: (words: readonly string[]) => Promise<{ readonly code: number; readonly stderr: string }>;
};

/** Builds the images of the three programs with podman. @returns the OCI archive of each @throws FleetError IO if podman fails */
export const buildImages = async (options: ImagesOptions): Promise<Readonly<Record<string, string>>> => {
  const { context, out, epoch, base, podman, names = PROGRAMS } = options;
  const run = async (words: readonly string[]): Promise<void> => {
    const { code, stderr } = await podman(words);
    if (code !== 0)
      throw new FleetError('IO', `podman ${words[0] ?? ''} ended with ${code}: ${stderr.trim()}`);
  };
  const made: Record<string, string> = {};
  for (const name of names) {
    const image = imageName(name);
    const file = join(out, `${name}.tar`);
    const words = ['--quiet', `--timestamp=${epoch}`, `--build-arg=VERSION=${VERSION}`, `--tag=${image}`];
    const from = base === undefined ? [] : [`--build-arg=BASE=${base}`, '--pull=never'];
    await run(['build', ...words, ...from, `--file=${join(REPOSITORY, DOCKERFILES[name])}`, context]);
    const layout = join(out, `${name}.layout`);
    await run(['push', '--quiet', '--format=oci', image, `oci:${layout}:${name}:${VERSION}`]);
    await packLayout(layout, file, epoch);
    await rm(layout, { recursive: true });
    made[name] = file;
  }
  return made;
};

/** Packs an OCI layout as an archive. podman's own archives have the time at which they were written. */
const packLayout = async (layout: string, file: string, epoch: number): Promise<void> => {
  const { code, stderr } = await runProcess(
    [
      'tar',
      '--create',
      `--file=${file}`,
      '--format=ustar',
      '--sort=name',
      `--mtime=@${epoch}`,
      '--owner=0',
      '--group=0',
      '--numeric-owner',
      '--mode=u=rwX,go=rX',
      `--directory=${layout}`,
      ...(await readdir(layout)).toSorted(),
    ],
    { env: process.env, maxOutput: 1 << 20 },
  );
  if (code !== 0) throw new FleetError('IO', `tar ended with ${code}: ${stderr.trim()}`);
};

/** Of a built image, in podman's store. */
export const imageName = (name: string): string => `localhost/${name}:${VERSION}`;

/** The podman on this machine. */
export const ownPodman: ImagesOptions['podman'] = (words) =>
  runProcess(['podman', ...words], { env: process.env, maxOutput: 1 << 20 });
