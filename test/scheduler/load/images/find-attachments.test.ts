import { describe, expect, test } from 'vitest';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { type Digest, hexOf } from '#bundles/digest';
import { OCI_EMPTY, OCI_MANIFEST, SIGSTORE_BUNDLE } from '#bundles/media-types';
import {
  formatAttachment,
  parseAttachment,
  TAKE_ALL,
  type Take,
} from '../../../../scheduler/model/images/attachment.ts';
import { type Beside, findAttachments } from '../../../../scheduler/load/images/find-attachments.ts';
import { layoutBeside } from '../../../../scheduler/load/images/layout-beside.ts';
import {
  type Blobs,
  put,
  putImage,
  putIndex,
  putJson,
  putLayer,
  sourceOf,
} from '../../../agent/images/image-fixture.ts';

const { signal } = new AbortController();

const attach = (
  blobs: Blobs,
  text: string,
  more: { subject?: Descriptor; artifactType?: string; annotations?: Record<string, string> } = {},
): Descriptor =>
  putJson(blobs, OCI_MANIFEST, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType: 'text/note',
    config: put(blobs, OCI_EMPTY, Buffer.from('{}')),
    layers: [put(blobs, 'text/plain', Buffer.from(text))],
    ...more,
  });

const world = async () => {
  const blobs: Blobs = new Map();
  const image = putImage(blobs, { layers: [await putLayer(blobs, { app: 'a' })] });
  const referrers = new Map<Digest, Digest[]>();
  const tags = new Map<string, Digest>();
  const beside: Beside = {
    blobs: sourceOf(blobs),
    referrers: async (about) => referrers.get(about) ?? [],
    tagged: async (tag) => tags.get(tag),
  };
  const refer = (subject: Descriptor, text: string, more: Parameters<typeof attach>[2] = {}): Descriptor => {
    const made = attach(blobs, text, { subject, ...more });
    referrers.set(subject.digest, [...(referrers.get(subject.digest) ?? []), made.digest]);
    return made;
  };
  const tag = (about: Descriptor, kind: string, made: Descriptor): void => {
    tags.set(`sha256-${hexOf(about.digest)}.${kind}`, made.digest);
  };
  const find = async (index?: Digest, take: Take = TAKE_ALL) => {
    const found = await findAttachments(beside, { digest: image.digest, index }, take, signal);
    return { ...found, digests: found.attachments.map(({ digest }) => digest) };
  };
  return { blobs, image, referrers, refer, tag, find };
};

describe('the attachments of an image', () => {
  test('are found by referrers and tags, of the image and of its index', async () => {
    const { blobs, image, refer, tag, find } = await world();
    const index = putIndex(blobs, [image]);
    const all = [
      refer(image, 'note'),
      refer(index, 'about the index'),
      attach(blobs, 'sig'),
      attach(blobs, 'sbom'),
    ] as const;
    tag(image, 'sig', all[2]);
    tag(index, 'sbom', all[3]);
    const { digests, attachments, leftOut } = await find(index.digest);
    expect(digests.toSorted()).toEqual(all.map(({ digest }) => digest).toSorted());
    expect(attachments.flatMap(({ tag: name }) => name ?? []).toSorted()).toEqual(
      [`sha256-${hexOf(image.digest)}.sig`, `sha256-${hexOf(index.digest)}.sbom`].toSorted(),
    );
    expect(attachments.map(formatAttachment).map(parseAttachment)).toEqual(attachments);
    expect(leftOut).toEqual([]);
  });

  test('of an index include those of its platforms, and referrers of referrers', async () => {
    const { blobs, refer, image, find } = await world();
    const sbom = refer(image, 'sbom');
    const signature = refer(sbom, 'signature of the sbom');
    const index = putIndex(blobs, [image]);
    const found = await findAttachments(
      layoutBeside({ blobs: sourceOf(blobs), manifests: [index, sbom, signature] }),
      { digest: index.digest },
      TAKE_ALL,
      signal,
    );
    const both = [sbom.digest, signature.digest].toSorted();
    expect(found.attachments.map(({ digest }) => digest)).toEqual(both);
    expect((await find()).digests).toEqual(both);
  });

  test('that are too large, an index, or unreadable are left out, with the reason', async () => {
    const { blobs, image, referrers, refer, tag, find } = await world();
    refer(image, 'x'.repeat(1000));
    tag(image, 'att', putIndex(blobs, [image]));
    const { digests, leftOut } = await find(undefined, { attachments: 'all', maxBytes: 900 });
    expect(digests).toEqual([]);
    expect(leftOut).toEqual([
      expect.stringMatching(/^sha256:\w+, which has 1\d{3} bytes, and at most 900 are taken$/),
      expect.stringMatching(/^sha256-\w+\.att, which is an index$/),
    ]);
    referrers.set(image.digest, [`sha256:${'0'.repeat(64)}`]);
    expect((await find()).leftOut.join()).toContain('which cannot be read');
  });

  test('exclude a referrer whose own subject is another image', async () => {
    const { blobs, image, referrers, find } = await world();
    const other = putImage(blobs, { layers: [] });
    referrers.set(image.digest, [attach(blobs, 'note', { subject: other }).digest]);
    expect(await find()).toMatchObject({ digests: [], leftOut: [] });
  });

  test('are limited as the lock file configures', async () => {
    const { blobs, image, refer, tag, find } = await world();
    const predicate = (type: string) => ({ 'dev.sigstore.bundle.predicateType': type });
    const signatures = [
      refer(image, 'a', {
        artifactType: SIGSTORE_BUNDLE,
        annotations: predicate('https://sigstore.dev/cosign/sign/v1'),
      }),
      refer(image, 'b', { artifactType: 'application/vnd.cncf.notary.signature' }),
      attach(blobs, 'c'),
    ] as const;
    tag(image, 'sig', signatures[2]);
    refer(image, 'd', { artifactType: SIGSTORE_BUNDLE, annotations: predicate('https://spdx.dev/Document') });
    tag(image, 'att', attach(blobs, 'e'));
    const { digests } = await find(undefined, { ...TAKE_ALL, attachments: 'signatures' });
    expect(digests.toSorted()).toEqual(signatures.map(({ digest }) => digest).toSorted());
    expect((await find(undefined, { ...TAKE_ALL, attachments: 'none' })).digests).toEqual([]);
    expect((await find()).digests).toHaveLength(5);
  });
});

test('in a lock entry may only have tags that cosign writes', () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  expect(parseAttachment(`latest@${digest}`)).toBeUndefined();
  expect(parseAttachment(`sha256-${'a'.repeat(64)}.exe@${digest}`)).toBeUndefined();
  expect(parseAttachment('sha256:1')).toBeUndefined();
});
