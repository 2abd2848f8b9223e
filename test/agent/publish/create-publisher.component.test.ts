import { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../agent/config/config.ts';
import { readConfig } from '../../../agent/config/read-config.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import type { AgentFacts, Happening } from '../../../agent/model/agent-facts.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import { createPublisher } from '../../../agent/publish/create-publisher.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { folderTarget } from '../folder-target.ts';
import { writeFileSync } from 'node:fs';
import { createWorld, onePackage, type World } from '../world.ts';

const { signal } = new AbortController();
const configOf = (world: World, more: Partial<Config> = {}): Config =>
  readConfig('/dev/null', { state: world.agent.state.directory, interval: '5m', ...more });

/** The world's agent, with a target that keeps what it is asked to show. */
const watched = (world: World) => {
  const shown: { readonly facts: AgentFacts; readonly happenings: readonly Happening[] }[] = [];
  const target = {
    ...folderTarget(join(world.folder, 'machine')),
    show: async (facts: AgentFacts, happenings: readonly Happening[]) => {
      shown.push({ facts, happenings });
      return [];
    },
  };
  const agent: Agent = Object.assign(world.agent, { targets: [target] });
  return { agent, shown };
};

const told = (happenings: readonly Happening[] = []): readonly string[] =>
  happenings.map(({ reason, message, isWarning }) => `${isWarning ? '! ' : ''}${reason} ${message}`);

const failing = [{ type: 'exec', name: 'answers', argv: ['false'], timeoutSeconds: 1 }] as const;

describe('the publisher of an agent', () => {
  it('shows each happening once: applied, failed, rolled back, corrected, removed', async () => {
    await using world = await createWorld();
    const { agent, shown } = watched(world);
    await using publisher = await createPublisher(agent, configOf(world), '1.2.3');
    await world.release(1, [onePackage('app', 'one'), onePackage('other', 'one')]);
    await publisher.publish(signal);
    await world.release(2, [onePackage('app', 'two', { checks: failing }), onePackage('other', 'one')]);
    await publisher.publish(signal);
    writeFileSync(join(world.folder, 'machine/live/opt/other'), 'edited');
    await lookAround(agent);
    await publisher.publish(signal);
    await world.release(3, [onePackage('app', 'one')]);
    await publisher.publish(signal);
    await publisher.publish(signal);
    expect(shown.map(({ happenings }) => told(happenings))).toEqual([
      ['Applied app: release 1 applied (1 created)', 'Applied other: release 1 applied (1 created)'],
      [
        '! Failed app: CHECK_FAILED: answers: not fine',
        '! RolledBack app: rolled back to release 1: CHECK_FAILED: answers: not fine',
      ],
      [
        '! Drifted other: 1 object differs from the package: file:/opt/other',
        'Corrected other: corrected: file:/opt/other',
      ],
      ['Removed other: removed (1 deleted)'],
      [],
    ]);
  });

  it('shows an event that was acknowledged before it was shown, if it was collected', async () => {
    await using world = await createWorld();
    const { agent, shown } = watched(world);
    await using publisher = await createPublisher(agent, configOf(world), '1.2.3');
    await world.release(1, [onePackage('app', 'one')]);
    publisher.collect();
    agent.state.db.exec('DELETE FROM outbox');
    await publisher.publish(signal);
    expect(told(shown[0]?.happenings)).toEqual(['Applied app: release 1 applied (1 created)']);
  });

  it('does not stop the agent when it cannot collect events', async () => {
    await using world = await createWorld();
    const { agent } = watched(world);
    await using publisher = await createPublisher(agent, configOf(world), '1.2.3');
    agent.state.db.exec('ALTER TABLE outbox RENAME TO elsewhere');
    publisher.collect();
    await expect(publisher.publish(signal)).rejects.toThrow(/no such table: outbox/);
    agent.state.db.exec('ALTER TABLE elsewhere RENAME TO outbox');
  });

  it('reads no events where no target shows them', async () => {
    await using world = await createWorld();
    await using publisher = await createPublisher(world.agent, configOf(world), '1.2.3');
    world.agent.state.db.exec('ALTER TABLE outbox RENAME TO elsewhere');
    expect(await publisher.publish(signal)).toEqual([]);
    world.agent.state.db.exec('ALTER TABLE elsewhere RENAME TO outbox');
  });

  it('keeps happenings until the target takes them, and names what the agent waits for', async () => {
    await using world = await createWorld();
    const { agent, shown } = watched(world);
    await using publisher = await createPublisher(agent, configOf(world), '1.2.3');
    await publisher.publish(signal);
    expect(shown[0]?.facts).toMatchObject({
      verdict: 'Waiting',
      waitsFor: ['the first release: none was accepted here yet'],
    });
    await world.release(1, [onePackage('app', 'one', { checks: failing })]);
    const [target] = agent.targets;
    const away = { ...target, show: () => Promise.reject(new Error('away')) };
    Object.assign(agent, { targets: [away] });
    await using other = await createPublisher(agent, configOf(world), '1.2.3');
    await world.release(2, [onePackage('app', 'two')]);
    await expect(other.publish(signal)).rejects.toThrow('away');
    Object.assign(agent, { targets: [target] });
    Object.assign(away, { show: target?.show });
    await other.publish(signal);
    expect(told(shown.at(-1)?.happenings)).toEqual(['Applied app: release 2 applied (1 created)']);
    expect(shown.at(-1)?.facts).toMatchObject({ verdict: 'Ready', waitsFor: [], version: '1.2.3' });
  });
});

describe('metrics', () => {
  it('are a file that node_exporter reads, replaced as a whole, for everybody to read', async () => {
    await using world = await createWorld();
    await using folder = await temporaryDirectory('textfile');
    const metricsFile = join(folder.path, 'fleet_agent.prom');
    await using publisher = await createPublisher(world.agent, configOf(world, { metricsFile }), '1.2.3');
    await world.release(7, [onePackage('app', 'one'), onePackage('bad', 'one', { checks: failing })]);
    await lookAround(world.agent);
    expect(await publisher.publish(signal)).toEqual([]);
    const text = await readFile(metricsFile, 'utf8');
    expect(text).toContain(
      'fleet_agent_info{fleet="' +
        world.fleet.name +
        '",agent="plant-7/kiosk-1",channel="prod/factory-host",version="1.2.3"} 1',
    );
    expect(text).toContain('fleet_agent_package_healthy{package="app"} 1');
    expect(text).toContain('fleet_agent_package_healthy{package="bad"} 0');
    expect(text).toContain('fleet_agent_ready 0');
    expect(text).toContain('fleet_agent_release_version 7');
    expect(text).toContain('fleet_agent_look_interval_seconds 300\n');
    expect(text).toMatch(/^fleet_agent_last_look_timestamp_seconds 1\d{9}$/m);
    expect(text).not.toContain('contact_failing{');
    expect((await stat(metricsFile)).mode & 0o777).toBe(0o644);
    expect(await readdir(folder.path)).toEqual(['fleet_agent.prom']);
  });

  it('follow no link beside the file, which the user of node_exporter can make', async () => {
    await using world = await createWorld();
    await using folder = await temporaryDirectory('textfile');
    const metricsFile = join(folder.path, 'fleet_agent.prom');
    const foreign = join(folder.path, 'shadow');
    await writeFile(foreign, 'root:x\n', { mode: 0o600 });
    await symlink(foreign, `${metricsFile}.new`);
    await using publisher = await createPublisher(world.agent, configOf(world, { metricsFile }), '1.2.3');
    expect(await publisher.publish(signal)).toEqual([]);
    expect(await readFile(foreign, 'utf8')).toBe('root:x\n');
    expect((await stat(foreign)).mode & 0o777).toBe(0o600);
    expect(await readFile(metricsFile, 'utf8')).toContain('fleet_agent_ready 0');
    expect((await readdir(folder.path)).toSorted()).toEqual(['fleet_agent.prom', 'shadow']);
  });

  it('at an address that no machine has are refused as a mistake in the configuration', async () => {
    await using world = await createWorld();
    const config = configOf(world, { metricsAddress: '127.0.0.1:99999' });
    await expect(createPublisher(world.agent, config, '1.2.3')).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  it('that cannot be written to their file are reported, and the rest is shown', async () => {
    await using world = await createWorld();
    const { agent, shown } = watched(world);
    const metricsFile = join(world.folder, 'missing/fleet_agent.prom');
    const config = configOf(world, { metricsFile });
    await using publisher = await createPublisher(agent, config, '1.2.3');
    expect(await publisher.publish(signal)).toEqual([
      expect.stringMatching(`^the metrics file ${metricsFile} cannot be written: .*ENOENT`),
    ]);
    expect(shown).toHaveLength(1);
  });
});
