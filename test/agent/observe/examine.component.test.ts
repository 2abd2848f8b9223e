import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addDays } from '#bundles/time';
import { generatePrivateKey } from '#bundles/trust/keys/key';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import type { Config } from '../../../agent/config/config.ts';
import { ageFile } from '../../../agent/hub/age-identity.ts';
import { keyFile } from '../../../agent/hub/agent-key.ts';
import { examine, examineMachine, type Finding } from '../../../agent/observe/examine.ts';
import { notEnrolled, stateFile } from '../../../agent/store/state.ts';
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';
import { createWorld, NOW, onePackage, testEdge, type World } from '../world.ts';

const look = async (world: World, more: Partial<Parameters<typeof examine>[0]> = {}) => {
  const config = { root: world.folder, services: 'none', targets: ['host'] } as unknown as Config;
  const findings = await examine({ ...world.agent, config, ...more });
  return Object.fromEntries(findings.map((it) => [it.name, it])) as Record<
    'clock' | 'disk' | 'permissions' | 'systemd' | 'root' | 'freshness' | 'store' | 'upgrade' | 'key',
    Finding
  >;
};

describe('the doctor', () => {
  it('finds nothing wrong on a healthy machine', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const findings = await look(world);
    expect(Object.values(findings).map(({ name, verdict }) => [name, verdict])).toEqual([
      ['clock', 'good'],
      ['disk', 'good'],
      ['permissions', 'good'],
      ['folders', 'good'],
      ['systemd', 'good'],
      ['root', 'good'],
      ['freshness', 'good'],
      ['secrets', 'good'],
      ['store', 'good'],
    ]);
  });

  it('finds a clock that signatures prove wrong, a full disk, a key that others can read and a root that soon expires', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const past = await look(world, { edge: testEdge(addDays(NOW, -300)), freeBytes: async () => 1 });
    expect(past.clock).toMatchObject({ verdict: 'bad', message: expect.stringContaining('set the clock') });
    expect(past.disk.verdict).toBe('warning');
    await chmod(keyFile(world.agent.state.directory), 0o644);
    expect((await look(world)).permissions.verdict).toBe('bad');
    await chmod(keyFile(world.agent.state.directory), 0o600);
    await chmod(ageFile(world.agent.state.directory), 0o640);
    expect((await look(world)).permissions).toMatchObject({
      verdict: 'bad',
      message: expect.stringContaining('agent.age'),
    });
    expect((await look(world, { edge: testEdge(addDays(NOW, 650)) })).root.verdict).toBe('warning');
    expect((await look(world, { edge: testEdge(addDays(NOW, 700)) })).root.verdict).toBe('bad');
  });

  it.each([
    ['is that of another machine', generatePrivateKey(), 'the key in FILE has the fingerprint '],
    ['is damaged', 'no key', 'FILE: this is not a private key in plain PKCS#8 PEM. '],
  ])('finds a key that %s, and names the way out', async (_what, text, said) => {
    await using world = await createWorld();
    const file = keyFile(world.agent.state.directory);
    await writeFile(file, text, { mode: 0o600 });
    const { key } = await look(world);
    expect(key).toMatchObject({
      verdict: 'bad',
      message: expect.stringMatching(/\. Restore the file from a backup, .*; the office replaces the key\.$/),
    });
    expect(key.message.replace(file, 'FILE').startsWith(said)).toBe(true);
  });

  it('finds an upgrade of the agent that was rolled back', async () => {
    await using world = await createWorld();
    const folder = join(world.agent.state.directory, 'upgrade');
    await mkdir(folder);
    await writeFile(join(folder, 'undone'), 'fleet-agent 2.0.0 did not come up: it ended 3 times.\n');
    expect((await look(world)).upgrade).toEqual({
      name: 'upgrade',
      verdict: 'warning',
      message: 'fleet-agent 2.0.0 did not come up: it ended 3 times.',
    });
  });

  it('finds a state directory or a database that others can read', async () => {
    await using world = await createWorld();
    const { directory } = world.agent.state;
    await chmod(directory, 0o755);
    expect((await look(world)).permissions).toMatchObject({
      verdict: 'bad',
      message: `others can read or change ${directory}: run chmod 700 on it`,
    });
    await chmod(directory, 0o700);
    await chmod(`${stateFile(directory)}-wal`, 0o604);
    expect((await look(world)).permissions).toMatchObject({
      verdict: 'bad',
      message: `others can read or change ${stateFile(directory)}-wal: run chmod 600 on it`,
    });
  });

  it('finds a stale release with its time, cause and remedy, and a break-glass import', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const { freshness } = await look(world, { edge: testEdge(addDays(NOW, 200)) });
    expect(freshness.verdict).toBe('bad');
    expect(freshness.message).toMatch(
      /^stale since 2027-04-30T00:00:00Z, .*ended at 2027-04-30.*; ask for a newer/,
    );
    const policy = { ...world.agent.policy, breakGlass: true };
    const late = { ...world.agent, policy, edge: testEdge(addDays(NOW, 200)) };
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'two')]);
    const medium = await world.medium({ release: { version: 2, bundle } });
    await importMedium(late, medium, { acceptExpired: 'the line stands still' });
    expect((await look(world)).freshness).toMatchObject({
      verdict: 'warning',
      message: expect.stringContaining('technician imported expired statements'),
    });
  });

  it('does not examine systemd or the root when the only target is a cluster', async () => {
    await using world = await createWorld();
    const config = { root: '/no/such', services: 'systemd', targets: ['kubernetes'] } as unknown as Config;
    expect(await look(world, { config })).toMatchObject({
      permissions: { verdict: 'good' },
      systemd: { verdict: 'good', message: 'not used here (targets without host)' },
    });
  });

  it('examines a machine that is not enrolled yet', async () => {
    await using world = await createWorld();
    const state = join(world.folder, 'not/yet');
    const config = { root: world.folder, services: 'none', targets: ['host'], state } as unknown as Config;
    const examine = async () => [{ name: 'cluster', verdict: 'good', message: 'answers' } as const];
    const found = await examineMachine(
      { ...world.agent, config, targets: [{ examine }] },
      notEnrolled(config.state),
    );
    expect(found.map(({ name, verdict }) => `${name} ${verdict}`)).toEqual([
      'enrolment warning',
      'clock good',
      'disk good',
      'permissions good',
      'systemd good',
      'cluster good',
    ]);
    expect(found[0]?.message).toContain(`no agent is enrolled in ${state}. Start with "fleet-agent enroll"`);
  });

  it('warns of the missing root before the first medium, with what to do', async () => {
    await using world = await createWorld();
    expect((await look(world)).root).toMatchObject({ verdict: 'warning' });
  });
});
