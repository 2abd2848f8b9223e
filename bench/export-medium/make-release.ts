import { join } from 'node:path';
import type { Descriptor } from '../../bundles/formats/layout/manifest.ts';
import { imageName } from '../make-release-images.ts';
import { measure } from '../measure.ts';
import { writePlatform } from './write-platform.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');

/** Signs releases 1 and 2 and publishes them at `oci://<registry>/release-1` and `-2`, with the programs that users run. */
export const makeRelease = async (
  folder: string,
  registry: string,
  releases: readonly { readonly layout: string; readonly images: readonly Descriptor[] }[],
): Promise<void> => {
  const scheduler = async (...words: readonly string[]): Promise<void> => {
    const program = join(REPOSITORY, 'scheduler', 'fleet-scheduler.js');
    await measure([process.execPath, program, ...words]);
  };
  const keys = ['--keys', join(folder, 'keys')];
  await scheduler('root', 'init', '--dev', '--fleet', 'bench', ...keys);
  const releasesFolder = join(folder, 'releases');
  for (const [index, { layout, images }] of releases.entries()) {
    const locked = images.map(({ digest }, at) => imageName(at).replace(/:[^:]*$/, `@${digest}`));
    const source = join(folder, `source-${index + 1}`);
    await writePlatform(source, locked);
    await scheduler(
      'build',
      '--platform',
      join(source, 'platform'),
      '--images',
      layout,
      '--layout',
      releasesFolder,
      ...keys,
    );
    await scheduler('publish', `oci://${registry}/release-${index + 1}`, '--layout', releasesFolder);
  }
};
