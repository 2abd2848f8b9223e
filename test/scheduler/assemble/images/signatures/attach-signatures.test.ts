import { beforeEach, describe, expect, it } from 'vitest';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { compareBytes, type Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { OCI_INDEX, REF_NAME } from '#bundles/media-types';
import { signatureTag } from '#bundles/transport/registry/attach-referrer';
import { checkImages } from '#bundles/trust/images/check-images';
import type { ImagePolicy } from '#bundles/formats/bundle/image-policy';
import type { ResolvedImage } from '../../../../../scheduler/assemble/images/resolved-image.ts';
import type { EvidencePlace } from '../../../../../scheduler/assemble/images/signatures/evidence-place.ts';
import { layoutEvidence } from '../../../../../scheduler/assemble/images/signatures/layout-evidence.ts';
import {
  registryEvidence,
  type SignedRepository,
} from '../../../../../scheduler/assemble/images/signatures/registry-evidence.ts';
import { attachSignatures } from '../../../../../scheduler/assemble/images/signatures/attach-signatures.ts';
import {
  type Blobs,
  closureEntry,
  putImage,
  putIndex,
  putJson,
  putLayer,
  sourceOf,
} from '../../../../agent/images/image-fixture.ts';
import { policyOf, signSimply, signWithBundle } from '../../../../bundles/trust/images/sign-image.ts';
import { newKey } from '../../../../bundles/trust/root/new-key.ts';

const { signal } = new AbortController();
const NAME = 'registry.example/team/app';
const [team, stranger] = [newKey(), newKey()];

let blobs: Blobs;
let manifest: Descriptor;
let image: ResolvedImage;
beforeEach(async () => {
  blobs = new Map();
  manifest = putImage(blobs, { layers: [await putLayer(blobs, { app: 'app' })] });
  image = { entry: closureEntry(manifest, NAME), blobs: [manifest], source: sourceOf(blobs) };
});

const layout = (...manifests: readonly Descriptor[]): EvidencePlace =>
  layoutEvidence('images', async () => ({ blobs: sourceOf(blobs) as never, manifests }));

type Repository = {
  readonly tags?: Readonly<Record<string, Digest>>;
  readonly referrers?: readonly Descriptor[];
};
const registry = ({ tags = {}, referrers = [] }: Repository): EvidencePlace => {
  const repository: SignedRepository = {
    name: NAME,
    blobs: sourceOf(blobs),
    referrers: async () => referrers,
    fetchManifest: async (reference) => {
      const digest = tags[reference] ?? (reference as Digest);
      const bytes = blobs.get(digest);
      return bytes && { descriptor: { mediaType: OCI_INDEX, digest, size: bytes.byteLength }, bytes };
    },
  };
  return registryEvidence(() => repository);
};

const vouch = (
  places: readonly EvidencePlace[],
  {
    policies = [policyOf(team)],
    indexes = {},
  }: { policies?: readonly ImagePolicy[]; indexes?: Record<string, string> } = {},
) => attachSignatures([image], { policies, places, indexes: new Map(Object.entries(indexes)) }, signal);

/** What the closure says afterwards, judged as a site will judge it. */
const attachmentsOf = async (vouched: readonly ResolvedImage[]): Promise<readonly Digest[]> => {
  const closure = vouched.flatMap(({ entry, blobs: parts }): readonly ClosureEntry[] =>
    entry.names ? [entry] : parts.map(({ digest, size, mediaType }) => ({ digest, size, mediaType })),
  );
  const carried: Blobs = new Map();
  for (const { source, entry, blobs: parts } of vouched) {
    if (entry.names) continue;
    for (const { digest } of parts)
      carried.set(digest, Buffer.concat(await Array.fromAsync(await source.open(digest, signal))));
  }
  expect(await checkImages(sourceOf(carried), { closure, imagePolicy: [policyOf(team)] }, [])).toBe(1);
  return vouched[0]?.entry.attachments ?? [];
};

const refusal = async (work: Promise<unknown>): Promise<FleetError> => {
  const error = await work.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (!isFleetError(error)) throw new Error(`it was not refused: ${String(error)}`);
  return error;
};

describe('signatures for the images of a bundle', () => {
  it('are found in a layout by their content, under any name', async () => {
    const signed = await signWithBundle(blobs, manifest, team);
    const named = { ...signed, annotations: { [REF_NAME]: 'anything' } };
    expect(await attachmentsOf(await vouch([layout(manifest, named)]))).toEqual([signed.digest]);
    const list = putIndex(blobs, [{ ...signed, artifactType: 'application/vnd.oci.empty.v1+json' }]);
    expect(await attachmentsOf(await vouch([layout(manifest, list)]))).toEqual([signed.digest]);
  });

  it('are found in a registry among the referrers and under the older cosign tag', async () => {
    const signed = await signWithBundle(blobs, manifest, team);
    expect(await attachmentsOf(await vouch([registry({ referrers: [signed] })]))).toEqual([signed.digest]);
    const simple = await signSimply(blobs, manifest.digest, stranger, team);
    const tags = { [signatureTag(manifest.digest)]: simple.digest };
    const found = await attachmentsOf(await vouch([registry({ tags })]));
    expect(found).toHaveLength(1);
    // Of the manifest that everybody adds to, what this image needs and no more.
    expect(found).not.toContain(simple.digest);
  });

  it('chooses the same minimal set of signatures for any order and any additional signatures', async () => {
    const [a, b, c] = await Promise.all([
      signWithBundle(blobs, manifest, team),
      signWithBundle(blobs, manifest, team),
      signWithBundle(blobs, manifest, stranger),
    ]);
    const [smallest] = [a.digest, b.digest].toSorted(compareBytes);
    for (const order of [
      [a, b, c],
      [c, b, a],
    ])
      expect(await attachmentsOf(await vouch([registry({ referrers: order })]))).toEqual([smallest]);
    const both = [policyOf(team), policyOf(stranger, { name: 'second', match: ['**'] })];
    const two = await attachmentsOf(await vouch([registry({ referrers: [a, b, c] })], { policies: both }));
    expect(two).toEqual([smallest as Digest, c.digest].toSorted(compareBytes));
  });

  it('are searched in the next place only when one has too few', async () => {
    const signed = await signWithBundle(blobs, manifest, team);
    const unreachable: EvidencePlace = {
      name: 'nowhere',
      signatures: async () => {
        throw new FleetError('REGISTRY_UNREACHABLE', 'it does not answer');
      },
      indexes: async () => [],
    };
    expect(await attachmentsOf(await vouch([layout(signed), unreachable]))).toEqual([signed.digest]);
    // A registry that might have had one is the reason, and not the image.
    expect((await refusal(vouch([layout(), unreachable]))).code).toBe('REGISTRY_UNREACHABLE');
    expect(await attachmentsOf(await vouch([unreachable, layout(signed)]))).toEqual([signed.digest]);
  });

  it('may be on the index that contains the manifest, noted in the lock file or found', async () => {
    const index = putIndex(blobs, [manifest]);
    const signed = await signWithBundle(blobs, index, team);
    const noted = { [manifest.digest]: index.digest };
    const place = registry({ referrers: [signed] });
    const found = await attachmentsOf(await vouch([place], { indexes: noted }));
    expect(found).toHaveLength(2);
    expect(found).toContain(signed.digest);
    expect(await attachmentsOf(await vouch([layout(index, signed)]))).toEqual(found);
    expect((await refusal(vouch([place]))).code).toBe('IMAGE_UNSIGNED');
    const other = putIndex(blobs, [putImage(blobs, { layers: [] })]);
    const foreign = await signWithBundle(blobs, other, team);
    const error = await refusal(
      vouch([registry({ referrers: [foreign] })], { indexes: { [manifest.digest]: other.digest } }),
    );
    expect(error.message).toContain('are for another image');
  });

  it('that are missing or invalid are reported with the reason and a hint', async () => {
    const none = await refusal(vouch([layout(manifest)]));
    expect(none.message).toMatch(
      /registry\.example\/team\/app@sha256:\w+ has no signature, and must have one by/,
    );
    expect(none.message).toContain('; looked in images');
    expect(none.hint).toContain('cosign sign');
    const theirs = await signWithBundle(blobs, manifest, stranger);
    expect((await refusal(vouch([registry({ referrers: [theirs] })]))).message).toContain(
      'is signed, but not by',
    );
  });

  it('exclude damaged, empty and certificate-based ones', async () => {
    const broken = await signWithBundle(blobs, manifest, team);
    const layer = JSON.parse((blobs.get(broken.digest) as Buffer).toString()).layers[0] as Descriptor;
    blobs.set(layer.digest, Buffer.alloc(layer.size));
    const junk = putJson(blobs, manifest.mediaType, { schemaVersion: 2, junk: true });
    const good = await signSimply(blobs, manifest.digest, team);
    const tags = { [signatureTag(manifest.digest)]: good.digest };
    const absent = { ...junk, digest: `sha256:${'0'.repeat(64)}` as const };
    expect(
      await attachmentsOf(await vouch([registry({ referrers: [broken, junk, absent], tags })])),
    ).toHaveLength(1);
  });

  it('are not required for an image that no policy matches', async () => {
    const policies = [policyOf(team, { except: ['registry.example/team/app'] })];
    expect(await vouch([], { policies })).toEqual([image]);
  });
});
