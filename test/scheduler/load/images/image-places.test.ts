import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { OCI_MANIFEST, REF_NAME } from '#bundles/media-types';
import {
  type ImageRegistries,
  layoutPlaces,
  registryPlaces,
} from '../../../../scheduler/load/images/image-places.ts';

const signal = new AbortController().signal;

describe('registries as sources of images', () => {
  it('are not asked again after a failure, and each image that needed one is reported', async () => {
    const asked: string[] = [];
    const registries = {
      repository: (name: string) => ({
        resolve: async () => {
          asked.push(name);
          throw new FleetError('REGISTRY_UNREACHABLE', `looking for ${name}: it is away`, { hint: 'Wait' });
        },
      }),
    } as unknown as ImageRegistries;
    const places = registryPlaces(registries);
    const find = (image: string) => places.find(image, signal);
    await expect(find('edge:5000/a:1')).rejects.toThrow('looking for edge:5000/a:1: it is away');
    await expect(find('edge:5000/b:2')).rejects.toMatchObject({
      code: 'REGISTRY_UNREACHABLE',
      message: 'edge:5000/b:2 was not looked for: edge:5000 did not answer for the image before it',
      hint: 'Wait',
    });
    expect(asked).toEqual(['edge:5000/a:1']);
  });
});

it('of two images with one name in a layout, as a second `crane pull` leaves them, the last is taken', async () => {
  const [old, now] = ['old', 'new'].map((text) => ({
    mediaType: OCI_MANIFEST,
    digest: digestOf(text),
    size: 3,
    annotations: { [REF_NAME]: 'registry.example/app:1' },
  }));
  const places = layoutPlaces({ directory: 'images', blobs: {} as Layout['blobs'], manifests: [old!, now!] });
  expect((await places.find('registry.example/app:1', signal))?.descriptor).toBe(now);
});
