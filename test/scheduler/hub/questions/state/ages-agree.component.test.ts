import { describe, expect, it } from 'vitest';
import { formatTime } from '#bundles/time';
import { shown } from '../../../../harness/run/shown.ts';
import { answerWhere } from '../../../../../scheduler/hub/questions/answers/answer-where.ts';
import { atOrNow, parseQuestion } from '../../../../../scheduler/hub/questions/history/parse-question.ts';
import { listSites } from '../../../../../scheduler/hub/questions/status/list-sites.ts';
import { readStatus } from '../../../../../scheduler/hub/questions/status/read-status.ts';
import type { Row } from '../../../../../scheduler/hub/questions/state/what-runs-where.ts';
import type { ReportPredicate } from '../../../../../bundles/formats/statements/predicates.ts';
import { chain, enrolled, NOW, report } from '../../test-hub.ts';
import { applied, days, PROD, shop } from '../history/shop-hub.ts';

type Where = {
  readonly agents: readonly {
    readonly agent: string;
    readonly heardAt: string;
    readonly saidAt: string | null;
  }[];
};

/** The age of the agent ship/bridge, whose report arrived an hour ago, as each answer gives it. */
const ages = async (words: Partial<ReportPredicate>) => {
  await using hub = await shop();
  const agent = await enrolled(hub, 'ship/bridge', PROD);
  const arrived = new Date(NOW.getTime() - 3_600_000);
  const stick = await hub.stick('ship');
  const lines = chain(agent, [applied('web', hub.prodSecond, days(-9))]);
  await report(stick, agent, lines, 1, 1, { time: formatTime(arrived), ...words });
  await hub.importFrom(stick, arrived);

  const question = await parseQuestion(hub, { workload: 'web', site: 'ship' }, NOW);
  const where = await answerWhere(hub, { ...question, at: atOrNow(question, NOW) }, NOW);
  const status = await readStatus(hub, { site: 'ship' }, NOW);
  const { sites } = await listSites(hub, { site: 'ship' }, { limit: 10, cursor: undefined }, NOW);
  const [workload] = (where.json as Where).agents;
  const row = (status.json as { readonly rows: readonly Row[] }).rows.find(
    ({ assignment }) => assignment === 'web',
  );
  return {
    arrived: formatTime(arrived),
    heard: [workload?.heardAt, row?.heardAt],
    said: [workload?.saidAt, row?.saidAt, sites[0]?.saidAt],
    seconds: row?.saidAgeSeconds,
    // The status also has the ages of other columns.
    texts: [where.lines, status.lines].map((lines) => {
      const text = shown(lines).join('\n');
      return AGES.find((age) => text.includes(age));
    }),
  };
};

/** Texts of an age, the one that contains the other first. */
const AGES = ['1 h ago (state of 3 d ago)', '1 h ago'];

const looks = (web: string | null) => ({ packages: { web } });
const [ONE, THREE] = [formatTime(days(-1)), formatTime(days(-3))];

describe('where and the page of a workload, status, and the overview give the same age of an agent', () => {
  it.each([
    ['that looked long before its report', { lookedAt: THREE }, THREE],
    ['that looked at this package longer ago', { lookedAt: ONE, looks: looks(THREE) }, THREE],
  ] as const)('%s', async (_, words, said) => {
    const found = await ages(words);
    expect(found.heard).toEqual([found.arrived, found.arrived]);
    expect(found.said).toEqual([said, said, said]);
    expect(found.seconds).toBe(3 * 86_400);
    expect(found.texts).toEqual([AGES[0], AGES[0]]);
  });

  it('whose report has no time of a look: the time of the report', async () => {
    const found = await ages({});
    expect(found.said).toEqual([found.arrived, found.arrived, found.arrived]);
    expect(found.texts).toEqual(['1 h ago', '1 h ago']);
  });

  it('that never looked: none', async () => {
    const found = await ages({ lookedAt: ONE, looks: looks(null) });
    expect(found.heard).toEqual([found.arrived, found.arrived]);
    expect(found.said).toEqual([null, null, null]);
    expect(found.seconds).toBeNull();
    expect(found.texts).toEqual(['1 h ago', '1 h ago']);
  });
});
