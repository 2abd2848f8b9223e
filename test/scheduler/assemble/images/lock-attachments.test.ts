import { describe, expect, test } from 'vitest';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { FleetError, formatError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { REF_NAME } from '#bundles/media-types';
import { type Attachment, TAKE_ALL } from '../../../../scheduler/model/images/attachment.ts';
import { type ImagePlaces, layoutPlaces } from '../../../../scheduler/load/images/image-places.ts';
import {
  type AttachmentsInput,
  lockAttachments,
} from '../../../../scheduler/assemble/images/lock-attachments.ts';
import { formatLock } from '../../../../scheduler/assemble/images/lock-file.ts';
import { type Blobs, putImage, putLayer, sourceOf } from '../../../agent/images/image-fixture.ts';
import { signSimply, signWithBundle } from '../../../bundles/trust/images/sign-image.ts';
import { newKey } from '../../../bundles/trust/root/new-key.ts';

const { signal } = new AbortController();
const AT = { file: 'web.yaml', line: 8, column: 18 };
const NAME = 'edge.example/a';

const world = async () => {
  const blobs: Blobs = new Map();
  const image = putImage(blobs, { layers: [await putLayer(blobs, { app: 'a' })] });
  const manifests: Descriptor[] = [image];
  const places = (): ImagePlaces =>
    layoutPlaces({ directory: 'images', blobs: sourceOf(blobs), manifests } as unknown as Layout);
  const sign = async (): Promise<Descriptor> => {
    const made = await signWithBundle(blobs, image, newKey());
    manifests.push(made);
    return made;
  };
  const tag = async (): Promise<Descriptor> => {
    const made = await signSimply(blobs, image.digest, newKey());
    manifests.push({ ...made, annotations: { [REF_NAME]: `${NAME}:${image.digest.replace(':', '-')}.sig` } });
    return made;
  };
  const lock = (more: Partial<AttachmentsInput> = {}, where = places()) =>
    lockAttachments(
      { fresh: [], pinned: [], known: new Map(), renewAll: false, take: TAKE_ALL, ...more },
      where,
      signal,
    );
  const pinned = [{ image: `${NAME}@${image.digest}`, at: AT, platforms: [] }];
  const fresh = [{ image: `${NAME}:1`, before: undefined, after: `${NAME}@${image.digest}`, at: AT }];
  return { image, sign, tag, lock, pinned, fresh };
};

describe('locking the attachments of images', () => {
  test('finds referrers by digest and by tag when an image is resolved', async () => {
    const { image, sign, tag, lock, fresh } = await world();
    const [referrer, tagged] = [await sign(), await tag()];
    const { changed } = await lock({ fresh });
    const name = `${image.digest.replace(':', '-')}.sig`;
    expect(changed).toEqual([
      {
        image: image.digest,
        attachments: [{ digest: tagged.digest, tag: name }, { digest: referrer.digest }],
      },
    ]);
    expect(formatLock(undefined, [], changed, 'images.lock.yaml')).toContain(
      `  attachments:\n    ${image.digest}:\n      - ${name}@${tagged.digest}\n      - ${referrer.digest}\n`,
    );
    expect(
      (await lock({ fresh, known: new Map([[image.digest, changed[0]?.attachments ?? []]]) })).changed,
    ).toEqual([]);
  });

  test('looks up no attachments of a locked image, except when all are renewed', async () => {
    const { image, sign, lock, pinned } = await world();
    await sign();
    const known = new Map<string, readonly Attachment[]>([[image.digest, []]]);
    expect((await lock({ pinned, known })).changed).toEqual([]);
    expect((await lock({ pinned, known, renewAll: true })).changed).toMatchObject([{ attachments: [{}] }]);
  });

  test('notes an empty list for an image by digest without attachments, and nothing for an absent image', async () => {
    const { image, lock, pinned } = await world();
    expect((await lock({ pinned })).changed).toEqual([{ image: image.digest, attachments: [] }]);
    const absent = [{ image: `${NAME}@sha256:${'0'.repeat(64)}`, at: AT, platforms: [] }];
    expect((await lock({ pinned: absent })).changed).toEqual([]);
  });

  test('removes the attachments of an image that has none any more', async () => {
    const { image, lock, fresh } = await world();
    const known = new Map<string, readonly Attachment[]>([[image.digest, [{ digest: image.digest }]]]);
    const { changed } = await lock({ fresh, known });
    expect(changed).toEqual([{ image: image.digest, attachments: undefined }]);
    const text = formatLock(undefined, [], [{ image: image.digest, attachments: [] }], 'f');
    expect(text).toContain(`    ${image.digest}: []\n`);
    expect(formatLock(text, [], changed, 'f')).not.toContain(image.digest);
  });

  test('lists omitted attachments and unreachable registries with their position', async () => {
    const { sign, lock, fresh } = await world();
    await sign();
    const { leftOut } = await lock({ fresh, take: { attachments: 'all', maxBytes: 10 } });
    expect(leftOut.map(formatError)).toEqual([
      expect.stringMatching(
        /^web\.yaml:8:18: TOO_LARGE: beside edge\.example\/a this is left out: sha256:\w+, which has \d+ bytes/,
      ),
    ]);
    const silent = async (): Promise<never> => {
      throw new FleetError('REGISTRY_UNREACHABLE', 'edge.example does not answer');
    };
    const where = {
      beside: () => ({ blobs: sourceOf(new Map()), referrers: silent, tagged: silent }),
    } as unknown as ImagePlaces;
    const { problems, changed } = await lock({ fresh }, where);
    expect(changed).toEqual([]);
    expect(problems.map(formatError)).toEqual([
      'web.yaml:8:18: REGISTRY_UNREACHABLE: the attachments of edge.example/a are not known: edge.example does not answer',
    ]);
  });
});
