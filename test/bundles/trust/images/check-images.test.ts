import { expect, it } from 'vitest';
import { checkImages } from '#bundles/trust/images/check-images';
import {
  type Blobs,
  closureEntry,
  putImage,
  putLayer,
  sourceOf,
} from '../../../agent/images/image-fixture.ts';
import { byOneQuestion } from '../../formats/layout/one-question.ts';
import { newKey } from '../root/new-key.ts';
import { verdict } from '../../verdict.ts';
import { policyOf, signWithBundle, withAttachments } from './sign-image.ts';

it("checkImages accepts only signatures inside the bundle's closure, although the source has others", async () => {
  const blobs: Blobs = new Map();
  const key = newKey();
  const manifest = putImage(blobs, { layers: [await putLayer(blobs, { app: 'app' })] });
  const signature = await signWithBundle(blobs, manifest, key);
  const closure = withAttachments(blobs, closureEntry(manifest, 'registry.example/team/app'), signature);
  const images = { closure, imagePolicy: [policyOf(key)] };
  for (const source of [sourceOf(blobs), byOneQuestion(sourceOf(blobs))]) {
    expect(await checkImages(source, images, [])).toBe(1);
    // The signature itself is the last blob of the signature's manifest.
    const less = { ...images, closure: closure.slice(0, -1) };
    expect(await verdict(() => checkImages(source, less, []))).toBe('MISSING_BLOB');
  }
});

it('N30: an image spelled in another way -> IMAGE_UNSIGNED', async () => {
  const blobs: Blobs = new Map();
  const manifest = putImage(blobs, { layers: [await putLayer(blobs, { app: 'app' })] });
  const policy = { ...policyOf(newKey()), match: ['docker.io/library/nginx'] };
  for (const name of ['docker.io/nginx', 'index.docker.io/nginx', 'DOCKER.IO/library/nginx']) {
    const images = { closure: [closureEntry(manifest, name)], imagePolicy: [policy] };
    expect(await verdict(() => checkImages(sourceOf(blobs), images, []))).toBe('IMAGE_UNSIGNED');
  }
});
