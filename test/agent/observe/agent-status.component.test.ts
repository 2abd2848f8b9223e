import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { holdSite, releaseSite } from '../../../agent/apply/operator/hold-site.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import schema from '../../../bundles/schemas/agent-status.schema.json' with { type: 'json' };
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';
import { createWorld, NOW, onePackage, SITE, testAgent, testEdge, type World } from '../world.ts';

/** Closed at every level, so that a field which the schema forgot is found. */
const closed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, it]) => [key, closed(it)] as const);
  const sealed = 'properties' in value ? { additionalProperties: false } : {};
  return { ...Object.fromEntries(entries), ...sealed };
};
const validate = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true }).compile(
  closed(schema) as object,
);

const judged = (agent: Agent, config = { registry: '', hub: '', windows: [] as string[] }) => {
  const status = JSON.parse(JSON.stringify(readStatus(agent, config)));
  validate(status);
  return { status, errors: validate.errors ?? [] };
};

const at = (world: World, days: number, more: Partial<Agent> = {}): Agent =>
  testAgent(world.agent.state, world.folder, { edge: testEdge(addDays(NOW, days)), ...more });

describe('the JSON status of an agent', () => {
  it('conforms to its schema before the first medium, after it, and on a stale machine after a break-glass import', async () => {
    await using world = await createWorld();
    expect(judged(world.agent)).toMatchObject({
      errors: [],
      status: { channel: null, stale: null, lease: null },
    });
    const agents = [
      {
        name: 'kiosk-1',
        key: world.agent.identity.key,
        freshness: { mode: 'lease', seconds: 14 * 86_400 } as const,
      },
    ];
    const site = { site: SITE, version: 1, agents };
    const release = { version: 1, bundle: packTestBundle(world.fleet, [onePackage('app', 'one')]) };
    const lease = { version: 3, release, issuedAt: NOW, expires: addDays(NOW, 30) };
    await importMedium(world.agent, await world.medium({ site, release, lease }));
    expect(judged(world.agent)).toMatchObject({
      errors: [],
      status: { lease: { version: 3, live: true }, stale: null },
    });

    await holdSite(world.agent, '8h', 'batch 17 is running');
    expect(judged(world.agent)).toMatchObject({ errors: [], status: { held: { operator: 'technician' } } });
    releaseSite(world.agent);

    writeFileSync(join(world.folder, 'machine/live/opt/app'), 'tampered');
    const policy = { ...world.agent.policy, onDrift: 'report', breakGlass: true } as const;
    await lookAround(at(world, 20, { policy }));
    expect(judged(at(world, 20))).toMatchObject({
      errors: [],
      status: {
        lease: { live: false, until: formatTime(addDays(NOW, 14)) },
        stale: { causes: [{ what: 'lease', code: 'LEASE_MISSING' }] },
        packages: [{ drift: [{}] }],
      },
    });

    mkdirSync(join(world.agent.state.directory, 'upgrade'));
    writeFileSync(join(world.agent.state.directory, 'upgrade/trial'), '2.0.0');
    const upgrade = expect.stringContaining('fleet-agent 2.0.0 is on trial');
    expect(judged(world.agent)).toMatchObject({ errors: [], status: { upgrade } });

    const checks = [{ type: 'exec', name: 'x', argv: ['false'], timeoutSeconds: 1 }] as const;
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'two', { checks })]);
    const late = at(world, 200, { policy });
    const wish = { acceptExpired: 'the line stands still' };
    await importMedium(late, await world.medium({ site, release: { version: 2, bundle } }), wish);
    const config = { registry: 'oci://registry.example/fleet', hub: 'https://hub.example', windows: [] };
    expect(judged(late, config)).toMatchObject({
      errors: [],
      status: {
        release: { version: 2, stale: true },
        lease: null,
        brokenGlass: { relaxed: ['release', 'lease'], release: 2 },
        stale: { causes: [{ what: 'release' }, { what: 'lease' }] },
        packages: [{ status: 'failed', wanted: { release: 2 } }],
      },
    });
  });
});
