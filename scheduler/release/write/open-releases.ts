import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobStore } from '#bundles/formats/layout/blobs';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { FleetError } from '#bundles/errors';
import {
  type Layout,
  openOrStartLayout,
  referenceOf,
  withReferences,
  writeLayoutIndex,
  layoutBlobs,
} from '#bundles/formats/layout/layout';
import { type LockOptions, waitForLayout } from './wait-for-layout.ts';

/** The layout that releases are added to. Locked against other writers once it exists. */
export type Releases = Disposable & {
  /** Reads the layout under the lock, or creates it. @throws FleetError BUSY, LAYOUT_INVALID, PERMISSION, IO */
  readonly open: () => Promise<Layout>;
  /**
   * Sets references and writes index.json, which makes the change visible to readers at once.
   * @param gone references to remove
   */
  readonly point: (references: ReadonlyMap<string, Descriptor>, gone?: readonly string[]) => Promise<void>;
  /** Its blobs. The first write locks or creates the layout, as `open`. */
  readonly blobs: BlobStore;
};

/**
 * An existing layout is locked immediately, so that a second build fails before it does any work. A missing one is created by
 * `open`, so that a build that fails earlier leaves nothing behind. Waits up to `options.waitMs` for another holder.
 * @throws FleetError BUSY
 */
export const openReleases = async (directory: string, options: LockOptions): Promise<Releases> => {
  const lock = () => waitForLayout(directory, options);
  let locked = (await exists(directory)) ? await lock() : undefined;
  const open = async (): Promise<Layout> => {
    locked ??= await lock();
    const layout = await openOrStartLayout(directory);
    if (layout.manifests.length === 0) await start(layout);
    return layout;
  };
  const blobs = layoutBlobs(directory);
  let opened: Promise<Layout> | undefined;
  return {
    open,
    blobs: {
      ...blobs,
      write: async (digest, size, content, signal) => {
        await (opened ??= open());
        await blobs.write(digest, size, content, signal);
      },
    },
    point: async (references, gone = []) => {
      // Read again: site statements are written to the same index, by commands that do not wait for a build.
      const layout = await openOrStartLayout(directory);
      const kept = layout.manifests.filter((entry) => !gone.includes(referenceOf(entry) ?? ''));
      await writeLayoutIndex(layout, withReferences(kept, references));
    },
    [Symbol.dispose]: () => locked?.[Symbol.dispose](),
  };
};

/**
 * Writes the index before the first blob, so that blobs without an index mean that the index was lost. Starting over would
 * number releases from 1 again, and every site that has seen a higher number would reject them.
 * @throws FleetError LAYOUT_INVALID if there are blobs but no index.json
 */
const start = async (layout: Layout): Promise<void> => {
  const [anyBlob] = await layout.blobs.list();
  if (anyBlob !== undefined && !(await exists(join(layout.directory, 'index.json')))) {
    throw new FleetError(
      'LAYOUT_INVALID',
      `${layout.directory} has blobs, but no index.json that names them`,
      {
        hint: 'Restore the last copy of index.json; if nothing from here was ever published, remove the folder',
      },
    );
  }
  await writeLayoutIndex(layout, layout.manifests);
};

const exists = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined)) !== undefined;
