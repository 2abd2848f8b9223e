import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { SITE_EVIDENCE_PREDICATE } from '#bundles/media-types';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import Evidence from '../../../scheduler/commands/evidence.ts';
import History from '../../../scheduler/commands/observe/history.ts';
import SitesRevoke from '../../../scheduler/commands/sites/revoke.ts';
import { applied, days, PROD, shop } from '../hub/questions/history/shop-hub.ts';
import { chain, enrolled, report, type TestHub } from '../hub/test-hub.ts';
import { runCommandClass } from './run-command-class.ts';
import { formatTime } from '#bundles/time';

const places = (hub: TestHub): readonly string[] =>
  Object.entries({
    keys: join(hub.path, 'keys'),
    layout: hub.layout,
    db: hub.db,
    now: '2026-11-23T08:00:00Z',
  }).flatMap(([flag, value]) => [`--${flag}`, value]);

type Read = {
  readonly agents: readonly {
    readonly agent: string;
    readonly lastReport: { readonly digest: string } | null;
    readonly packages: readonly {
      readonly assignment: string;
      readonly lookedAt: string | null;
      readonly package: { readonly value: string };
    }[];
  }[];
  readonly audit: { readonly entries: readonly { readonly predicate: { readonly change?: string } }[] };
};

it('evidence of a site lists what ran at a time and what changed, signed by the audit key, also for a revoked agent', async () => {
  await using hub = await shop();
  const agent = 'plant-7/press-1';
  const revoked = await runCommandClass(SitesRevoke, [
    agent,
    '--person',
    'ada',
    '--reason',
    'sold',
    ...places(hub),
  ]);
  expect(revoked.code, revoked.err).toBe(0);
  const out = join(hub.path, 'auditor');
  const read = async (at: string): Promise<Read> => {
    const made = await runCommandClass(Evidence, ['plant-7', '--at', at, '--out', out, ...places(hub)]);
    expect(made.code, made.err).toBe(0);
    const name = `plant-7-${at.replaceAll(/[-:]/g, '')}.evidence`;
    const bytes = await readFile(join(out, `${name}.json`));
    const { subjects } = verifyStatement(
      [await readFile(join(out, `${name}.sigstore.json`))],
      { keys: hub.keys.root.audit, threshold: 1 },
      SITE_EVIDENCE_PREDICATE,
      'the evidence',
    );
    expect(subjects).toEqual([{ name: 'evidence', digest: digestOf(bytes) }]);
    return JSON.parse(bytes.toString()) as Read;
  };
  const before = await read(formatTime(days(1)));
  expect(before.agents).toMatchObject([
    {
      agent,
      lastReport: { digest: expect.stringMatching(/^sha256:/) },
      packages: [{ assignment: 'web', package: { value: expect.stringMatching(/^sha256:/) } }],
    },
  ]);
  const after = await read('2026-11-23T08:00:00Z');
  expect(after.agents).toEqual([]);
  expect(after.audit.entries.map(({ predicate }) => predicate.change)).toContain('sites revoke');
  const history = await runCommandClass(History, [agent, ...places(hub)]);
  expect(history.out).toContain('plant-7/press-1 web');
});

it('evidence of an unknown site, or at an invalid time, is refused in one message and writes nothing', async () => {
  await using hub = await shop();
  const unknown = await runCommandClass(Evidence, ['plant-9', ...places(hub)]);
  expect([unknown.code, unknown.err]).toEqual([5, expect.stringContaining('no site plant-9')]);
  const odd = await runCommandClass(Evidence, ['plant-7', '--at', '2026-02-30', ...places(hub)]);
  expect([odd.code, odd.err]).toEqual([2, expect.stringContaining('is not a time')]);
});

it("evidence has the time of each package's last comparison from the signed report", async () => {
  await using hub = await shop();
  const agent = await enrolled(hub, 'plant-8/press-1', PROD);
  const at = formatTime(days(-1));
  const lines = chain(
    agent,
    ['web', 'old', 'odd'].map((name) => applied(name, digestOf(name), days(-2))),
  );
  const stick = await hub.stick('looks');
  await report(stick, agent, lines, 1, 3, {
    time: at,
    lookedAt: at,
    looks: { packages: { old: formatTime(days(-2)), odd: null } },
  });
  await hub.importFrom(stick, days(-1));
  const late = '2026-11-23T08:00:00Z';
  const out = join(hub.path, 'looks-of-8');
  const made = await runCommandClass(Evidence, ['plant-8', '--at', late, '--out', out, ...places(hub)]);
  expect(made.code, made.err).toBe(0);
  const bytes = await readFile(join(out, `plant-8-${late.replaceAll(/[-:]/g, '')}.evidence.json`));
  const { agents } = JSON.parse(bytes.toString()) as Read;
  expect(agents[0]?.lastReport).toMatchObject({ lookedAt: at });
  expect(
    Object.fromEntries(agents[0]?.packages.map(({ assignment, lookedAt }) => [assignment, lookedAt]) ?? []),
  ).toEqual({ web: at, old: formatTime(days(-2)), odd: null });
});
