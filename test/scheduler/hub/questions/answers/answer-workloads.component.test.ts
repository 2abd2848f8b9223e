import { describe, expect, it } from 'vitest';
import { shown } from '../../../../harness/run/shown.ts';
import {
  answerWorkloads,
  type WorkloadRow,
} from '../../../../../scheduler/hub/questions/answers/answer-workloads.ts';
import { recordLinkStates } from '../../../../../scheduler/hub/questions/state/link-states.ts';
import { formatTime } from '#bundles/time';
import { chain, enrolled, NOW, report, type TestHub } from '../../test-hub.ts';
import { applied, days, QA, shop } from '../history/shop-hub.ts';

type Json = {
  readonly environments: readonly string[];
  readonly workloads: readonly WorkloadRow[];
  readonly next: string | null;
};

const ask = async (
  hub: TestHub,
  asked: { readonly workload?: string; readonly environment?: string; readonly cursor?: string } = {},
  limit = 100,
) => {
  const { lines, json } = await answerWorkloads(
    hub,
    { ...asked, page: { limit, cursor: asked.cursor } },
    NOW,
  );
  return { lines: shown(lines), ...(json as Json) };
};

describe('the workloads of a fleet', () => {
  it('list for each environment what its newest release wants and what its agents run', async () => {
    await using hub = await shop();
    const { lines, workloads, next } = await ask(hub);
    expect(workloads).toMatchObject([
      {
        workload: 'extra',
        cells: [{ environment: 'qa', agents: 1, versions: [{ name: 'extra 2.0', agents: 0 }] }],
      },
      {
        workload: 'web',
        cells: [
          {
            environment: 'prod',
            agents: 1,
            failed: 0,
            versions: [{ name: 'web 1.0', agents: 1, releases: [{ channel: 'prod/kiosk', version: 3 }] }],
          },
          {
            environment: 'qa',
            agents: 1,
            versions: [{ name: 'web 2.0', agents: 1, releases: [{ channel: 'qa/kiosk', version: 2 }] }],
          },
        ],
      },
    ]);
    expect(next).toBeNull();
    expect(lines).toEqual([
      'extra',
      '  qa  extra 2.0, runs at 0 of 1 agents',
      'web',
      '  prod  web 1.0, runs at 1 of 1 agents',
      '  qa  web 2.0, runs at 1 of 1 agents',
    ]);
  });

  it('count agents with a package of no current release, and agents with failures or drift', async () => {
    await using hub = await shop();
    const rig = await enrolled(hub, 'lab/rig-2', QA);
    const lines = chain(rig, [
      applied('web', hub.first, days(-1)),
      applied('web', hub.second, days(-1), { outcome: 'failed', code: 'CHECK_FAILED' }),
      { type: 'drift', assignment: 'web', message: '1 object differs' },
    ]);
    const stick = await hub.stick('rig-2');
    await report(stick, rig, lines);
    await hub.importFrom(stick);
    const { workloads } = await ask(hub, { workload: 'web', environment: 'qa' });
    expect(workloads).toMatchObject([
      {
        workload: 'web',
        cells: [
          {
            environment: 'qa',
            agents: 2,
            failed: 1,
            drifted: 1,
            versions: [
              { name: 'web 2.0', agents: 1 },
              { name: 'web 1.0', agents: 1, releases: [] },
            ],
          },
        ],
      },
    ]);
  });

  it('come in pages, with the environments in the order of the promotion chain', async () => {
    await using hub = await shop();
    const link = { from: 'qa', to: 'prod', mode: 'manual', state: 'ready', candidate: null };
    await recordLinkStates(hub.store, [{ ...link, waitsFor: null, unmet: [], why: null }], formatTime(NOW));
    const first = await ask(hub, {}, 1);
    expect(first.environments).toEqual(['qa', 'prod']);
    expect(first.workloads.map(({ workload }) => workload)).toEqual(['extra']);
    const second = await ask(hub, { cursor: first.next ?? '' }, 1);
    expect(second.workloads.map(({ workload }) => workload)).toEqual(['web']);
    expect(second.next).toBeNull();
    await expect(ask(hub, { cursor: 'x' })).rejects.toMatchObject({ code: 'USAGE' });
  });
});
