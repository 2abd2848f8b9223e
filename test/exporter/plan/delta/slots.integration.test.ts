import { expect, it } from 'vitest';
import type { Digest } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { publishLayout } from '#bundles/transport/publish/publish-layout';
import { channelRepository } from '#bundles/transport/registry/references';
import { slotsOf } from '../../../../exporter/plan/delta/slots.ts';
import { openRegistrySource } from '../../../../exporter/source/registry-source.ts';
import { openDestination } from '../../../../scheduler/deliver/send/open-destination.ts';
import { describeWith } from '../../../harness/run/describe-with.ts';
import { startFaultyRegistry } from '../../../harness/neighbours/faulty-registry.ts';
import { startRegistry } from '../../../harness/neighbours/registry.ts';
import { NOW } from '../../../harness/fleets/signed-fleet.ts';
import { KIOSK, makeKioskWorld } from '../../world.ts';

describeWith(['dockerRegistry'], 'the slots of a bundle in a registry', ({ dockerRegistry }) => {
  it('cost one request for each manifest', async () => {
    await using world = await makeKioskWorld();
    await using registry = await startRegistry(dockerRegistry);
    await using line = await startFaultyRegistry(registry.host);
    const images = ['one', 'two'].map((name) => ({ name, layers: [Buffer.from(`layer of ${name}`)] }));
    const packages = { web: { 'app.yaml': 'text: two\n' } };
    const [bundle] = await world.layout.release({
      channel: KIOSK,
      version: 2,
      bundles: [{ kind: 'kubernetes', packages, images }],
    });
    const options = { plainHttp: [], env: {} };
    await using destination = await openDestination(`oci://${registry.host}/fleet`, options, NOW);
    const { signal } = new AbortController();
    const layout = await openLayout(world.path('layout'));
    await publishLayout(layout, destination, { selection: {}, now: NOW, signal });
    await using source = openRegistrySource(`oci://${line.host}/fleet`, options);
    const slots = await slotsOf(source.blobs(channelRepository(KIOSK)), bundle as Digest);
    expect(slots.filter(({ group }) => group.startsWith('image/'))).toHaveLength(2);
    expect(line.asked.filter((one) => one.startsWith('HEAD'))).toEqual([]);
    expect(line.asked.filter((one) => one.includes('/manifests/'))).toHaveLength(3);
  });
});
