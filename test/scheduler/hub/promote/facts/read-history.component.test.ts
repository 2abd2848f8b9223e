import { describe, expect, it } from 'vitest';
import { formatChannel } from '#bundles/names';
import { addDays, formatTime } from '#bundles/time';
import { readHistory, readImporting } from '../../../../../scheduler/hub/promote/facts/read-history.ts';
import type { AgentRow } from '../../../../../scheduler/hub/store/tables.ts';
import { chain, enrolledHub, type Happening, HOSTS, NOW, report } from '../../test-hub.ts';

const daysAgo = (days: number): string => formatTime(addDays(NOW, -days));
const imported = (version: number, at: string): Happening => ({
  type: 'imported',
  release: { ...HOSTS, version },
  at,
});

const HOSTS_COLUMNS = { environment: HOSTS.environment, cluster_type: HOSTS.clusterType };

/** Release 4 is the first of the candidate. */
const CHANNELS = [
  { channel: formatChannel(HOSTS), since: { version: 4, issuedAt: daysAgo(9) }, now: 'release 5' },
];

describe('the first import of a candidate by an agent', () => {
  it('is the same in every query, also after an older report arrived later', async () => {
    await using hub = await enrolledHub();
    const { db } = hub.store;
    const lines = chain(hub.agent, [
      imported(3, daysAgo(8)),
      imported(4, daysAgo(6)),
      imported(5, daysAgo(4)),
    ]);
    const ask = async () => {
      const agents = await readImporting(db, HOSTS.environment, CHANNELS, []);
      return (await readHistory(db, agents, CHANNELS))[0]?.imported?.at;
    };
    expect(await ask()).toBeUndefined();
    const newer = await hub.stick();
    await report(newer, hub.agent, lines, 3, 3);
    await hub.importFrom(newer);
    expect(await ask()).toBe(daysAgo(4));
    expect(await ask()).toBe(daysAgo(4));
    const older = await hub.stick();
    await report(older, hub.agent, lines, 1, 2);
    await hub.importFrom(older);
    expect(await ask()).toBe(daysAgo(6));
    // Another candidate has its own first import.
    const later = CHANNELS.map((one) => ({ ...one, since: { version: 5, issuedAt: daysAgo(5) } }));
    const other = await readHistory(db, await readImporting(db, HOSTS.environment, later, []), later);
    expect(other[0]?.imported?.at).toBe(daysAgo(4));
    expect(await ask()).toBe(daysAgo(6));
  });

  it("counts for the agent's current key and channel only", async () => {
    await using hub = await enrolledHub();
    const { db } = hub.store;
    const stick = await hub.stick();
    await report(stick, hub.agent, chain(hub.agent, [imported(4, daysAgo(6))]));
    await hub.importFrom(stick);
    const at = async (changes: Partial<AgentRow>) => {
      await db.updateTable('agent').set(changes).execute();
      const agents = await readImporting(db, HOSTS.environment, CHANNELS, []);
      return (await readHistory(db, agents, CHANNELS))[0]?.imported?.at;
    };
    expect(await at({ life: 2 })).toBeUndefined();
    expect(await at({ life: 1 })).toBe(daysAgo(6));
    expect(await at({ cluster_type: 'other' })).toBeUndefined();
    expect(await at({ environment: 'qa' })).toBeUndefined();
    expect(await at(HOSTS_COLUMNS)).toBe(daysAgo(6));
  });
});
