import { describe, expect, it } from 'vitest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { digestOf } from '#bundles/digest';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { sampleBundle } from '../../formats/bundle/sample-bundle.ts';
import { verdict } from '../../verdict.ts';
import { names, rotated, row, signedRelease } from './attack-row.ts';
import {
  after,
  approver,
  BUNDLE_A,
  BUNDLE_B,
  bundlePayload,
  bundleStatements,
  enrolled,
  importMedium,
  type Medium,
  nextRelease,
  type ReleaseInput,
  releaseMedium,
  revocationList,
  scheduler,
  sign,
} from './signed-world.ts';

describe('bundles', () => {
  row('M23: mix and match -> BUNDLE_UNSIGNED', async () => ({
    ...(await releaseMedium(names(BUNDLE_B))),
    bundles: await bundleStatements(BUNDLE_A),
  }));

  it('M24: smuggled bundle: only what the release names is accepted', async () => {
    const { release: accepted } = await importMedium(enrolled, {
      bundles: await bundleStatements(BUNDLE_A, BUNDLE_B),
    });
    expect(accepted?.bundles.map(({ digest }) => digest)).toEqual([BUNDLE_A]);
  });

  row('M25: transplanted signature -> SUBJECT_MISMATCH', async () => ({
    ...(await releaseMedium(names(BUNDLE_B))),
    bundles: new Map([[BUNDLE_B, await sign(bundlePayload(BUNDLE_A), scheduler, approver)]]),
  }));

  /** Reads the bundle and copies its layer, as an import does. */
  const copyBundle = async ({ blobs, digest }: ReturnType<typeof sampleBundle>): Promise<void> => {
    await using folder = await temporaryDirectory('attack');
    const store = openBlobDirectory(folder.path);
    for (const layer of (await readBundle(blobs, digest)).manifest.layers) {
      await store.write(layer.digest, layer.size, await blobs.open(layer.digest));
    }
  };
  const stored = (title: string, change: (bundle: ReturnType<typeof sampleBundle>) => void): void => {
    it(title, async () => {
      const bundle = sampleBundle();
      change(bundle);
      expect(await verdict(() => copyBundle(bundle))).toBe(title.split(' -> ')[1]);
    });
  };
  const contentOf = ({ blobs }: ReturnType<typeof sampleBundle>, digest: typeof BUNDLE_A): Buffer =>
    Buffer.from(blobs.content.get(digest) ?? '');

  stored('M1: a bundle as it was made -> ACCEPT', () => {});
  stored('M26: changed manifest -> DIGEST_MISMATCH', (bundle) => {
    const text = contentOf(bundle, bundle.digest).toString().replace('"size":5000', '"size":5001');
    bundle.blobs.content.set(bundle.digest, Buffer.from(text));
  });
  stored('M26: changed layer -> DIGEST_MISMATCH', (bundle) => {
    const bytes = contentOf(bundle, bundle.layer.digest);
    bytes[4999] = (bytes[4999] ?? 0) ^ 1;
    bundle.blobs.content.set(bundle.layer.digest, bytes);
  });
  stored('M26: changed config -> DIGEST_MISMATCH', (bundle) => {
    const text = contentOf(bundle, bundle.config.digest).toString().replace('gateway', 'getaway');
    bundle.blobs.content.set(bundle.config.digest, Buffer.from(text));
  });
  stored('M27: padded layer -> SIZE_MISMATCH', (bundle) => {
    const padded = Buffer.concat([contentOf(bundle, bundle.layer.digest), Buffer.alloc(1)]);
    bundle.blobs.content.set(bundle.layer.digest, padded);
  });
  stored('M27: removed layer -> MISSING_BLOB', (bundle) => {
    bundle.blobs.content.delete(bundle.layer.digest);
  });

  const revoking = (list: Buffer, change: ReleaseInput = {}): Promise<Medium> =>
    releaseMedium(
      {
        version: 2,
        subjects: [
          { name: 'bundle/host', digest: BUNDLE_A },
          { name: 'revocations', digest: digestOf(list) },
        ],
        ...change,
      },
      { revocations: [list] },
    );
  const listOfA = revocationList([BUNDLE_A]);
  const revokedBefore = async () => {
    const subjects = [
      { name: 'bundle/host', digest: BUNDLE_B },
      { name: 'revocations', digest: digestOf(listOfA) },
    ];
    return after(await revoking(listOfA, { subjects }));
  };
  row('M28: revoked bundle -> REVOKED', () => revoking(listOfA));
  row('M28: a list that revokes something else -> ACCEPT', () => revoking(revocationList([BUNDLE_B])));
  row('M28: revoked bundle, the list left out later -> REVOKED', () => releaseMedium({ version: 3 }), {
    state: revokedBefore,
  });
  row(
    'M28: revoked by a stolen key, revoked itself by a new root -> ACCEPT',
    async () => rotated({ release: await signedRelease({ version: 1 }, nextRelease) }),
    { state: revokedBefore },
  );
  row('M28: the list is not on the medium -> MISSING_BLOB', async () => ({
    ...(await revoking(listOfA)),
    revocations: [],
  }));
  row('M28: the list of another channel -> WRONG_ENVIRONMENT', () =>
    revoking(revocationList([], { environment: 'dev' })),
  );
});
