import { describe, expect, it } from 'vitest';
import { groupCommits } from '../../../../scheduler/hub/store/group-commits.ts';
import type { Tx } from '../../../../scheduler/hub/store/tables.ts';
import { testHub } from '../test-hub.ts';

const addToken = async (tx: Tx, id: string) => {
  await tx
    .insertInto('token')
    .values({
      id,
      hash: id,
      scope: 'reader',
      site: null,
      agent: null,
      environment: null,
      cluster_type: null,
      labels: null,
      replace_key: 0,
      person: null,
      allowances: null,
      note: null,
      created_at: '2026-11-21T08:00:00Z',
      expires_at: '2026-12-21T08:00:00Z',
      used_at: null,
      used_by: null,
      used_key: null,
      revoked_at: null,
    })
    .execute();
  return id;
};

const setup = async () => {
  const commits: number[] = [];
  let statements = 0;
  const hub = await testHub({
    log: ({ query }) => {
      statements += 1;
      if (query.sql.startsWith('commit')) commits.push(statements);
    },
  });
  commits.length = 0;
  const names = async () => {
    const rows = await hub.store.db.selectFrom('token').select('id').orderBy('id').execute();
    return rows.map(({ id }) => id);
  };
  const run = groupCommits({
    keyOf: (id: string) => id.split(' ')[0] ?? id,
    work: (ids) =>
      hub.store.transact(async (tx) => {
        const results: string[] = [];
        for (const id of ids) {
          results.push(await addToken(tx, id));
          if (id === 'poison') throw new Error('poison');
        }
        return results;
      }),
  });
  return { hub, names, commits, run };
};

const IDS = Array.from({ length: 40 }, (_, index) => `t${String(index).padStart(2, '0')}`);

describe('concurrent writes', () => {
  it('share transactions, and each gets its own result', async () => {
    const { hub, names, commits, run } = await setup();
    await using _ = hub;
    expect(await Promise.all(IDS.map((id) => run(id)))).toEqual(IDS);
    expect(await names()).toEqual(IDS);
    expect(commits.length).toBeLessThan(IDS.length / 4);
  });

  it('are stored except the failing one, which alone gets its error', async () => {
    const { hub, names, run } = await setup();
    await using _ = hub;
    const settled = await Promise.allSettled(IDS.map((id, index) => run(index === 17 ? 'poison' : id)));
    const failed = settled.flatMap((one, index) => (one.status === 'rejected' ? [index] : []));
    expect(failed).toEqual([17]);
    expect(await names()).toEqual(IDS.filter((_, index) => index !== 17));
    await expect(run('poison')).rejects.toThrow('poison');
    expect(await run('later')).toBe('later');
  });

  it('that depend on each other run in separate transactions, in order', async () => {
    const { hub, names, commits, run } = await setup();
    await using _ = hub;
    await Promise.all(['a', 'b', 'b again', 'c', 'b at last'].map((id) => run(id)));
    expect(await names()).toEqual(['a', 'b', 'b again', 'b at last', 'c']);
    expect(commits).toHaveLength(3);
  });
});
