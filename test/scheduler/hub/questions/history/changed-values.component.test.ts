import { expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { answerHistory } from '../../../../../scheduler/hub/questions/answers/answer-history.ts';
import { answerWhere } from '../../../../../scheduler/hub/questions/answers/answer-where.ts';
import { atOrNow, parseQuestion } from '../../../../../scheduler/hub/questions/history/parse-question.ts';
import { setManyValues } from '../../../../../scheduler/hub/sites/set-many-values.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { formatLines } from '../../../../../cli/format-table.ts';
import { chain, enrolled, type Happening, NOW, report, type TestHub, testHub } from '../../test-hub.ts';
import { applied, days, deployment, packageIn, PROD, release } from './shop-hub.ts';

/** Sets values at the office. @returns the digest of the document that the site gets then */
const given = async (hub: TestHub, set: { readonly [name: string]: string }) => {
  const changes = [{ site: 'plant-7', set, unset: [] }];
  const signer = await siteSigner(hub);
  const { sites } = await setManyValues(hub.store, { changes, signer, now: days(-6) });
  return digestOf(sites[0]?.site_values ?? '');
};

const asked = async (hub: TestHub) => {
  const question = await parseQuestion(hub, { name: 'plant-7' }, NOW);
  const history = await answerHistory(hub, question, NOW);
  const where = await answerWhere(hub, { ...question, at: atOrNow(question, NOW) }, NOW);
  return {
    lines: formatLines(history.lines, 80).map((line) => line.trim()),
    where: formatLines(where.lines, 80).join(' ').replaceAll(/\s+/g, ' '),
    json: JSON.stringify([history.json, where.json]),
  };
};

it('names values that changed at a site with old and new, those of the package only, and no secret', async () => {
  await using hub = await testHub();
  const agent = await enrolled(hub, 'plant-7/press-1', PROD);
  const web = await packageIn(hub, await release(hub, PROD, 1, { web: deployment('1.0', 2) }), 'web');
  const first = await given(hub, { line: 'a', adminPassword: 'hunter1' });
  const second = await given(hub, { line: 'b', adminPassword: 'hunter2', other: 'x' });
  const named = (values: readonly object[]): Partial<Happening> => ({
    detail: { operation: 'apply', taken: digestOf(JSON.stringify(values)), values: values as never },
  });
  const lines = chain(agent, [
    { type: 'imported', siteValues: first, at: '2026-11-16T08:00:00Z' },
    applied('web', web, days(-5), { siteValues: first, ...named([{ name: 'line', new: '"a"' }]) }),
    { type: 'imported', siteValues: second, at: '2026-11-17T08:00:00Z' },
    applied('web', web, days(-4), {
      siteValues: second,
      ...named([{ name: 'line', old: '"a"', new: '"b"' }]),
    }),
    applied('web', web, days(-3), { siteValues: first, ...named([]) }),
  ]);
  const stick = await hub.stick('values');
  await report(stick, agent, lines);
  await hub.importFrom(stick, days(-2));
  const { lines: shown, where, json } = await asked(hub);
  expect(shown.filter((line) => line.startsWith('values'))).toEqual([
    'values line "a" -> "b", known 2 d later',
    'values adminPassword withheld -> withheld, line "a" -> "b", other nothing ->',
    'values line nothing -> "a", known 3 d later',
    'values adminPassword nothing -> withheld, line nothing -> "a", known 3 d',
  ]);
  expect(where).toContain('web web 1.0 for 5 d');
  expect(json).not.toContain('hunter');
});

it('of an agent that names none: those of the documents, and their digests where the hub does not have both', async () => {
  await using hub = await testHub();
  const agent = await enrolled(hub, 'plant-7/press-1', PROD);
  const web = await packageIn(hub, await release(hub, PROD, 1, { web: deployment('1.0', 2) }), 'web');
  const [first, unknown] = [await given(hub, { line: 'a' }), digestOf('lost')];
  const stick = await hub.stick('old');
  const lines = chain(agent, [
    applied('web', web, days(-5), { siteValues: first }),
    applied('web', web, days(-4), { siteValues: unknown }),
  ]);
  await report(stick, agent, lines);
  await hub.importFrom(stick, days(-4));
  const { lines: shown } = await asked(hub);
  expect(shown.filter((line) => line.startsWith('values'))).toEqual([
    `values ${first.slice(7, 19)} -> ${unknown.slice(7, 19)}`,
    'values line nothing -> "a", known 24 h later',
  ]);
});

it('where names the last change of values since the package runs', async () => {
  await using hub = await testHub();
  const agent = await enrolled(hub, 'plant-7/press-1', PROD);
  const web = await packageIn(hub, await release(hub, PROD, 1, { web: deployment('1.0', 2) }), 'web');
  const detail = { taken: digestOf('b'), values: [{ name: 'line', old: '"a"', new: '"b"' }] };
  const stick = await hub.stick('where');
  const lines = chain(agent, [
    applied('web', web, days(-5), { siteValues: digestOf('1') }),
    applied('web', web, days(-4), { siteValues: digestOf('2'), detail }),
  ]);
  await report(stick, agent, lines);
  await hub.importFrom(stick, days(-4));
  const { where, json } = await asked(hub);
  expect(where).toContain('line "a" -> "b" since 2026-11-17T08:00:00Z');
  expect(json).toContain('"values":{"since":"2026-11-17T08:00:00Z","changed":[{"name":"line"');
});
