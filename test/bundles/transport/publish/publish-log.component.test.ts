import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { collectRegistry } from '#bundles/transport/collect/collect-registry';
import { type PublishOptions, publishLayout } from '#bundles/transport/publish/publish-layout';
import { addDays } from '#bundles/time';
import { openLayoutDestination } from '../../../../scheduler/deliver/send/layout-destination.ts';
import { readAuditLog } from '../../../../scheduler/load/releases/audit-log.ts';
import { appendEntry } from '../../../../scheduler/release/audit/append-entry.ts';
import { openReleases } from '../../../../scheduler/release/write/open-releases.ts';
import { type AuditOffice, openAuditOffice } from '../../../scheduler/release/audit/audit-office.ts';
import { KIOSK, NOW } from '../../../scheduler/release/reissue/release-office.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { checkReachable, memoryRegistry } from './memory-destination.ts';

const signal = new AbortController().signal;

const openWorld = async () => {
  const office = await openAuditOffice();
  const folder = await temporaryDirectory('publish-log');
  await office.release(1, 'one');
  await office.append(await office.decision({ reason: 'one' }));
  const registry = memoryRegistry();
  return {
    office,
    registry,
    folder: folder.path,
    publish: async (options: Partial<PublishOptions> = {}, from = office.directory) => {
      const outcomes = await publishLayout(await openLayout(from), registry, {
        now: NOW,
        signal,
        ...options,
      });
      return Object.fromEntries(
        outcomes.map(({ repository, tag, outcome, error }) => [
          `${repository}:${tag}`,
          error?.code ?? outcome,
        ]),
      );
    },
    /** A copy of the layout as it is now. */
    copy: (name: string): string => {
      const to = join(folder.path, name);
      cpSync(office.directory, to, { recursive: true });
      return to;
    },
    [Symbol.asyncDispose]: async () => {
      await folder[Symbol.asyncDispose]();
      await office[Symbol.asyncDispose]();
    },
  };
};

/** Appends decisions to a copy of the layout. */
const appendTo = async (office: AuditOffice, directory: string, ...reasons: string[]): Promise<void> => {
  using releases = await openReleases(directory, { command: 'test', now: NOW });
  for (const reason of reasons)
    await appendEntry(releases, office.keys(), await office.decision({ reason }), NOW);
};

describe('publishing an audit log', () => {
  it('sends the log once, before the releases that name its head', async () => {
    await using world = await openWorld();
    expect(await world.publish()).toEqual({ 'audit:log': 'sent', 'prod/kiosk:release': 'sent' });
    checkReachable(world.registry, 'audit');
    const writes = world.registry.requests.filter((one) => /^PUT .*:(log|release)$/.test(one));
    expect(writes).toEqual(['PUT audit:log', 'PUT prod/kiosk:release']);
    expect(await world.publish()).toEqual({ 'audit:log': 'unchanged', 'prod/kiosk:release': 'unchanged' });
    await world.office.append(await world.office.decision({ reason: 'two' }));
    expect(await world.publish({ selection: { channels: [KIOSK] } })).toMatchObject({ 'audit:log': 'sent' });
    expect(await world.publish({ selection: { environments: ['prod'] } })).toMatchObject({
      'audit:log': 'unchanged',
    });
  });

  it('copies the log to a layout, from which the same log is read', async () => {
    await using world = await openWorld();
    const to = join(world.folder, 'mirror');
    {
      await using destination = await openLayoutDestination(to, NOW);
      await publishLayout(await openLayout(world.office.directory), destination, { now: NOW, signal });
    }
    const { roots } = world.office.keys();
    expect(await readAuditLog(await openLayout(to), roots)).toEqual(await world.office.read());
  });

  it('sends a log whose audit key was rotated', async () => {
    await using world = await openWorld();
    await world.office.rotate('audit');
    await world.office.release(2, 'two');
    expect(await world.publish()).toMatchObject({ 'audit:log': 'sent' });
    await world.office.append(await world.office.decision({ reason: 'two' }));
    expect(await world.publish()).toMatchObject({ 'audit:log': 'sent' });
  });

  it('A5: an older log over a newer one -> ROLLBACK', async () => {
    await using world = await openWorld();
    const older = world.copy('older');
    await world.office.append(await world.office.decision({ reason: 'two' }));
    await world.publish();
    const published = world.registry.tags.get('audit:log');
    expect((await world.publish({}, older))['audit:log']).toBe('ROLLBACK');
    expect(world.registry.tags.get('audit:log')).toBe(published);
  });

  it('A5: a log that continues an older one -> AUDIT_TRUNCATED', async () => {
    await using world = await openWorld();
    const fork = world.copy('fork');
    await appendTo(world.office, fork, 'other', 'and more');
    await world.office.append(await world.office.decision({ reason: 'two' }));
    await world.publish();
    expect((await world.publish({}, fork))['audit:log']).toBe('AUDIT_TRUNCATED');
  });

  it('A5: another log of the same length -> EQUIVOCATION', async () => {
    await using world = await openWorld();
    const fork = world.copy('fork');
    await appendTo(world.office, fork, 'other');
    await world.office.append(await world.office.decision({ reason: 'two' }));
    await world.publish();
    expect((await world.publish({}, fork))['audit:log']).toBe('EQUIVOCATION');
  });

  it('refuses a truncated log, and publishes the releases', async () => {
    await using world = await openWorld();
    await world.office.append(await world.office.decision({ reason: 'two' }));
    const stored = await world.office.stored();
    await world.office.store({ ...stored, lines: stored.lines.slice(0, 1) });
    expect(await world.publish()).toEqual({ 'audit:log': 'AUDIT_TRUNCATED', 'prod/kiosk:release': 'sent' });
  });
});

it('gc keeps the published log, and removes its older states', async () => {
  await using world = await openWorld();
  const { office, registry } = world;
  await world.publish();
  const first = registry.tags.get('audit:log');
  await office.append(await office.decision({ reason: 'two' }));
  await world.publish();
  const outcomes = await collectRegistry(await openLayout(office.directory), registry, {
    selection: {},
    retention: { keep: 0, since: addDays(NOW, 1) },
    held: new Set(),
    chain: office.keys().roots,
    remove: true,
    signal,
  });
  const log = outcomes.find(({ repository }) => repository === 'audit');
  expect(log).toMatchObject({ outcome: 'removed', tags: [`r-${first?.slice(7)}`] });
  const head = registry.tags.get('audit:log');
  expect(registry.tags.has(`audit:r-${head?.slice(7)}`)).toBe(true);
  expect(await world.publish()).toMatchObject({ 'audit:log': 'unchanged' });
  checkReachable(registry, 'audit');
});
