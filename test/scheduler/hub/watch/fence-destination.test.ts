import { expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import type { Destination, TargetRepository } from '#bundles/transport/publish/destination';
import { fenceDestination } from '../../../../scheduler/hub/watch/fence-destination.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const manifest = { mediaType: 'application/json', bytes: new Uint8Array() };

const recording = (pushed: string[]): Destination => ({
  name: 'oci://registry.example/fleet',
  hasReferrers: true,
  repository: () =>
    ({
      name: 'prod/line',
      pushManifest: async (reference: string) => void pushed.push(reference),
    }) as unknown as TargetRepository,
  [Symbol.asyncDispose]: async () => void pushed.push('closed'),
});

it('a tag is moved only while the hub is proven to lead; content by digest is sent without a check', async () => {
  const pushed: string[] = [];
  let questions = 0;
  const lost = new FleetError('DATABASE_UNREACHABLE', 'the lock is lost');
  await using destination = fenceDestination(recording(pushed), async () => {
    questions += 1;
    if (questions > 1) throw lost;
  });
  const target = destination.repository('prod/line');
  await target.pushManifest(digest, manifest);
  await target.pushManifest('release', manifest);
  await expect(target.pushManifest('release', manifest)).rejects.toBe(lost);
  expect([pushed, questions]).toEqual([[digest, 'release'], 2]);
});
