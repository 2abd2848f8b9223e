import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Descriptor } from '#bundles/bundle/manifest';
import { FleetError } from '#bundles/errors';
import {
  type Layout,
  openOrStartLayout,
  referenceOf,
  withReference,
  writeLayoutIndex,
} from '#bundles/layout/layout';
import { type LockOptions, waitForLayout } from './wait-for-layout.ts';

/** The layout that releases are added to, locked against other builds as soon as there is something to lock. */
export type Releases = Disposable & {
  /** The layout as it is now, locked; made where there was none. @throws FleetError BUSY, LAYOUT_INVALID ... */
  readonly open: () => Promise<Layout>;
  /**
   * Puts descriptors under their references and writes index.json: the one moment at which a reader sees them.
   * @param gone references that name nothing from now on
   */
  readonly point: (references: ReadonlyMap<string, Descriptor>, gone?: readonly string[]) => Promise<void>;
};

/**
 * A layout that is there is locked at once, so that a second build ends before it works for nothing. One that is not
 * there is made by `open`: a build that fails before that leaves no trace. Who holds the lock for a moment is waited for.
 * @throws FleetError BUSY
 */
export const openReleases = async (directory: string, options: LockOptions): Promise<Releases> => {
  const lock = () => waitForLayout(directory, options);
  let locked = (await isThere(directory)) ? await lock() : undefined;
  return {
    open: async () => {
      locked ??= await lock();
      const layout = await openOrStartLayout(directory);
      if (layout.manifests.length === 0) await start(layout);
      return layout;
    },
    point: async (references, gone = []) => {
      // Read once more: site statements are written to the same index, by commands that do not wait for a build.
      const layout = await openOrStartLayout(directory);
      const manifests = [...references].reduce<readonly Descriptor[]>(
        (before, [reference, descriptor]) => withReference(before, reference, descriptor),
        layout.manifests.filter((entry) => !gone.includes(referenceOf(entry) ?? '')),
      );
      await writeLayoutIndex(layout, manifests);
    },
    [Symbol.dispose]: () => locked?.[Symbol.dispose](),
  };
};

/**
 * The index is written before the first blob. So a build that was killed leaves an index, and blobs without one say that
 * it was lost: releases would begin at 1 again, and every site that has seen a later one would refuse them.
 */
const start = async (layout: Layout): Promise<void> => {
  const [anyBlob] = await layout.blobs.list();
  if (anyBlob !== undefined && !(await isThere(join(layout.directory, 'index.json')))) {
    throw new FleetError(
      'LAYOUT_INVALID',
      `${layout.directory} has blobs, but no index.json that names them`,
      {
        hint: 'Put back the last copy of index.json; if nothing from here was ever given out, remove the folder',
      },
    );
  }
  await writeLayoutIndex(layout, layout.manifests);
};

const isThere = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined)) !== undefined;
