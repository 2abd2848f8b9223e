import { expect, test } from 'vitest';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { Layout } from '#bundles/formats/layout/layout';
import { checkImages } from '#bundles/trust/images/check-images';
import { resolveImages } from '../../../../scheduler/assemble/images/resolve-images.ts';
import { attachLocked } from '../../../../scheduler/assemble/images/attach-locked.ts';
import { layoutEvidence } from '../../../../scheduler/assemble/images/signatures/layout-evidence.ts';
import { attachSignatures } from '../../../../scheduler/assemble/images/signatures/attach-signatures.ts';
import {
  type Blobs,
  put,
  putImage,
  putJson,
  putLayer,
  sourceOf,
} from '../../../agent/images/image-fixture.ts';
import { policyOf, signSimply, signWithBundle } from '../../../bundles/trust/images/sign-image.ts';
import { newKey } from '../../../bundles/trust/root/new-key.ts';
import { verdict } from '../../../bundles/verdict.ts';

const { signal } = new AbortController();

const world = async () => {
  const blobs: Blobs = new Map();
  const image = putImage(blobs, { layers: [await putLayer(blobs, { app: 'a' })] });
  const source = sourceOf(blobs, 'images');
  const name = `edge.example/a@${image.digest}`;
  const images = await resolveImages({ sources: [source] }, [name], signal);
  const attach = (...attachments: readonly { digest: typeof image.digest; tag?: string }[]) =>
    attachLocked(images, new Map([[image.digest, attachments]]), { sources: [source] }, signal);
  return { blobs, image, source, name, attach };
};

test('an image gets its locked attachments with their tags, and their blobs are in the closure', async () => {
  const { blobs, image, attach } = await world();
  const [one, other] = [
    await signWithBundle(blobs, image, newKey()),
    await signSimply(blobs, image.digest, newKey()),
  ];
  const tag = `${image.digest.replace(':', '-')}.sig`;
  const [entry, ...beside] = await attach({ digest: one.digest }, { digest: other.digest, tag });
  expect(entry?.entry).toMatchObject({
    attachments: [one.digest, other.digest].toSorted(),
    attachmentTags: { [tag]: other.digest },
  });
  expect(beside.map((it) => it.entry.digest)).toEqual([one.digest, other.digest]);
  expect(beside.map((it) => it.blobs.length)).toEqual([3, 3]);
  expect(beside.every((it) => it.entry.names === undefined)).toBe(true);
});

test('a locked attachment that no longer exists is reported with a hint', async () => {
  const { attach, name } = await world();
  const gone = `sha256:${'0'.repeat(64)}` as const;
  await expect(attach({ digest: gone })).rejects.toMatchObject({
    code: 'MISSING_BLOB',
    message: `an attachment of the image ${name} is no longer there: ${gone}`,
    hint: expect.stringContaining('images lock --update'),
  });
});

test('an image policy chooses among locked attachments without asking a registry, and adds no duplicates', async () => {
  const { blobs, image, source, attach } = await world();
  const key = newKey();
  const signatures = [await signWithBundle(blobs, image, key), await signSimply(blobs, image.digest, key)];
  const locked = await attach(...signatures.map(({ digest }) => ({ digest })));
  const asked: string[] = [];
  const elsewhere = layoutEvidence('elsewhere', async () => {
    asked.push('elsewhere');
    return { blobs: source as Layout['blobs'], manifests: [] };
  });
  const vouching = { policies: [policyOf(key, { match: ['**'] })], places: [elsewhere], indexes: new Map() };
  const vouched = await attachSignatures(locked, vouching, signal);
  expect(asked).toEqual([]);
  expect(vouched.map(({ entry }) => entry)).toEqual(locked.map(({ entry }) => entry));
});

test('a large SBOM beside an image is not read as a signature, and does not hide one', async () => {
  const { blobs, image, source, attach } = await world();
  const key = newKey();
  const large = put(blobs, 'application/vnd.dev.sigstore.bundle.v0.3+json', Buffer.alloc(100_000, 'x'));
  const many = Array.from({ length: 2000 }, (_, at) => put(blobs, 'text/plain', Buffer.from(`${at}`)));
  const [sbom, parts] = [[large], many].map((layers) =>
    putJson(blobs, image.mediaType, {
      schemaVersion: 2,
      mediaType: image.mediaType,
      config: large,
      layers,
      subject: image,
    }),
  );
  const signature = await signWithBundle(blobs, image, key);
  const all = await attach(
    ...[sbom, parts, signature].map((one) => ({ digest: one?.digest ?? image.digest })),
  );
  const policy = policyOf(key, { match: ['**'] });
  const closure = all.flatMap(({ entry, blobs: own }): readonly ClosureEntry[] =>
    entry.names ? [entry] : own.map(({ digest, size, mediaType }) => ({ digest, size, mediaType })),
  );
  expect(await checkImages(source, { closure }, [policy], signal)).toBe(1);
  const stranger = policyOf(newKey(), { match: ['**'] });
  expect(await verdict(() => checkImages(source, { closure }, [stranger], signal))).toBe('IMAGE_UNSIGNED');
});
