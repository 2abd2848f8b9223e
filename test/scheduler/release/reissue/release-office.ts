import type { Digest } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { parseRoot } from '#bundles/trust/root/root';
import { openReleases, type Releases } from '../../../../scheduler/release/write/open-releases.ts';
import { type StoredRelease, readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { releaseReferences } from '../../../../scheduler/release/reissue/reissue-release.ts';
import type { KeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import {
  NOW,
  newFleet,
  rotate,
  type SignedFleet,
  type TestBundle,
  writeSignedLayout,
} from '../../../harness/fleets/signed-layout.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

export { NOW };
export const KIOSK = { environment: 'prod', clusterType: 'kiosk' };

/** A fleet's keys, and a layout with releases of prod/kiosk that remembers them as builds do. */
export type ReleaseOffice = AsyncDisposable & {
  readonly directory: string;
  readonly fleet: () => SignedFleet;
  readonly keys: () => KeyDirectory;
  /** The officers give the role a new key, and the old one counts no longer. */
  readonly rotate: (role: 'bundle' | 'release' | 'lease' | 'audit') => Promise<void>;
  /** Release N of one bundle whose content is the text. @returns the bundle */
  readonly release: (version: number, text: string) => Promise<Digest>;
  readonly current: () => Promise<StoredRelease>;
  readonly releases: (now?: Date) => Promise<Releases>;
};

export const openReleaseOffice = async (): Promise<ReleaseOffice> => {
  const folder = await temporaryDirectory('releases');
  const { path: directory } = folder;
  let fleet = await newFleet();
  const keys = (): KeyDirectory => keysOf(fleet);
  const current = async (): Promise<StoredRelease> => {
    const found = await readRelease(await openLayout(directory), KIOSK, keys().roots);
    if (!found) throw new Error('there is no release');
    return found;
  };
  const releases: ReleaseOffice['releases'] = (now = NOW) =>
    openReleases(directory, { command: 'test', now });
  return {
    directory,
    fleet: () => fleet,
    keys,
    rotate: async (role) => {
      fleet = await rotate(fleet, role);
    },
    release: async (version, text) => {
      const before = version > 1 ? await current() : undefined;
      const [digest] = await writeSignedLayout(fleet, directory).release({
        channel: KIOSK,
        version,
        bundles: [bundleOf(text)],
        issuedAt: NOW,
        ...(before && { previous: before.digest }),
      });
      using open = await releases();
      await open.point(releaseReferences(KIOSK, (await current()).artifact, before));
      if (!digest) throw new Error('there is no bundle');
      return digest;
    },
    current,
    releases,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
};

const bundleOf = (text: string): TestBundle => ({
  kind: 'kubernetes',
  packages: { web: { 'app.yaml': `text: ${text}\n` } },
});

const keysOf = (fleet: SignedFleet): KeyDirectory => {
  const roots = fleet.roots.map((bytes) => parseRoot(bytes));
  const root = roots.at(-1);
  if (!root) throw new Error('a fleet has a root');
  return {
    roots,
    root,
    key: async (role) => fleet.keys[role],
    signerOf: () => undefined,
    authority: () => Promise.reject(new Error('nobody enrols here')),
  };
};
