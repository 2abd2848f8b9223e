import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hexOf } from '#bundles/digest';
import { readBlob } from '#bundles/formats/layout/verified';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { publishLayout } from '#bundles/transport/publish/publish-layout';
import { openSecretSet } from '#bundles/trust/secrets/open';
import { MAX_SEALED_BYTES } from '#bundles/trust/secrets/secret-set';
import { openLayout } from '../../../bundles/formats/layout/layout.ts';
import { prepare } from '../../../exporter/plan/prepare.ts';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { exportMedium } from '../../../exporter/write/export-medium.ts';
import { writeSite } from '../../../scheduler/hub/sites/write-site.ts';
import { openDestination } from '../../../scheduler/deliver/send/open-destination.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { HOSTS, NOW, type TestHub, testHub } from '../../scheduler/hub/test-hub.ts';
import {
  type AgentWithAge,
  digestIn,
  enrolWithAge,
  filesThatShow,
  newestStatement,
  PASSWORD,
  setIn,
  VALUES,
} from '../../scheduler/hub/sites/secrets/secret-site.ts';
import { bundleOf } from '../publish/published-world.ts';

const signal = new AbortController().signal;

describeWith(['dockerRegistry'], 'sealed sets on their way to a site', ({ dockerRegistry }) => {
  let registry: Registry;
  let prefix = 0;
  const address = (): string => `oci://${registry.host}/secrets${prefix++}`;

  beforeAll(async () => {
    registry = await startRegistry(dockerRegistry);
  });
  afterAll(() => registry?.[Symbol.asyncDispose]());

  /** A release, a site with an agent, and a set for it, laid out. */
  const makeSite = async (): Promise<TestHub & { readonly agent: AgentWithAge }> => {
    const hub = await testHub();
    await hub.layoutWriter.release({ channel: HOSTS, version: 1, bundles: [bundleOf('one', 'host')] });
    const agent = await enrolWithAge(hub, 'plant-7/press-1');
    await writeSite(hub, (await setIn(hub)).site, { now: NOW });
    return { ...hub, agent };
  };

  const publish = async (hub: TestHub, to: string): Promise<void> => {
    await using destination = await openDestination(to, { plainHttp: [], env: {} }, NOW);
    const outcomes = await publishLayout(await openLayout(hub.layout), destination, {
      selection: {},
      now: NOW,
      signal,
    });
    for (const { error } of outcomes) if (error) throw error;
  };

  const fill = async (from: string, to: string): Promise<void> => {
    const order = { from, to, channels: undefined, sites: ['plant-7'], bases: [], now: NOW };
    await using prepared = await prepare(order);
    await exportMedium(prepared, { readBack: true, onBytes: () => {} });
  };

  it('are on the medium, byte for byte, filled from the layout or the registry', async () => {
    await using hub = await makeSite();
    const to = address();
    await publish(hub, to);
    await fill(hub.layout, join(hub.path, 'a.tar'));
    await fill(to, join(hub.path, 'b.tar'));
    const [a, b] = await Promise.all([readFile(join(hub.path, 'a.tar')), readFile(join(hub.path, 'b.tar'))]);
    expect(b.equals(a)).toBe(true);
    await using medium = await openMedium(join(hub.path, 'b.tar'));
    const { checks } = await verifyMedium(medium, undefined, NOW);
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    const digest = digestIn(await newestStatement(hub), 'mqtt');
    expect(medium.medium?.documents.filter(({ role }) => role === 'secrets')).toMatchObject([
      { digest, site: 'plant-7' },
    ]);
    const sealed = await readBlob(medium.blobs, digest ?? 'sha256:', MAX_SEALED_BYTES);
    const address7 = { fleet: 'acme', site: 'plant-7', name: 'mqtt' };
    expect(await openSecretSet(sealed, hub.agent.identity, address7)).toMatchObject({ values: VALUES });
  });

  it('are not found in plain text in database, layout, media and registry storage', async () => {
    await using hub = await makeSite();
    const to = address();
    await publish(hub, to);
    await fill(to, join(hub.path, 'stick.tar'));
    expect(await filesThatShow(hub.path, PASSWORD)).toEqual([]);
    expect(await filesThatShow(registry.storage, 'fleet-ferry.role')).not.toEqual([]);
    expect(await filesThatShow(registry.storage, PASSWORD)).toEqual([]);
  });

  it('that the layout lost are reported before a medium is written', async () => {
    await using hub = await makeSite();
    const digest = digestIn(await newestStatement(hub), 'mqtt') ?? 'sha256:';
    await rm(join(hub.layout, 'blobs/sha256', hexOf(digest)));
    await expect(fill(hub.layout, join(hub.path, 'a.tar'))).rejects.toMatchObject({
      code: 'MISSING_BLOB',
      subject: digest,
    });
  });
});
